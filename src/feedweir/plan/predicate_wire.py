"""Predicates and windows as JSON and back, for what is kept on disk: a value of a class is `[name, *fields]`."""

from __future__ import annotations

import json
from dataclasses import fields, is_dataclass
from datetime import datetime, timedelta
from typing import Any, cast

from feedweir.errors import CompiledSetError
from feedweir.plan import predicates, window_lengths
from feedweir.plan.predicates import Predicate

_NODES: dict[str, Any] = {
    name: kind
    for module in (predicates, window_lengths)
    for name, kind in sorted(vars(module).items())
    if isinstance(kind, type) and is_dataclass(kind) and kind.__module__ == module.__name__
}
_FIELDS = {node: (name, tuple(one.name for one in fields(node))) for name, node in _NODES.items()}
_PLAIN = frozenset((str, int, float, bool, type(None)))
_TIME, _SPAN, _MANY = "@time", "@span", "@many"
_MICROSECOND = timedelta(microseconds=1)


def predicate_to_json(predicate: Predicate) -> str:
    return json.dumps(packed(predicate), separators=(",", ":"))


def predicate_from_json(text: str) -> Predicate:
    try:
        return cast(Predicate, unpacked(json.loads(text)))
    except (ValueError, KeyError, TypeError, IndexError) as error:
        raise CompiledSetError(f"a stored predicate cannot be read: {error}") from error


def packed(value: Any) -> Any:
    """A value as JSON can hold it."""
    if type(value) in _PLAIN:
        return value
    node = _FIELDS.get(type(value))
    if node is not None:
        name, names = node
        return [name, *[packed(getattr(value, one)) for one in names]]
    if isinstance(value, tuple):
        return [_MANY, *map(packed, value)]
    if isinstance(value, datetime):
        return [_TIME, value.isoformat()]
    if isinstance(value, timedelta):
        return [_SPAN, value // _MICROSECOND]
    return value


def unpacked(value: Any) -> Any:
    """What `packed` was given."""
    if not isinstance(value, list):
        return value
    name, *parts = value
    if name == _MANY:
        return tuple(map(unpacked, parts))
    if name == _TIME:
        return datetime.fromisoformat(parts[0])
    if name == _SPAN:
        return parts[0] * _MICROSECOND
    return _NODES[name](*map(unpacked, parts))
