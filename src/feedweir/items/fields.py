"""How a field of an item is declared: its type, and the name by which statements ask for it.

A field's annotation says everything: `title: Annotated[str, Queryable(AttributeType.TEXT)]` is a column of strings that
statements call `title`. Tuples are list columns, dataclasses and `Parts` are structs.
"""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from datetime import datetime
from enum import Enum
from typing import Any, TypeAlias, get_args, get_origin, get_type_hints

import pyarrow as pa


class AttributeType(Enum):
    TEXT = "text"
    """Plain text, analysed into words."""
    HTML = "html"
    """HTML, analysed into the words between its tags."""
    STRING = "string"
    """A value compared whole."""
    LINK = "link"
    TIME = "time"
    NUMBER = "number"


class Queryable:
    """Statements may ask for the field, by its own name or by the names given here. The first is the one that
    statements are printed with."""

    def __init__(self, type: AttributeType, *names: str) -> None:
        self.type = type
        self.names = names


class Parts:
    """The names of a tuple's members."""

    def __init__(self, *names: str) -> None:
        self.names = names


NOT_STORED = object()
"""Marks a field that has no column."""
_SCALARS: dict[Any, pa.DataType] = {
    str: pa.string(),
    bytes: pa.binary(),
    int: pa.int64(),
    datetime: pa.timestamp("us", tz="UTC"),
}
Marks: TypeAlias = tuple[Any, ...]


def declared(record: type) -> dict[str, tuple[Any, Marks]]:
    """The fields of a dataclass by name, in order: the type of each and its marks."""
    hints = get_type_hints(record, include_extras=True)
    return {field.name: _unwrapped(hints[field.name]) for field in fields(record)}


def arrow_schema(record: type) -> pa.Schema:
    """A column for each field of a dataclass."""
    return pa.schema(
        [
            (
                name,
                next((mark for mark in marks if isinstance(mark, pa.DataType)), None)
                or _arrow_type(hint, marks),
            )
            for name, (hint, marks) in declared(record).items()
            if NOT_STORED not in marks
        ]
    )


def member_type(hint: Any) -> tuple[Any, Marks] | None:
    """The type of the members of a tuple of any length, with its marks; None for any other type."""
    members = get_args(hint)
    return _unwrapped(members[0]) if get_origin(hint) is tuple and members[1:] == (...,) else None


def _unwrapped(hint: Any) -> tuple[Any, Marks]:
    """A type without its marks, and without `| None`."""
    marks: Marks = getattr(hint, "__metadata__", ())
    bare = hint.__origin__ if marks else hint
    alternatives = [one for one in get_args(bare) if one is not type(None)]
    return (alternatives[0] if type(None) in get_args(bare) else bare), marks


def _arrow_type(hint: Any, marks: Marks) -> pa.DataType:
    member = member_type(hint)
    if member is not None:
        return pa.list_(_arrow_type(*member))
    if is_dataclass(hint):
        return pa.struct([(name, _arrow_type(*part)) for name, part in declared(hint).items()])  # type: ignore[arg-type]
    names = next((mark.names for mark in marks if isinstance(mark, Parts)), None)
    if names is not None:
        return pa.struct([(name, _SCALARS[part]) for name, part in zip(names, get_args(hint), strict=True)])
    return _SCALARS[hint]
