"""A plan as a picture: DOT text for Graphviz, and SVG laid out here, so that nothing needs to be installed.

The root is at the top; a node that several others read is drawn once. Leaves get columns from left to right,
every other node stands above the middle of what it reads.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from xml.sax.saxutils import escape

from feedweir.plan.explain import detail, symbol
from feedweir.plan.nodes import Node
from feedweir.plan.walk import inputs_of, postorder

_CHARACTER = 7.2
"""The width of a character of the 12-pixel monospaced font."""
_HEIGHT, _GAP_X, _GAP_Y, _MARGIN = 40, 18, 34, 12
_WIDEST = 46


def dot(node: Node) -> str:
    """The plan in Graphviz's language; edges point the way items flow."""
    numbers = _numbered(node)
    lines = ["digraph plan {", '  node [shape=box, fontname="monospace"];']
    for inner, number in numbers.values():
        text = f"{symbol(inner)}\\n{_dot_text(detail(inner))}" if detail(inner) else symbol(inner)
        lines.append(f'  n{number} [label="{text}"];')
    for inner, number in numbers.values():
        lines += [f"  n{numbers[id(below)][1]} -> n{number};" for below in inputs_of(inner)]
    return "\n".join([*lines, "}"])


def _dot_text(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ")


def _numbered(node: Node) -> dict[int, tuple[Node, int]]:
    """Every node once, numbered from the root down."""
    found: dict[int, tuple[Node, int]] = {}
    waiting = [node]
    while waiting:
        inner = waiting.pop()
        if id(inner) not in found:
            found[id(inner)] = (inner, len(found))
            waiting += reversed(inputs_of(inner))
    return found


@dataclass(slots=True)
class _Layout:
    """Boxes placed so far: (left, row, width) by node, and how far each row is filled."""

    boxes: dict[int, tuple[float, int, float]] = field(default_factory=dict)
    nodes: dict[int, Node] = field(default_factory=dict)
    filled: list[float] = field(default_factory=list)

    def place(self, node: Node, row: int) -> None:
        """Put a node's box above the middle of what it reads, which has its boxes already."""
        middles = [self.middle(below) for below in inputs_of(node)]
        width = max(map(len, _lines(node))) * _CHARACTER + 20
        wanted = sum(middles) / len(middles) - width / 2 if middles else 0.0
        left = max(wanted, self.filled[row])
        self.boxes[id(node)] = (left, row, width)
        self.nodes[id(node)] = node
        self.filled[row] = left + width + _GAP_X

    def middle(self, node: Node) -> float:
        left, _, width = self.boxes[id(node)]
        return left + width / 2


def _laid_out(root: Node) -> _Layout:
    """Every node below all that read it."""
    order = postorder(root)
    rows = {id(root): 0}
    for node in reversed(order):
        for below in inputs_of(node):
            rows[id(below)] = max(rows.get(id(below), 0), rows[id(node)] + 1)
    layout = _Layout(filled=[_MARGIN] * (max(rows.values()) + 1))
    for node in order:
        layout.place(node, rows[id(node)])
    return layout


def _lines(node: Node) -> list[str]:
    text = detail(node).replace("\n", " ")
    short = text if len(text) <= _WIDEST else text[: _WIDEST - 1] + "…"
    return [symbol(node), short] if short else [symbol(node)]


def svg(node: Node) -> str:
    """The plan as an SVG image; what does not fit a box is in its tooltip."""
    layout = _laid_out(node)
    width = max(left + box_width for left, _, box_width in layout.boxes.values()) + _MARGIN
    height = len(layout.filled) * (_HEIGHT + _GAP_Y) - _GAP_Y + 2 * _MARGIN
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height}"'
        f' viewBox="0 0 {width:.0f} {height}" font-family="monospace" font-size="12" role="img">',
        "<title>query plan</title>",
    ]
    parts += [line for inner in layout.nodes.values() for line in _edges(inner, layout)]
    parts += [_box(inner, layout) for inner in layout.nodes.values()]
    return "\n".join([*parts, "</svg>"])


def _edges(node: Node, layout: _Layout) -> list[str]:
    left, row, width = layout.boxes[id(node)]
    bottom = _top(row) + _HEIGHT
    found = []
    for below in inputs_of(node):
        below_left, below_row, below_width = layout.boxes[id(below)]
        x, y = below_left + below_width / 2, _top(below_row)
        found.append(
            f'<line x1="{x:.1f}" y1="{y}" x2="{left + width / 2:.1f}" y2="{bottom}" stroke="#789" stroke-width="1.5"/>'
        )
    return found


def _box(node: Node, layout: _Layout) -> str:
    left, row, width = layout.boxes[id(node)]
    top = _top(row)
    size = f'width="{width:.1f}" height="{_HEIGHT}"'
    rectangle = f'<rect x="{left:.1f}" y="{top}" {size} rx="6" fill="#eef4f8" stroke="#357"/>'
    lines = _lines(node)
    first = top + (25 if len(lines) == 1 else 17)
    texts = [
        f'<text x="{left + width / 2:.1f}" y="{first + 16 * place}" text-anchor="middle">{escape(line)}</text>'
        for place, line in enumerate(lines)
    ]
    return f"<g><title>{escape(detail(node))}</title>{rectangle}{''.join(texts)}</g>"


def _top(row: int) -> int:
    return _MARGIN + row * (_HEIGHT + _GAP_Y)
