"""From a batch of items to what is true of each: token streams, value atoms, numbers. Arrow in, arrays out."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from feedweir.items.attributes import Attribute, AttributeType, attribute_named
from feedweir.items.text import Tokens, analyse
from feedweir.match.arrays import Array, frozen
from feedweir.match.atoms import SEVERAL, Axis
from feedweir.match.dictionary import entries_of_strings, known_tokens, prefixes_of_tokens
from feedweir.match.dictionary_kernels import Dictionary
from feedweir.match.index import Index, SegmentTree
from feedweir.match.match_kernels import Streams, Values
from feedweir.match.orders import TextOrder, ends_of, numbers_among, rows_of_several
from feedweir.match.scopes import EXTENSIONS
from feedweir.match.segment_trees import atoms_of_numbers
from feedweir.match.shared_words import LookedUp, places_of, translated_entries
from feedweir.match.values import ORIGIN, keys_of_value

_DAY_US = 86_400_000_000
_HOUR_US = 3_600_000_000
_MINUTE_US = 60_000_000


@dataclass(frozen=True, slots=True)
class Texts:
    """The analysed fields of a batch: computed once, whatever number of indexes look at it."""

    n_rows: int
    tokens: dict[str, Tokens]
    looked_up: LookedUp | None = None
    """What the largest of several dictionaries has of them."""


def texts_of(items: pa.RecordBatch, fields: Iterable[str], largest: Dictionary | None = None) -> Texts:
    """The texts of these fields, with what the largest dictionary that will be asked has of them."""
    tokens = {field: _tokens(items, field) for field in fields}
    return Texts(items.num_rows, tokens, None if largest is None else LookedUp(largest, tokens))


def _tokens(items: pa.RecordBatch, field: str) -> Tokens:
    if field == EXTENSIONS:
        return analyse(_struct_field(items.column("extensions"), "value"))
    attribute = attribute_named(field)
    assert attribute is not None, field
    return analyse(column_of(items, attribute), is_html=attribute.type is AttributeType.HTML)


def column_of(items: pa.RecordBatch, attribute: Attribute) -> pa.Array:
    """The values of an attribute: an array of strings, or of lists of strings."""
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


def _flat(lists: pa.ListArray) -> tuple[Array, pa.Array]:
    counts = pc.fill_null(pc.list_value_length(lists), 0).to_numpy(zero_copy_only=False)
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int32), lists.flatten()


# Words


def streams_of(index: Index, texts: Texts, translation: Array | None = None) -> Streams:
    """The dictionary entries that stand in every field: words field by field, then prefixes field by field.

    With a translation from the largest dictionary, that one's entries are taken instead of looking up words again.
    """
    fields = [texts.tokens[field] for field in index.scopes.fields]
    if translation is None and len(index.words.filter):
        words = _known_words(index, fields, [known_tokens(index.words, tokens) for tokens in fields])
    else:
        words = _all_words(index, texts, translation)
    return _with_prefixes(words, index, fields) if len(index.prefixes.starts) > 1 else words


def _all_words(index: Index, texts: Texts, translation: Array | None) -> Streams:
    """Every token of every field, if only as a word that no query names."""
    looked_up = texts.looked_up
    if translation is None and (looked_up is None or looked_up.dictionary is not index.words):
        looked_up = LookedUp(index.words, texts.tokens)
    assert looked_up is not None, "a translation leads from what was looked up"
    entries = (
        looked_up.entries()
        if translation is None
        else translated_entries(index.words, translation, looked_up)
    )
    places = places_of(texts.tokens)
    offsets = [places[name].start + texts.tokens[name].offsets for name in index.scopes.fields]
    positions = [tokens.positions for tokens in texts.tokens.values()] if _has_phrases(index) else []
    return _streams(offsets, entries, positions)


def _known_words(index: Index, fields: list[Tokens], found: list[tuple[Array, Array, Array]]) -> Streams:
    """Only what queries name, as (offsets of rows, entries, tokens) of each field: of a small set that is little."""
    firsts = np.cumsum([0, *(len(entries) for _, entries, _ in found)])
    offsets = [first + each for first, (each, _, _) in zip(firsts, found, strict=False)]
    known = [places for _, _, places in found]
    positions = (
        [tokens.positions[places] for tokens, places in zip(fields, known, strict=True)]
        if _has_phrases(index)
        else []
    )
    return _streams(offsets, np.concatenate([entries for _, entries, _ in found]), positions)


def _has_phrases(index: Index) -> bool:
    return len(index.checks.phrase_scopes) > 0


def _streams(offsets: list[Array], entries: Array, positions: list[Array]) -> Streams:
    return Streams(
        np.left_shift(np.uint64(1), np.arange(len(offsets), dtype=np.uint64)),
        np.stack(offsets),
        entries,
        np.concatenate(positions) if positions else np.empty(0, np.int32),
        len(offsets),
    )


def _with_prefixes(words: Streams, index: Index, fields: list[Tokens]) -> Streams:
    """Streams with one more for each field: the prefixes that words of it open with."""
    found = [
        prefixes_of_tokens(index.prefixes, index.prefix_masks, index.n_words, tokens) for tokens in fields
    ]
    firsts = len(words.entries) + np.cumsum([0, *(len(entries) for _, entries, _ in found)])
    offsets = [first + each for first, (each, _, _) in zip(firsts, found, strict=False)]
    has_phrases = _has_phrases(index)
    return Streams(
        np.concatenate([words.scopes, words.scopes]),
        np.concatenate([words.offsets, np.stack(offsets)]),
        np.concatenate([words.entries, *(entries for _, entries, _ in found)]),
        np.concatenate([words.positions, *(places for _, _, places in found if has_phrases)]),
        words.n_fields,
    )


# Values and numbers


def values_of_batch(index: Index, items: pa.RecordBatch) -> Values:
    rows, atoms = [np.empty(0, np.int64)], [np.empty(0, np.int32)]
    for kind, attribute in index.value_kinds:
        found_rows, found_atoms = _value_atoms(index, items, kind, attribute)
        rows.append(found_rows)
        atoms.append(found_atoms)
    read = _Numbers(index, items)
    for tree in index.segment_trees:
        found_rows, found_atoms = _segment_atoms(tree, read)
        rows.append(found_rows)
        atoms.append(found_atoms)
    found_rows, found_atoms = index.tree_atoms.found_in(items)
    rows.append(found_rows)
    atoms.append(found_atoms)
    return Values(*by_row(np.concatenate(rows), np.concatenate(atoms), items.num_rows), *_axes(index, read))


def by_row(rows: Array, atoms: Array, n_rows: int) -> tuple[Array, Array]:
    """(offsets of rows, atoms) of pairs."""
    order = np.argsort(rows, kind="stable")
    counts = np.bincount(rows, minlength=n_rows)
    return np.concatenate([[0], np.cumsum(counts)]), atoms[order].astype(np.int32)


class _Numbers:
    """The numbers of a batch on axes, each read once; values that compare by order are placed once for all ends."""

    def __init__(self, index: Index, items: pa.RecordBatch) -> None:
        self.n_rows = items.num_rows
        self._items = items
        self._orders = {order.attribute: order for order in index.text_orders}
        self._on_axes: dict[Axis, tuple[Array, Array]] = {}
        self._placed: dict[tuple[str, str], tuple[Array, Array]] = {}

    def on(self, axis: Axis) -> tuple[Array, Array]:
        """(number, whether there is one) of every item."""
        if axis not in self._on_axes:
            self._on_axes[axis] = (
                ends_of(axis, *self.placed(axis), self.n_rows)
                if axis.reading
                else numbers_of(self._items, axis)
            )
        return self._on_axes[axis]

    def placed(self, axis: Axis) -> tuple[Array, Array]:
        """(rows, places) of all values of an axis' attribute."""
        key = axis.attribute, axis.reading or ""
        if key not in self._placed:
            self._placed[key] = _placed_values(self._items, axis, self._orders.get(axis.attribute))
        return self._placed[key]


