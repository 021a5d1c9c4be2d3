"""Items as columns, each built on first use: for a few items most are never used.

A batch is either this or an Arrow record batch; this module reads both.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from itertools import accumulate
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from feedweir.items.attributes import Attribute, attribute_named
from feedweir.items.model import Item
from feedweir.items.schema import ITEM_SCHEMA, batch_of, items_of
from feedweir.text.token_arrays import RawTexts, raw_column

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_Take: TypeAlias = Callable[[Item], Sequence[str]]


class ItemColumns:
    """A batch of a few items that are held as values."""

    def __init__(self, items: Iterable[Item]) -> None:
        self.items = tuple(items)
        self.num_rows = len(self.items)
        self._batch: pa.RecordBatch | None = None

    def __len__(self) -> int:
        return self.num_rows

    def column(self, name: str) -> pa.Array:
        """A column as Arrow has it."""
        if name in _PLAIN:
            return pa.array([getattr(item, name) for item in self.items], ITEM_SCHEMA.field(name).type)
        return self.batch().column(name)

    def batch(self) -> pa.RecordBatch:
        if self._batch is None:
            self._batch = batch_of(self.items)
        return self._batch


Batch: TypeAlias = pa.RecordBatch | ItemColumns
_PLAIN = frozenset({"seq", "source", "identity", "raw"})


def item_at(items: Batch, row: int) -> Item:
    if isinstance(items, ItemColumns):
        return items.items[row]
    return next(items_of(items.slice(row, 1)))


# Texts


def texts_in(
    items: Batch, plain: Sequence[Attribute | None], html: Sequence[Attribute]
) -> Iterator[RawTexts]:
    """The texts of attributes, where None means all extension values: in one piece for items that are held as values,
    else one piece for each attribute.

    Row r of the a-th attribute is row a · n + r of all.
    """
    if isinstance(items, ItemColumns):
        yield _raw(items.items, [_strings_of(one) for one in plain], [_strings_of(one) for one in html])
        return
    for one in (*plain, *html):
        yield raw_column(column_of(items, one), is_html=one in html)


def _raw(items: Sequence[Item], plain: Sequence[_Take], html: Sequence[_Take]) -> RawTexts:
    texts: list[bytes] = []
    row_values = [0]
    n_plain = 0
    for number, strings_of in enumerate((*plain, *html), 1):
        for item in items:
            texts += [text.encode("utf-8", "replace") for text in strings_of(item)]
            row_values.append(len(texts))
        if number == len(plain):
            n_plain = len(texts)
    offsets = np.array([0, *accumulate(map(len, texts))], np.int64)
    data = np.frombuffer(b"".join(texts), np.uint8)
    return RawTexts(data, offsets, np.array(row_values, np.int64), int(offsets[n_plain]))


def _strings_of(attribute: Attribute | None) -> _Take:
    if attribute is None:
        return lambda item: [value for _, value in item.extensions]
    if attribute.column == "extensions":
        return lambda item: [value for name, value in item.extensions if name == attribute.name]
    if attribute.column == "enclosures":
        return lambda item: [enclosure.url for enclosure in item.enclosures]
    if attribute.is_multiple:
        return lambda item: getattr(item, attribute.column)
    return lambda item: (getattr(item, attribute.column),)


def column_of(items: pa.RecordBatch, attribute: Attribute | None) -> pa.Array:
    """The values of an attribute: an array of strings, or of lists of strings; None means all extension values."""
    if attribute is None:
        return _struct_field(items.column("extensions"), "value")
    if attribute.column == "extensions":
        return _extensions_named(items.column("extensions"), attribute.name)
    if attribute.column == "enclosures":
        return _struct_field(items.column("enclosures"), "url")
    return items.column(attribute.column)


def _struct_field(lists: pa.ListArray, name: str) -> pa.ListArray:
    offsets, values = _flat(lists)
    return pa.ListArray.from_arrays(offsets, pc.struct_field(values, name))


def _extensions_named(lists: pa.ListArray, name: str) -> pa.ListArray:
    offsets, values = _flat(lists)
    is_named = pc.equal(pc.struct_field(values, "name"), name)
    kept = np.concatenate([[0], np.cumsum(is_named.to_numpy(zero_copy_only=False))])
    return pa.ListArray.from_arrays(
        kept[offsets].astype(np.int32), pc.struct_field(values, "value").filter(is_named)
    )


def _flat(lists: pa.ListArray) -> tuple[NDArray[np.int32], pa.Array]:
    counts = pc.fill_null(pc.list_value_length(lists), 0).to_numpy(zero_copy_only=False)
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int32), lists.flatten()


def keeps_empty(attribute: Attribute | None) -> bool:
    """Whether an empty text is a value; for other attributes it means that there is none."""
    return attribute is None or attribute.column in ("extensions", "enclosures")


def values_in(items: Batch, attribute: Attribute | None) -> Iterator[tuple[int, str]]:
    """(row, text) of each value; None means all extension values."""
    if isinstance(items, ItemColumns):
        strings_of = _strings_of(attribute)
        texts: Iterator[tuple[int, str]] = (
            (row, text) for row, item in enumerate(items.items) for text in strings_of(item)
        )
    else:
        rows, values = flat_values(column_of(items, attribute))
        texts = zip(rows.tolist(), pc.fill_null(values, "").to_pylist(), strict=True)
    return ((row, text) for row, text in texts if text or keeps_empty(attribute))


def flat_values(column: pa.Array) -> tuple[NDArray[np.int64], pa.Array]:
    """(row of each value, values) of a column of strings, or of lists of strings."""
    if not pa.types.is_list(column.type):
        return np.arange(len(column)), column
    offsets, values = _flat(column)
    return np.repeat(np.arange(len(column)), np.diff(offsets)), values


def distinct_values(
    items: Batch, attribute: Attribute
) -> tuple[NDArray[np.int64], list[str], NDArray[np.int32]]:
    """(row of each value, the distinct values, the number of each value among them)."""
    if isinstance(items, ItemColumns):
        return _distinct_of(items.items, _strings_of(attribute))
    rows, values = flat_values(column_of(items, attribute))
    encoded = pc.fill_null(values, "").dictionary_encode()
    return rows, encoded.dictionary.to_pylist(), encoded.indices.to_numpy()


def _distinct_of(
    items: Sequence[Item], strings_of: _Take
) -> tuple[NDArray[np.int64], list[str], NDArray[np.int32]]:
    known: dict[str, int] = {}
    rows: list[int] = []
    indices: list[int] = []
    for row, item in enumerate(items):
        for text in strings_of(item):
            rows.append(row)
            indices.append(known.setdefault(text, len(known)))
    return np.array(rows, np.int64), list(known), np.array(indices, np.int32)


def sources_in(items: Batch) -> tuple[list[str], NDArray[np.int32]]:
    """(the distinct sources of items, the number of each item's source among them)."""
    if isinstance(items, ItemColumns) and items.num_rows == 1:
        return [items.items[0].source], np.zeros(1, np.int32)
    attribute = attribute_named("source")
    assert attribute is not None
    return distinct_values(items, attribute)[1:]


def is_from(items: Batch, sources: Collection[str]) -> NDArray[np.bool_]:
    """For each item whether it comes from one of these sources."""
    names, indices = sources_in(items)
    return np.array([name in sources for name in names], np.bool_)[indices]


# Numbers


def numbers_in(items: Batch, name: str) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """(value, whether there is one) for every item, in a column of numbers or of times in microseconds."""
    if isinstance(items, ItemColumns):
        values = [getattr(item, name) for item in items.items]
        return np.array([_number(value) for value in values], np.int64), np.array(
            [value is not None for value in values], np.bool_
        )
    column = items.column(name)
    numbers = np.asarray(pc.fill_null(column.cast(pa.int64()), 0))
    return numbers, np.asarray(pc.is_valid(column))


def _number(value: int | datetime | None) -> int:
    return (value - _EPOCH) // _MICROSECOND if isinstance(value, datetime) else value or 0
