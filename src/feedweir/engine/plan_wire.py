"""Plans as JSON and back: nodes in a list, each after what it reads, so that depth costs nothing and sharing stays."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from datetime import datetime, timedelta
from hashlib import blake2b
from typing import Any

from feedweir.errors import CompiledSetError
from feedweir.plan import inputs_of, nodes, postorder, predicates
from feedweir.plan.nodes import Node
from feedweir.plan.walk import with_inputs

_CLASSES: dict[str, Any] = {
    name: getattr(module, name)
    for module in (predicates, nodes)
    for name in module.__all__
    if isinstance(getattr(module, name), type)
}
_INPUTS = frozenset({"input", "inputs", "primary", "window", "left", "right"})
_MICROSECOND = timedelta(microseconds=1)
_NOWHERE = nodes.Source("")
_BLANK = {
    "input": _NOWHERE,
    "inputs": (),
    "primary": _NOWHERE,
    "window": nodes.Window(_NOWHERE, nodes.LastItems(1)),
    "left": _NOWHERE,
    "right": _NOWHERE,
}


def plan_to_json(root: Node) -> list[Any]:
    """The nodes of a plan, each as [name, fields, places of its inputs]; the root is last."""
    order = postorder(root)
    place = {id(node): number for number, node in enumerate(order)}
    return [[*_operator(node), [place[id(input)] for input in inputs_of(node)]] for node in order]


def plan_from_json(rows: list[Any]) -> Node:
    """What `plan_to_json` was given."""
    built: list[Node] = []
    try:
        for name, told, inputs in rows:
            built.append(_node(name, told, tuple(built[place] for place in inputs)))
        return built[-1]
    except (ValueError, KeyError, TypeError, IndexError) as error:
        raise CompiledSetError(f"a stored plan cannot be read: {error}") from error


def stream_keys(root: Node) -> dict[int, int]:
    """By `id` of a node the key of its stream: a negative number that follows from what the node says.

    The same stream in another feed, or in a later definition of this one, has the same key, so that it is matched and
    stored once, and a window keeps what it has when the query around it is edited.
    """
    keys: dict[int, int] = {}
    for node in postorder(root):
        keys[id(node)] = operator_key(node, tuple(keys[id(input)] for input in inputs_of(node)))
    return keys


def operator_key(node: Node, inputs: tuple[int, ...]) -> int:
    """The key of what an operator makes of streams with these keys."""
    said = (type(node).__name__, [getattr(node, name) for name in _told(node)], inputs)
    digest = blake2b(repr(said).encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return -1 - (int.from_bytes(digest, "big") >> 1)


def _operator(node: Node) -> tuple[str, list[Any]]:
    """A node without its inputs. A window of a join is an input; that of a pattern join is what it is told."""
    return type(node).__name__, [_packed(getattr(node, name)) for name in _told(node)]


def _told(node: Node) -> list[str]:
    return [field.name for field in fields(node) if not _is_input(node, field.name)]


def _is_input(node: Any, name: str) -> bool:
    return name in _INPUTS and not (isinstance(node, nodes.PatternJoin) and name == "window")


def _node(name: str, told: list[Any], inputs: tuple[Node, ...]) -> Node:
    kind = _CLASSES[name]
    blank = {} if name in ("Source", "Feed") else _blank(kind)
    names = [field.name for field in fields(kind) if field.name not in blank]
    values = dict(zip(names, map(_unpacked, told), strict=True))
    return with_inputs(kind(**blank, **values), inputs)


def _blank(kind: Any) -> dict[str, Any]:
    """Inputs to stand in until the real ones are put in their place."""
    names = [field.name for field in fields(kind) if field.name in _INPUTS]
    return {name: _BLANK[name] for name in names if not (kind is nodes.PatternJoin and name == "window")}


def _packed(value: Any) -> Any:
    if isinstance(value, tuple):
        return ["@many", *map(_packed, value)]
    if isinstance(value, datetime):
        return ["@time", value.isoformat()]
    if isinstance(value, timedelta):
        return ["@span", value // _MICROSECOND]
    if is_dataclass(value):
        return [type(value).__name__, *(_packed(getattr(value, field.name)) for field in fields(value))]
    return value


def _unpacked(value: Any) -> Any:
    if not isinstance(value, list):
        return value
    name, *parts = value
    if name == "@many":
        return tuple(map(_unpacked, parts))
    if name == "@time":
        return datetime.fromisoformat(parts[0])
    if name == "@span":
        return parts[0] * _MICROSECOND
    return _CLASSES[name](*map(_unpacked, parts))
