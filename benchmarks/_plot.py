"""Line plots as SVG, on logarithmic axes: enough for a page of figures, without a plotting library."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from math import ceil, floor, log10

_WIDTH, _HEIGHT, _LEFT, _BOTTOM, _RIGHT = 640, 360, 70, 50, 150
_COLOURS = ("#1b6ca8", "#c8553d", "#588b3b", "#8a4fa3", "#b8860b", "#3c8d93", "#777777", "#d1495b")


def line_plot(lines: Mapping[str, Sequence[tuple[float, float]]], x_name: str, y_name: str) -> str:
    """Each named line through its points; values must be positive."""
    xs = [x for points in lines.values() for x, _ in points]
    ys = [y for points in lines.values() for _, y in points]
    x_range, y_range = _decades(xs), _decades(ys)
    parts = [_frame(x_name, y_name), *_ticks(x_range, y_range)]
    for number, (name, points) in enumerate(lines.items()):
        colour = _COLOURS[number % len(_COLOURS)]
        places = " ".join(f"{_x(x, x_range):.1f},{_y(y, y_range):.1f}" for x, y in points)
        parts.append(f'<polyline points="{places}" fill="none" stroke="{colour}" stroke-width="2"/>')
        parts.append(_label(_WIDTH - _RIGHT + 10, 20 + 16 * number, name, colour, "start"))
    return f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}">{"".join(parts)}</svg>'


def _decades(values: Sequence[float]) -> tuple[int, int]:
    low, high = floor(log10(min(values))), ceil(log10(max(values)))
    return low, max(high, low + 1)


def _x(value: float, span: tuple[int, int]) -> float:
    return _LEFT + (log10(value) - span[0]) / (span[1] - span[0]) * (_WIDTH - _LEFT - _RIGHT)


def _y(value: float, span: tuple[int, int]) -> float:
    return _HEIGHT - _BOTTOM - (log10(value) - span[0]) / (span[1] - span[0]) * (_HEIGHT - _BOTTOM - 20)


def _frame(x_name: str, y_name: str) -> str:
    middle = _LEFT + (_WIDTH - _LEFT - _RIGHT) / 2
    return _label(middle, _HEIGHT - 8, x_name, "#222", "middle") + _label(6, 14, y_name, "#222", "start")


def _ticks(x_range: tuple[int, int], y_range: tuple[int, int]) -> list[str]:
    parts = []
    for power in range(x_range[0], x_range[1] + 1):
        x = _x(10.0**power, x_range)
        parts.append(f'<line x1="{x:.1f}" y1="20" x2="{x:.1f}" y2="{_HEIGHT - _BOTTOM}" stroke="#ddd"/>')
        parts.append(_label(x, _HEIGHT - _BOTTOM + 16, f"{10.0**power:g}", "#444", "middle"))
    for power in range(y_range[0], y_range[1] + 1):
        y = _y(10.0**power, y_range)
        parts.append(f'<line x1="{_LEFT}" y1="{y:.1f}" x2="{_WIDTH - _RIGHT}" y2="{y:.1f}" stroke="#ddd"/>')
        parts.append(_label(_LEFT - 6, y + 4, f"{10.0**power:g}", "#444", "end"))
    return parts


def _label(x: float, y: float, text: str, colour: str, anchor: str) -> str:
    style = f'font-family="sans-serif" font-size="12" fill="{colour}" text-anchor="{anchor}"'
    return f'<text x="{x:.1f}" y="{y:.1f}" {style}>{escape(text)}</text>'
