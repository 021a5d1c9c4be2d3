"""Items as Arrow columns, and back. Every room that moves items in bulk moves these."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import is_dataclass
from operator import attrgetter, itemgetter
from typing import Any

import pyarrow as pa

from feedweir.items.fields import Parts, arrow_schema, declared, member_type
from feedweir.items.model import Document, Item

ITEM_SCHEMA = arrow_schema(Item)
DOCUMENT_SCHEMA = arrow_schema(Document)
"""A log that an older version wrote lacks `id_path`, which is empty then."""


def items_of(batch: pa.RecordBatch | pa.Table) -> Iterator[Item]:
    """The rows of a batch as items: for display and explanations, not for bulk work."""
    for row in _stored(batch).to_pylist():
        for name, read in _READERS.items():
            row[name] = read(row[name])
        yield Item(**row)


def _stored(batch: pa.RecordBatch | pa.Table) -> pa.RecordBatch | pa.Table:
    """The columns of a batch that are an item's own."""
    return batch if batch.schema.names == ITEM_SCHEMA.names else batch.select(ITEM_SCHEMA.names)


def batch_of(items: Iterable[Item]) -> pa.RecordBatch:
    """Items as one record batch."""
    rows = list(items)
    return pa.record_batch(
        [
            pa.array([_WRITERS[name](item) for item in rows], kind)
            for name, kind in zip(ITEM_SCHEMA.names, ITEM_SCHEMA.types, strict=True)
        ],
        schema=ITEM_SCHEMA,
    )


def empty_column(kind: pa.DataType, rows: int) -> pa.Array:
    """A column of `ITEM_SCHEMA` of which nothing is known."""
    empty: object = [] if pa.types.is_list(kind) else "" if pa.types.is_string(kind) else None
    return pa.repeat(pa.scalar(empty, kind), rows)


def _reader(hint: Any) -> Callable[[list[Any]], tuple[Any, ...]] | None:
    """A function from a cell of a list column to the value of the field; None where the cell is the value."""
    member = member_type(hint)
    if member is None:
        return None
    kind, marks = member
    if is_dataclass(kind):
        return lambda cell: tuple(kind(**parts) for parts in cell)  # type: ignore[operator]
    for mark in marks:
        if isinstance(mark, Parts):
            parts_of = itemgetter(*mark.names)
            return lambda cell: tuple(map(parts_of, cell))
    return tuple


def _writer(name: str, hint: Any) -> Callable[[Item], Any]:
    """A function from an item to the cell of one of its fields."""
    member = member_type(hint)
    if member is None or not is_dataclass(member[0]):
        return attrgetter(name)
    parts_of = attrgetter(*declared(member[0]))  # type: ignore[arg-type]
    return lambda item: list(map(parts_of, getattr(item, name)))


_HINTS = {name: hint for name, (hint, _) in declared(Item).items() if name in ITEM_SCHEMA.names}
_READERS = {name: read for name, hint in _HINTS.items() if (read := _reader(hint))}
_WRITERS = {name: _writer(name, hint) for name, hint in _HINTS.items()}
