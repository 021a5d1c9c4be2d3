"""A filter tree as an SVG image: the source at the left, what is shared once, rates on the way, feeds at the ends."""

from __future__ import annotations

from xml.sax.saxutils import escape

from feedweir.optimize.explain import ExplainedNode, ExplainedPlan
from feedweir.optimize.tree import ROOT

_CHARACTER = 7.2
"""The width of a character of the 12-pixel monospaced font."""
_HEIGHT, _GAP_X, _GAP_Y, _MARGIN = 40, 56, 12, 12
_WIDEST = 34


def as_svg(plan: ExplainedPlan) -> str:
    """The plan as a picture; what does not fit a box is in its tooltip."""
    rows = _rows(plan)
    lefts, widths = _columns(plan)
    width = max(lefts[depth] + widths[depth] for depth in range(len(lefts))) + _MARGIN
    height = (max(rows.values()) + 1) * (_HEIGHT + _GAP_Y) - _GAP_Y + 2 * _MARGIN
    depths = _depths(plan)
    places = {node.number: (lefts[depths[node.number]], _top(rows[node.number])) for node in plan.nodes}
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}"'
        f' viewBox="0 0 {width:.0f} {height:.0f}" font-family="monospace" font-size="12" role="img">',
        f"<title>plan of {escape(plan.source)}</title>",
    ]
    for node in plan.nodes:
        if node.number != ROOT:
            parts.append(_edge(node, places, lefts[depths[node.parent]] + widths[depths[node.parent]]))
    parts += [_box(node, plan, places[node.number], widths[depths[node.number]]) for node in plan.nodes]
    return "\n".join([*parts, "</svg>"])


def _rows(plan: ExplainedPlan) -> dict[int, float]:
    """Leaves in the order of the walk; every other node in the middle of its children."""
    children: dict[int, list[int]] = {}
    for node in plan.nodes:
        children.setdefault(node.parent, []).append(node.number)
    rows: dict[int, float] = {}
    leaves = 0
    for node in plan.nodes:
        if node.number not in children:
            rows[node.number] = float(leaves)
            leaves += 1
    for node in reversed(plan.nodes):
        below = children.get(node.number)
        if below:
            rows[node.number] = (rows[below[0]] + rows[below[-1]]) / 2
    return rows


def _depths(plan: ExplainedPlan) -> dict[int, int]:
    depths = {-1: -1}
    for node in plan.nodes:
        depths[node.number] = depths[node.parent] + 1
    return depths


def _columns(plan: ExplainedPlan) -> tuple[list[float], list[float]]:
    """(left, width) of the column of each depth."""
    depths = _depths(plan)
    widths = [0.0] * (max(depths.values()) + 1)
    for node in plan.nodes:
        depth = depths[node.number]
        widths[depth] = max(widths[depth], max(map(len, _lines(node, plan))) * _CHARACTER + 20)
    lefts = [_MARGIN + sum(widths[:depth]) + depth * _GAP_X for depth in range(len(widths))]
    return lefts, widths


def _lines(node: ExplainedNode, plan: ExplainedPlan) -> list[str]:
    text = node.asks if node.number != ROOT else f"source {plan.source}"
    cost = "" if node.measured_cost is None else f", measured {node.measured_cost:.3g}/s"
    second = ", ".join(node.feeds) if node.feeds else f"shared by {node.shared_by}"
    return [_short(text), _short(f"{second}{cost}")]


def _short(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= _WIDEST else flat[: _WIDEST - 1] + "…"


def _edge(node: ExplainedNode, places: dict[int, tuple[float, float]], right: float) -> str:
    (x, y), (_, parent_y) = places[node.number], places[node.parent]
    middle, parent_middle = y + _HEIGHT / 2, parent_y + _HEIGHT / 2
    line = (
        f'<line x1="{right:.1f}" y1="{parent_middle:.1f}" x2="{x:.1f}" y2="{middle:.1f}"'
        ' stroke="#789" stroke-width="1.5"/>'
    )
    label = f'<text x="{x - 4:.1f}" y="{middle - 4:.1f}" text-anchor="end" font-size="10" fill="#567">'
    return f"{line}{label}{node.rate_in:.3g}/s</text>"


def _box(node: ExplainedNode, plan: ExplainedPlan, place: tuple[float, float], width: float) -> str:
    left, top = place
    fill = "#eef4f8" if node.feeds or node.number == ROOT else "#fdf6e3"
    rectangle = (
        f'<rect x="{left:.1f}" y="{top:.1f}" width="{width:.1f}" height="{_HEIGHT}" rx="6" fill="{fill}"'
    )
    texts = [
        f'<text x="{left + width / 2:.1f}" y="{top + 17 + 16 * line:.1f}" text-anchor="middle">{escape(text)}</text>'
        for line, text in enumerate(_lines(node, plan))
    ]
    told = f"{node.condition} → {', '.join(node.feeds)}" if node.feeds else node.condition
    return f'<g><title>{escape(told)}</title>{rectangle} stroke="#357"/>{"".join(texts)}</g>'


def _top(row: float) -> float:
    return _MARGIN + row * (_HEIGHT + _GAP_Y)
