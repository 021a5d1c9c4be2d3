"""A plan as an indented tree, and as a picture: DOT text for Graphviz. What several nodes read is drawn once."""

from __future__ import annotations

from feedweir.language.conditions import format_predicate
from feedweir.language.join_conditions import format_join_predicate
from feedweir.language.tree_patterns import format_path
from feedweir.plan.nodes import (
    AnnotationJoin,
    Block,
    Distinct,
    Feed,
    Filter,
    Node,
    PatternJoin,
    Source,
    Union,
    Window,
)
from feedweir.plan.walk import inputs_of
from feedweir.plan.window_lengths import format_window


def explain(node: Node) -> str:
    """One line a node, what it reads below it and further in; what stands there a second time is only named."""
    lines: list[str] = []
    seen: dict[int, int] = {}
    waiting = [(node, 0)]
    while waiting:
        inner, depth = waiting.pop()
        inputs = inputs_of(inner)
        if id(inner) in seen and inputs:
            lines.append(f"{'  ' * depth}{symbol(inner)} as on line {seen[id(inner)]}")
            continue
        lines.append(f"{'  ' * depth}{label(inner)}")
        seen[id(inner)] = len(lines)
        waiting += [(input, depth + 1) for input in reversed(inputs)]
    return "\n".join(lines)


def symbol(node: Node) -> str:
    """The operator of a node, as the algebra writes it."""
    match node:
        case Source():
            return "source"
        case Feed():
            return "feed"
        case Filter():
            return "σ"
        case Union():
            return "∪"
        case Window():
            return "ω"
        case AnnotationJoin():
            return "⋈"
        case Distinct():
            return "δ"
        case Block():
            return "π"
        case PatternJoin(kind):
            return "⋈ join" if kind == "join" else "⋈ followed by"


def label(node: Node) -> str:
    """The operator with its arguments."""
    return " ".join(part for part in (symbol(node), detail(node)) if part)


def detail(node: Node) -> str:
    """The arguments of the operator: a name, a predicate, a window."""
    match node:
        case Source(name):
            return "(every one)" if name == "*" else name
        case Feed(name):
            return name
        case Filter(_, predicate):
            return format_predicate(predicate)
        case Window(_, spec):
            return f"last {format_window(spec)}"
        case AnnotationJoin(identifier, _, _, predicate):
            return f"{identifier}: {format_join_predicate(predicate)}"
        case Distinct(identifier, _, spec):
            return f"{identifier}: last {format_window(spec)}"
        case Block(_, pattern, select):
            return ", ".join([format_path(pattern.root), *([f"select {select}"] if select else [])])
        case PatternJoin(equalities=equalities, window=spec, select=select):
            parts = [
                " and ".join(f"{one} = {other}" for one, other in equalities),
                f"within {format_window(spec)}",
            ]
            return ", ".join(part for part in (*parts, f"select {select}" if select else "") if part)
        case _:
            return ""


# As a picture


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
