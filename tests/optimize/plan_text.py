"""Plans as indented text, for fixtures: one node a line, its inputs below it, predicates as Python writes booleans.

    filter a and not revision > 2
      union
        source s1
        feed f

A bare name is a word of the item; `title.a` is a word of an attribute; `feeds(s1)`, `least(2, a, b)`, `true`, `false`.
A join has two inputs, its primary stream and its window: `join j language` relates by equal languages.
"""

from __future__ import annotations

import ast
from datetime import timedelta

from feedweir.plan.nodes import (
    AnnotationJoin,
    Block,
    Feed,
    Filter,
    LastItems,
    Node,
    PatternJoin,
    Source,
    TimeSpan,
    Union,
    Window,
)
from feedweir.plan.predicates import (
    FALSE,
    TRUE,
    And,
    AtLeast,
    Compare,
    Contains,
    FromFeeds,
    Not,
    Or,
    PatternNode,
    Predicate,
    Relates,
    Term,
    TreePattern,
)

_OPS = {ast.Eq: "=", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">="}
_PYTHON_OPS = {"=": "=="}


def read_plan(text: str) -> Node:
    lines = [line for line in text.splitlines() if line.strip()]
    node, rest = _read(lines, 0)
    assert not rest, rest
    return node


def _read(lines: list[str], indent: int) -> tuple[Node, list[str]]:
    head, rest = lines[0].strip(), lines[1:]
    inputs: list[Node] = []
    while rest and len(rest[0]) - len(rest[0].lstrip()) > indent:
        inner, rest = _read(rest, len(rest[0]) - len(rest[0].lstrip()))
        inputs.append(inner)
    kind, _, said = head.partition(" ")
    return _node(kind, said, inputs), rest


def _node(kind: str, said: str, inputs: list[Node]) -> Node:
    match kind:
        case "source":
            return Source(said)
        case "feed":
            return Feed(said)
        case "filter":
            return Filter(inputs[0], read_predicate(said))
        case "union":
            return Union(tuple(inputs))
        case "window":
            count, unit = said.split()
            spec = LastItems(int(count)) if unit == "items" else TimeSpan(timedelta(hours=int(count)))
            return Window(inputs[0], spec)
        case "join":
            identifier, attribute = said.split()
            assert isinstance(inputs[1], Window)
            return AnnotationJoin(identifier, inputs[0], inputs[1], Relates(attribute, "=", attribute))
        case "block":
            return Block(inputs[0], TreePattern(PatternNode("//", said)))
        case "sequence":
            left, right = inputs
            assert isinstance(left, (Block, PatternJoin))
            assert isinstance(right, Block)
            return PatternJoin("followed by", left, right, (), TimeSpan(timedelta(hours=int(said))))
    raise ValueError(kind)


def read_predicate(text: str) -> Predicate:
    return _predicate(ast.parse(text, mode="eval").body)


def _predicate(node: ast.expr) -> Predicate:
    match node:
        case ast.BoolOp(op, values):
            kind = And if isinstance(op, ast.And) else Or
            return kind(tuple(map(_predicate, values)))
        case ast.UnaryOp(ast.Not(), operand):
            return Not(_predicate(operand))
        case ast.Call(ast.Name("least"), [ast.Constant(count), *parts]):
            return AtLeast(count, tuple(map(_predicate, parts)))
        case ast.Call(ast.Name("feeds"), names):
            return FromFeeds(tuple(name.id for name in names if isinstance(name, ast.Name)))
        case ast.Compare(ast.Name(attribute), [op], [ast.Constant(value)]):
            return Compare(attribute, _OPS[type(op)], value if isinstance(value, str) else float(value))
        case ast.Attribute(ast.Name(attribute), word):
            return Contains(attribute, (Term(word),), 1)
        case ast.Name("true"):
            return TRUE
        case ast.Name("false"):
            return FALSE
        case ast.Name(word):
            return Contains(None, (Term(word),), 1)
    raise ValueError(ast.dump(node))


def show_plan(node: Node, indent: int = 0) -> str:
    head, inputs = _shown(node)
    return "\n".join([" " * indent + head, *(show_plan(inner, indent + 2) for inner in inputs)])


def _shown(node: Node) -> tuple[str, tuple[Node, ...]]:
    match node:
        case Source(name):
            return f"source {name}", ()
        case Feed(name):
            return f"feed {name}", ()
        case Filter(input, predicate):
            return f"filter {show_predicate(predicate)}", (input,)
        case Union(inputs):
            return "union", inputs
        case Window(input, LastItems(count)):
            return f"window {count} items", (input,)
        case Window(input, TimeSpan(length)):
            return f"window {int(length.total_seconds() // 3600)} hours", (input,)
        case AnnotationJoin(identifier, primary, window, Relates(attribute)):
            return f"join {identifier} {attribute}", (primary, window)
        case Block(input, pattern):
            return f"block {pattern.root.name}", (input,)
        case PatternJoin(_, left, right, _, TimeSpan(length)):
            return f"sequence {int(length.total_seconds() // 3600)}", (left, right)
    raise ValueError(node)


def show_predicate(predicate: Predicate) -> str:
    match predicate:
        case And(()):
            return "true"
        case Or(()):
            return "false"
        case And(parts):
            return " and ".join(map(_inner, parts))
        case Or(parts):
            return " or ".join(map(_inner, parts))
        case Not(part):
            return f"not {_inner(part)}"
        case AtLeast(count, parts):
            return f"least({count}, {', '.join(map(show_predicate, parts))})"
        case FromFeeds(names):
            return f"feeds({', '.join(names)})"
        case Compare(attribute, op, value):
            said = repr(value) if isinstance(value, str) else f"{value:g}"
            return f"{attribute} {_PYTHON_OPS.get(op, op)} {said}"
        case Contains(attribute, (term,), 1):
            return f"{attribute}.{term.text}" if attribute else term.text
    raise ValueError(predicate)


def _inner(predicate: Predicate) -> str:
    is_compound = isinstance(predicate, (And, Or)) and len(predicate.parts) > 1
    return f"({show_predicate(predicate)})" if is_compound else show_predicate(predicate)
