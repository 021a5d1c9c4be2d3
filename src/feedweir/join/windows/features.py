"""What annotation joins compare, as columns: values, links and words as sorted sets of 64-bit keys, ordered
values, and story vectors.

Values compare as in filters: text folded and trimmed, times as instants, numbers as numbers, links by their canonical
spelling. An attribute with several values satisfies an atom when one of them does. Keys are 64-bit digests.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from typing import Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from feedweir.errors import LanguageError, WorkError
from feedweir.items.attributes import WHOLE_TEXT, Attribute, AttributeType, attribute_named
from feedweir.items.links import canonical_url, openings_of
from feedweir.items.schema import ITEM_SCHEMA, items_of
from feedweir.items.string_keys import item_keys, keys_of
from feedweir.join.ragged import Ragged
from feedweir.join.windows.similarity import token_sets
from feedweir.join.windows.story_vectors import COLUMNS, story_vectors
from feedweir.match.meaning.item_meaning import Reading, holds
from feedweir.plan.predicate_wire import predicate_from_json
from feedweir.plan.predicates import Predicate
from feedweir.text.analyser import Tokens, analyse, fold

Longs = NDArray[np.int64]


Kind = Literal[
    "value",
    "order",
    "words",
    "links",
    "openings",
    "value words",
    "signatures",
    "condition",
    "identity",
    "story",
]


@dataclass(frozen=True, slots=True, order=True)
class Feature:
    """A column to keep: which kind of values of which attribute, or of the whole item. For a condition, `attribute` is
    the condition as JSON, and the column says for which items it holds."""

    kind: Kind
    attribute: str | None

    @property
    def name(self) -> str:
        """The name of the column."""
        return f"{self.kind} {self.attribute or '*'}"


_OF_LINKS = ("links", "openings")


IDENTITY = Feature("identity", None)
"""The key of the item that it is a revision of."""


def columns_of(features: Iterable[Feature]) -> list[str]:
    """The columns of items (`ITEM_SCHEMA`) that these features need."""
    names: set[str] = set()
    for feature in features:
        if feature.kind == "identity":
            names |= {"source", "identity"}
        elif feature.kind == "story":
            names |= {*COLUMNS}
        elif feature.kind == "condition":
            names |= set(ITEM_SCHEMA.names)
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
        return Feature(kind, "links" if kind in _OF_LINKS else None)
    known = attribute_named(attribute)
    if known is None:
        raise LanguageError(
            f"an item has no attribute {attribute}", hint="extensions are written prefix:name"
        )
    if kind in _OF_LINKS and known.type is not AttributeType.LINK:
        raise LanguageError(
            f"{attribute} is not a link", hint="shares-link and extends compare link, links or enclosure"
        )
    return Feature(kind, known.name)


def column_type(feature: Feature) -> str:
    """The type that values are ordered by; only values of one type compare."""
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
        return token_sets(*_tokens(feature.attribute, items))
    if feature.kind == "story":
        return story_vectors(items)
    if feature.kind in ("value words", "signatures"):
        (tokens,) = _tokens(feature.attribute, items)
        return _signatures(tokens) if feature.kind == "signatures" else _words_of_values(tokens)
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
    if feature.kind == "openings":
        return _keyed([[opening for value in row for opening in openings_of(str(value))] for row in rows])
    if feature.kind == "value":
        return _keyed([[_written(value) for value in row] for row in rows])
    return _ordered(rows, column_type(feature))


def held(is_held: Iterable[bool]) -> Ragged:
    """The column of a condition: one key where it holds."""
    counts = np.fromiter(is_held, np.int64)
    return Ragged(np.concatenate([[0], np.cumsum(counts)]), np.ones(int(counts.sum()), np.int64))


def _words_of_values(tokens: Tokens) -> Ragged:
    """For each row, for each of its values that has words, how many different ones and which."""
    ptr, data = [0], list[int]()
    for words in _by_row(tokens):
        for of_value in words:
            keys = sorted({key for key, _ in of_value})
            data += [len(keys), *keys] if keys else ()
        ptr.append(len(data))
    return Ragged(np.array(ptr, np.int64), np.array(data, np.int64))


def _signatures(tokens: Tokens) -> Ragged:
    """For each row, the longest word of each of its values: a text with all words of a value has this one."""
    ptr, data = [0], list[int]()
    for words in _by_row(tokens):
        longest = (max(of_value, key=lambda word: (word[1], word[0])) for of_value in words if of_value)
        data += sorted({key for key, _ in longest})
        ptr.append(len(data))
    return Ragged(np.array(ptr, np.int64), np.array(data, np.int64))


def _by_row(tokens: Tokens) -> Iterator[list[list[tuple[int, int]]]]:
    """For each row and value, the (key, length) of its words."""
    words = list(zip(tokens.hashes.view(np.int64).tolist(), tokens.lengths.tolist(), strict=True))
    ends, values = tokens.value_tokens.tolist(), tokens.row_values.tolist()
    for first, last in pairwise(values):
        yield [words[ends[value] : ends[value + 1]] for value in range(first, last)]


def _tokens(attribute: str | None, items: pa.RecordBatch) -> list[Tokens]:
    """The words of an attribute, or of all of the item's text, a part each."""
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
    return parts


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
        return f"t{_us_of(value)}"
    return f"s{fold(value).strip()}" if isinstance(value, str) else f"n{float(value)!r}"