def _placed_values(items: pa.RecordBatch, axis: Axis, order: TextOrder | None) -> tuple[Array, Array]:
    """(rows, places) of the values that read as a number, or of all texts; each distinct value is looked at once."""
    attribute = attribute_named(axis.attribute)
    assert attribute is not None, axis
    rows, values = _distinct_values(column_of(items, attribute))
    texts, indices = values.dictionary.to_pylist(), values.indices.to_numpy()
    if axis.reading == "number":
        places, is_there = numbers_among(texts)
    else:
        assert order is not None, axis
        places = order.places(texts)
        is_there = np.array([bool(text) or _keeps_empty(attribute) for text in texts], np.bool_)
    is_kept = is_there[indices]
    return rows[is_kept], places[indices[is_kept]]


def _keeps_empty(attribute: Attribute) -> bool:
    """Whether an empty text is a value; of other attributes it says that there is none."""
    return attribute.column in ("extensions", "enclosures")


def _segment_atoms(tree: SegmentTree, read: _Numbers) -> tuple[Array, Array]:
    """(rows, atoms) of one segment tree."""
    if tree.axis.end != "each":
        numbers, is_present = read.on(tree.axis)
        return atoms_of_numbers(tree.cuts, tree.node_atoms, numbers[is_present], np.flatnonzero(is_present))
    rows, places = read.placed(tree.axis)
    found_rows, found_atoms = atoms_of_numbers(tree.cuts, tree.node_atoms, places, rows)
    atom = tree.node_atoms[SEVERAL]
    several = rows_of_several(rows, places, read.n_rows) if atom >= 0 else rows[:0]
    return np.concatenate([found_rows, several]), np.append(found_atoms, np.full(len(several), atom))


