"""Plots as SVG: lines on logarithmic or plain axes, and stacked bars; enough for a page without a plotting library."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from math import ceil, floor, log10

_WIDTH, _HEIGHT, _LEFT, _BOTTOM, _RIGHT, _TOP = 720, 360, 70, 50, 190, 26
_WIDE_BAR = 24
"""Broad enough for its height to be written across."""
_COLOURS = ("#1b6ca8", "#c8553d", "#588b3b", "#8a4fa3", "#b8860b", "#3c8d93", "#777777", "#d1495b")

Lines = Mapping[str, Sequence[tuple[float, float]]]
Bars = Mapping[str, Mapping[str, tuple[float, float]]]
"""By group, by name: the lower and the upper part of a bar."""


@dataclass(frozen=True, slots=True)
class _Axis:
    low: float
    high: float
    ticks: tuple[float, ...]
    is_log: bool

    def share(self, value: float) -> float:
        """Where a value lies between the ends."""
        if self.is_log:
            return (log10(value) - log10(self.low)) / (log10(self.high) - log10(self.low))
        return (value - self.low) / (self.high - self.low)


def line_plot(
    lines: Lines, x_name: str, y_name: str, *, is_log: bool = True, x_names: Sequence[str] = ()
) -> str:
    """Each named line through its points; on logarithmic axes values must be positive.

    With `x_names` the points lie at 0, 1, … and are named below.
    """
    axis = _log_axis if is_log else _plain_axis
    xs = [x for points in lines.values() for x, _ in points]
    x_axis = _Axis(-0.5, len(x_names) - 0.5, (), False) if x_names else axis(xs)
    y_axis = axis([y for points in lines.values() for _, y in points])
    parts = [_names(x_name, y_name), *_x_ticks(x_axis), *_y_ticks(y_axis)]
    for place, name in enumerate(x_names):
        height = _HEIGHT - _BOTTOM + 14 + 13 * (place % 2)
        parts.append(_label(_x(x_axis.share(place)), height, name, "#444", "middle", 10))
    for number, (name, points) in enumerate(lines.items()):
        colour = _COLOURS[number % len(_COLOURS)]
        places = [(_x(x_axis.share(x)), _y(y_axis.share(y))) for x, y in points]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>' for x, y in places]
        parts.append(_legend(number, name))
    return _svg(parts)


def bar_plot(bars: Bars, y_name: str, parts_named: tuple[str, str]) -> str:
    """Groups of bars, each of two parts one upon the other, with its height above it."""
    names = list(dict.fromkeys(name for group in bars.values() for name in group))
    axis = _plain_axis([0.0, *(sum(pair) for group in bars.values() for pair in group.values())])
    inner = (_WIDTH - _LEFT - _RIGHT) / len(bars)
    width = inner * 0.9 / len(names)
    parts = [_names("", y_name), *_y_ticks(axis)]
    for place, (title, group) in enumerate(bars.items()):
        left = _LEFT + place * inner + inner * 0.05
        parts.append(_label(left + inner * 0.45, _HEIGHT - _BOTTOM + 16, title, "#222", "middle"))
        for number, name in enumerate(names):
            if name in group:
                parts += _bar(
                    left + number * width, width, group[name], _COLOURS[number % len(_COLOURS)], axis
                )
    parts += [_legend(number, name) for number, name in enumerate(names)]
    parts.append(
        _label(_LEFT, _HEIGHT - 8, f"dark: {parts_named[0]}, light: {parts_named[1]}", "#444", "start")
    )
    return _svg(parts)


def _bar(left: float, width: float, pair: tuple[float, float], colour: str, axis: _Axis) -> list[str]:
    lower, upper = pair
    bottom, middle, top = (_y(axis.share(value)) for value in (0.0, lower, lower + upper))
    return [
        _rectangle(left, middle, width * 0.92, bottom - middle, colour, 1.0),
        _rectangle(left, top, width * 0.92, middle - top, colour, 0.45),
        _height(left + width * 0.46, top - 3, f"{lower + upper:.3g}", width),
    ]


def _height(x: float, y: float, text: str, width: float) -> str:
    """Above its bar; upright where it would run into its neighbour's."""
    if width >= _WIDE_BAR:
        return _label(x, y, text, "#333", "middle", 9)
    return f'<g transform="rotate(-90 {x:.1f} {y:.1f})">{_label(x, y + 3, text, "#333", "start", 9)}</g>'


