"""What annotation joins compare, as columns: values, links and words as sorted sets of 64-bit keys, and ordered values.

Values compare as in filters: text folded and trimmed, times as instants, numbers as numbers, links by their canonical
spelling. An attribute with several values satisfies an atom when one of them does. Keys are 64-bit digests.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from feedweir.errors import LanguageError
from feedweir.items.attributes import WHOLE_TEXT, Attribute, AttributeType, attribute_named
from feedweir.items.links import canonical_url
from feedweir.items.text import analyse, fold
from feedweir.join.rows import ranges
from feedweir.join.similarity import token_sets
from feedweir.join.values import keys_of

Longs = NDArray[np.int64]
Kind = Literal["value", "order", "words", "links", "identity"]


@dataclass(frozen=True, slots=True, order=True)
class Feature:
    """A column to keep: what of which attribute; no attribute is the whole item."""

    kind: Kind
    attribute: str | None

    @property
    def name(self) -> str:
        """As which it is stored."""
        return f"{self.kind} {self.attribute or '*'}"


IDENTITY = Feature("identity", None)
"""Which item it is a wording of: one key."""


@dataclass(frozen=True, slots=True)
class Ragged:
    """Row r has data[ptr[r]:ptr[r + 1]], sorted, each once. Ordered text is an object array, all else numbers."""

    ptr: Longs
    data: NDArray[np.generic]

    def __len__(self) -> int:
        return len(self.ptr) - 1

    def joined(self, other: Ragged) -> Ragged:
        return Ragged(
            np.concatenate([self.ptr, other.ptr[1:] + self.ptr[-1]]), np.concatenate([self.data, other.data])
        )

    def take(self, rows: Longs) -> Ragged:
        sizes = self.ptr[rows + 1] - self.ptr[rows]
        ptr = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        return Ragged(ptr, self.data[ranges(self.ptr[rows], self.ptr[rows + 1])])

    def take_known(self, rows: Longs) -> Ragged:
        """Those rows; nothing for a row that is not here."""
        last = max(len(self) - 1, 0)
        is_here = rows < len(self)
        places = np.minimum(rows, last)
        sizes = np.where(is_here, np.diff(self.ptr)[places] if len(self) else 0, 0)
        ptr = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        starts = self.ptr[places]
        return Ragged(ptr, self.data[ranges(starts, starts + sizes)])


def to_arrow(column: Ragged) -> pa.Array:
    """As a list column."""
    values = pa.array(column.data, pa.string()) if column.data.dtype == object else pa.array(column.data)
    return pa.ListArray.from_arrays(pa.array(column.ptr.astype(np.int32)), values)


def from_arrow(column: pa.ChunkedArray) -> Ragged:
    """What `to_arrow` was given."""
    flat = column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)
    offsets = flat.offsets.to_numpy().astype(np.int64)
    values = flat.values[int(offsets[0]) : int(offsets[-1])]
    data = values.to_numpy(zero_copy_only=False)
    return Ragged(offsets - offsets[0], data)


def columns_of(features: Iterable[Feature]) -> list[str]:
    """What must be read of items (`ITEM_SCHEMA`) for these features."""
    names: set[str] = set()
    for feature in features:
        if feature.kind == "identity":
            names |= {"source", "identity"}
        elif feature.attribute is None:
            known = [attribute_named(name) for name in WHOLE_TEXT]
            names |= {one.column for one in known if one is not None} | {"extensions"}
        else:
            one = attribute_named(feature.attribute)
            assert one is not None
            names.add(one.column)
    return sorted(names)


def feature_of(kind: Kind, attribute: str | None) -> Feature:
    """The feature of an atom; `LanguageError` when the attribute cannot be compared so."""
    if attribute is None:
        if kind in ("value", "order"):
            raise LanguageError(
                "a comparison needs an attribute on both sides", hint="for example title = window.title"
            )
        return Feature(kind, "links" if kind == "links" else None)
    known = attribute_named(attribute)
    if known is None:
        raise LanguageError(
            f"an item has no attribute {attribute}", hint="extensions are written prefix:name"
        )
    if kind == "links" and known.type is not AttributeType.LINK:
        raise LanguageError(
            f"{attribute} is not a link", hint="shares-link compares link, links or enclosure"
        )
    return Feature(kind, known.name)


def column_type(feature: Feature) -> str:
    """How ordered values compare; only values of one type do."""
    assert feature.attribute is not None
    known = attribute_named(feature.attribute)
    assert known is not None
    return {AttributeType.TIME: "time", AttributeType.NUMBER: "number"}.get(known.type, "text")


def empty(feature: Feature) -> Ragged:
    kind = column_type(feature) if feature.kind == "order" else "key"
    types = {"text": object, "number": np.float64}
    return Ragged(np.zeros(1, np.int64), np.empty(0, types.get(kind, np.int64)))


def extract(feature: Feature, items: pa.RecordBatch) -> Ragged:
    """The feature of every item of a batch (`ITEM_SCHEMA`)."""
    if feature.kind == "words":
        return _words(feature.attribute, items)
    if feature.kind == "identity":
        names = zip(*(items.column(name).to_pylist() for name in ("source", "identity")), strict=True)
        keys = item_keys(names)
        return Ragged(np.arange(len(keys) + 1, dtype=np.int64), keys)
    assert feature.attribute is not None
    known = attribute_named(feature.attribute)
    assert known is not None
    rows = _values(known, items)
    if feature.kind == "links":
        return _keyed([[canonical_url(str(value)) for value in row] for row in rows])
    if feature.kind == "value":
        return _keyed([[_written(value) for value in row] for row in rows])
    return _ordered(rows, column_type(feature))


def item_keys(names: Iterable[tuple[str, str]]) -> Longs:
    """Of items by source and identity the keys that tell which wordings are of one item."""
    texts = [f"{len(source)} {source} {identity}" for source, identity in names]
    return keys_of(texts)[0] if texts else np.empty(0, np.int64)


def _words(attribute: str | None, items: pa.RecordBatch) -> Ragged:
    names = WHOLE_TEXT if attribute is None else (attribute,)
    parts = []
    for name in names:
        known = attribute_named(name)
        assert known is not None
        column = _column(known, items)
        parts.append(analyse(column, is_html=known.type is AttributeType.HTML))
    if attribute is None:
        values = [[pair["value"] for pair in row or ()] for row in items.column("extensions").to_pylist()]
        parts.append(analyse(pa.array(values, pa.list_(pa.string()))))
    sets = token_sets(*parts)
    return Ragged(sets.ptr, sets.hashes)


def _column(attribute: Attribute, items: pa.RecordBatch) -> pa.Array:
    if attribute.column in ("extensions", "enclosures") or attribute.type in (
        AttributeType.TIME,
        AttributeType.NUMBER,
    ):
        rows = [[str(value) for value in row] for row in _values(attribute, items)]
        return pa.array(rows, pa.list_(pa.string()))
    return items.column(attribute.column)


def _values(attribute: Attribute, items: pa.RecordBatch) -> list[list[str | float | datetime]]:
    column = items.column(attribute.column).to_pylist()
    if attribute.column == "extensions":
        return [[pair["value"] for pair in row or () if pair["name"] == attribute.name] for row in column]
    if attribute.column == "enclosures":
        return [[one["url"] for one in row or ()] for row in column]
    if attribute.is_multiple:
        return [[value for value in row or () if value] for row in column]
    return [[] if value is None or value == "" else [value] for value in column]


def _written(value: str | float | datetime) -> str:
    if isinstance(value, datetime):
        return f"t{_microseconds(value)}"
    return f"s{fold(value).strip()}" if isinstance(value, str) else f"n{float(value)!r}"


def _microseconds(value: datetime) -> int:
    return round(value.timestamp() * 1_000_000)


def _keyed(rows: Sequence[Sequence[str]]) -> Ragged:
    sizes = np.array([len(row) for row in rows], np.int64)
    texts = [text for row in rows for text in row]
    keys = keys_of(texts)[0] if texts else np.empty(0, np.int64)
    owner = np.repeat(np.arange(len(rows)), sizes)
    order = np.lexsort((keys, owner))
    owner, keys = owner[order], keys[order]
    fresh = np.ones(len(owner), np.bool_)
    fresh[1:] = (owner[1:] != owner[:-1]) | (keys[1:] != keys[:-1])
    return Ragged(np.searchsorted(owner[fresh], np.arange(len(rows) + 1)).astype(np.int64), keys[fresh])


def _ordered(rows: Sequence[Sequence[str | float | datetime]], kind: str) -> Ragged:
    """The least and the greatest value of each row: enough for `one of them is less`."""
    ends: list[list[object]] = []
    for row in rows:
        found = sorted(_comparable(value, kind) for value in row)
        ends.append([found[0], found[-1]] if found else [])
    flat = [value for row in ends for value in row]
    ptr = np.concatenate([[0], np.cumsum([len(row) for row in ends])]).astype(np.int64)
    if kind != "text":
        return Ragged(ptr, np.array(flat, np.int64 if kind == "time" else np.float64))
    data = np.empty(len(flat), object)
    data[:] = flat
    return Ragged(ptr, data)


def _comparable(value: str | float | datetime, kind: str) -> str | float:
    if kind == "time":
        assert isinstance(value, datetime)
        return _microseconds(value)
    return float(value) if kind == "number" and not isinstance(value, datetime) else fold(str(value)).strip()