def _axes(index: Index, read: _Numbers) -> tuple[Array, Array]:
    numbers = np.zeros((len(index.axes), read.n_rows), np.int64)
    is_present = np.zeros((len(index.axes), read.n_rows), np.bool_)
    for number, axis in enumerate(index.axes):
        numbers[number], is_present[number] = read.on(axis)
    return numbers, is_present


def _value_atoms(index: Index, items: pa.RecordBatch, kind: str, name: str) -> tuple[Array, Array]:
    """(rows, atoms) of one kind of value of one attribute; each distinct value is looked at once."""
    attribute = attribute_named(name)
    assert attribute is not None, name
    rows, values = _distinct_values(column_of(items, attribute))
    keeps_empty = kind == ORIGIN or _keeps_empty(attribute)
    texts = values.dictionary.to_pylist()
    strings = [keys_of_value(kind, name, text) if text or keeps_empty else () for text in texts]
    entries = entries_of_strings(index.values, [string for group in strings for string in group])
    counts = np.where(entries >= 0, index.value_starts[entries + 1] - index.value_starts[entries], 0)
    atoms = index.value_atoms[_ranges(index.value_starts[entries], counts)]
    ends = np.concatenate([[0], np.cumsum(counts)])
    group_ends = ends[np.cumsum([0, *map(len, strings)])]
    indices = values.indices.to_numpy()
    sizes = np.diff(group_ends)[indices]
    return np.repeat(rows, sizes), atoms[_ranges(group_ends[indices], sizes)]


def _distinct_values(column: pa.Array) -> tuple[Array, pa.DictionaryArray]:
    """The values that are there, dictionary-encoded, with the row of each."""
    if pa.types.is_list(column.type):
        offsets, values = _flat(column)
        rows = np.repeat(np.arange(len(column)), np.diff(offsets))
    else:
        rows, values = np.arange(len(column)), column
    encoded = pc.fill_null(values, "").dictionary_encode()
    return rows, encoded


def _ranges(starts: Array, counts: Array) -> Array:
    """The numbers start, start + 1, … of every stretch, one stretch after the other."""
    ends = np.cumsum(counts)
    shift: Array = np.repeat(starts - ends + counts, counts)
    return shift + np.arange(len(shift))


def numbers_of(items: pa.RecordBatch, axis: Axis) -> tuple[Array, Array]:
    """(number, whether there is one) of every item on an axis."""
    attribute = attribute_named(axis.attribute)
    assert attribute is not None, axis
    column = items.column(attribute.column)
    is_present = np.asarray(pc.is_valid(column))
    numbers = _whole_numbers(column)
    if axis.is_relative:
        numbers = numbers - _whole_numbers(items.column("arrived"))
    return (_part(column, numbers, axis.part) if axis.part else numbers), is_present


def _whole_numbers(column: pa.Array) -> Array:
    return np.asarray(pc.fill_null(column.cast(pa.int64()), 0))


def _part(column: pa.Array, numbers: Array, part: str) -> Array:
    match part:
        case "date":
            return numbers // _DAY_US * _DAY_US
        case "hour":
            return numbers % _DAY_US // _HOUR_US
        case "minute":
            return numbers % _HOUR_US // _MINUTE_US
        case "weekday":
            return (numbers // _DAY_US + 3) % 7  # the epoch was a Thursday
        case _:
            found: Any = {"year": pc.year, "month": pc.month, "day": pc.day}[part](column)
            return _whole_numbers(found)


def as_arguments(streams: Streams, values: Values) -> tuple[Streams, Values]:
    """With every array read-only, as the kernels are compiled."""
    scopes, offsets, entries, positions, n_fields = streams
    return (
        Streams(frozen(scopes), frozen(offsets), frozen(entries), frozen(positions), n_fields),
        Values(*map(frozen, values)),
    )