def _rectangle(x: float, y: float, width: float, height: float, colour: str, opacity: float) -> str:
    return (
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{max(height, 0.0):.1f}" '
        f'fill="{colour}" fill-opacity="{opacity}"/>'
    )


def _svg(parts: Sequence[str]) -> str:
    return f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}">{"".join(parts)}</svg>'


def _log_axis(values: Sequence[float]) -> _Axis:
    """From a mark below the smallest to one above the largest, with marks at 1, 2 and 5 of every decade."""
    marks = [
        step * 10.0**power
        for power in range(floor(log10(min(values))) - 1, ceil(log10(max(values))) + 2)
        for step in (1, 2, 5)
    ]
    low = max(mark for mark in marks if mark <= min(values))
    high = min(mark for mark in marks if mark >= max(values) and mark > low)
    ticks = [mark for mark in marks if low <= mark <= high]
    if len(ticks) > 9:
        ticks = [mark for mark in ticks if abs(log10(mark) - round(log10(mark))) < 1e-9]
    return _Axis(low, high, tuple(ticks), True)


def _plain_axis(values: Sequence[float]) -> _Axis:
    low, high = min(0.0, *values), max(values) or 1.0
    step = 10.0 ** floor(log10((high - low) / 4))
    step *= next(factor for factor in (1, 2, 5, 10) if (high - low) / (step * factor) <= 6)
    count = ceil((high - low) / step - 1e-9)
    return _Axis(low, low + count * step, tuple(low + step * k for k in range(count + 1)), False)


def _x(share: float) -> float:
    return _LEFT + share * (_WIDTH - _LEFT - _RIGHT)


def _y(share: float) -> float:
    return _HEIGHT - _BOTTOM - share * (_HEIGHT - _BOTTOM - _TOP)


def _names(x_name: str, y_name: str) -> str:
    middle = _LEFT + (_WIDTH - _LEFT - _RIGHT) / 2
    return _label(middle, _HEIGHT - 8, x_name, "#222", "middle") + _label(6, 14, y_name, "#222", "start")


def _legend(number: int, name: str) -> str:
    return _label(
        _WIDTH - _RIGHT + 12, _TOP + 6 + 16 * number, f"● {name}", _COLOURS[number % len(_COLOURS)], "start"
    )


def _x_ticks(axis: _Axis) -> list[str]:
    parts = []
    for value in axis.ticks:
        x = _x(axis.share(value))
        parts.append(f'<line x1="{x:.1f}" y1="{_TOP}" x2="{x:.1f}" y2="{_HEIGHT - _BOTTOM}" stroke="#ddd"/>')
        parts.append(_label(x, _HEIGHT - _BOTTOM + 16, _short(value), "#444", "middle"))
    return parts


def _y_ticks(axis: _Axis) -> list[str]:
    parts = []
    for value in axis.ticks:
        y = _y(axis.share(value))
        parts.append(f'<line x1="{_LEFT}" y1="{y:.1f}" x2="{_WIDTH - _RIGHT}" y2="{y:.1f}" stroke="#ddd"/>')
        parts.append(_label(_LEFT - 6, y + 4, _short(value), "#444", "end"))
    return parts


def _short(value: float) -> str:
    for size, letter in ((1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return f"{value / size:g}{letter}"
    return f"{value:.4g}"


def _label(x: float, y: float, text: str, colour: str, anchor: str, size: int = 12) -> str:
    style = f'font-family="sans-serif" font-size="{size}" fill="{colour}" text-anchor="{anchor}"'
    return f'<text x="{x:.1f}" y="{y:.1f}" {style}>{escape(text)}</text>'