def _us_of(value: datetime) -> int:
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
        return _us_of(value)
    return float(value) if kind == "number" and not isinstance(value, datetime) else fold(str(value)).strip()


ReadTable = Callable[[Sequence[int], Sequence[str]], pa.Table]
"""Columns of items by their numbers, in the order of the stream."""


class Compared:
    """Features of items by row: the items of a batch have the rows 0, 1, … in the order of the stream."""

    def __init__(self, seq: Longs, read: ReadTable) -> None:
        self._seq = seq
        self._read = read
        self._known: dict[Feature, tuple[Longs, Ragged]] = {}

    def columns(self, rows: Longs, features: Iterable[Feature]) -> dict[Feature, Ragged]:
        """The features of some rows."""
        return {feature: self._column(rows, feature) for feature in features}

    def arrived(self, rows: Longs) -> Longs:
        """When items arrived, in microseconds."""
        table = self._read(self._seq[rows].tolist(), ["arrived"])
        return np.asarray(table.column("arrived").cast(pa.int64()).to_numpy())

    def _column(self, rows: Longs, feature: Feature) -> Ragged:
        place, known = self._known.get(feature) or (np.full(len(self._seq), -1, np.int64), empty(feature))
        missing = rows[place[rows] < 0]
        if len(missing):
            items = whole_batch(self._read(self._seq[missing].tolist(), columns_of([feature])))
            place[missing] = len(known) + np.arange(len(missing))
            known = known.joined(compared_of(feature, items))
            self._known[feature] = place, known
        return known.take(place[rows])


def compared_of(feature: Feature, items: pa.RecordBatch) -> Ragged:
    """A feature of items; conditions are evaluated once for each item."""
    if feature.kind != "condition":
        return extract(feature, items)
    predicate = predicate_from_json(feature.attribute or "")
    return held(_is_held(predicate, Reading(item)) for item in items_of(items.select(ITEM_SCHEMA.names)))


def _is_held(predicate: Predicate, reading: Reading) -> bool:
    try:
        return holds(predicate, reading)
    except WorkError:
        return False  # too much work counts as no, as in filters


def whole_batch(items: pa.Table) -> pa.RecordBatch:
    """A table in one piece."""
    pieces = items.combine_chunks().to_batches()
    return pieces[0] if pieces else pa.RecordBatch.from_pylist([], schema=items.schema)
