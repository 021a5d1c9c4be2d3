"""What is true of each item of a batch: token streams, atoms, numbers. Items in, arrays out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from feedweir.items.attributes import Attribute, AttributeType, attribute_named
from feedweir.items.columns import Batch, texts_in
from feedweir.match.arrays import Array, continued, frozen, joined
from feedweir.match.index.index_arrays import Index
from feedweir.match.matching.match_kernels import Streams, Values
from feedweir.match.words.dictionary import known_tokens, prefixes_of_tokens
from feedweir.match.words.dictionary_kernels import Dictionary
from feedweir.match.words.scopes import EXTENSIONS
from feedweir.match.words.shared_words import LookedUp, translated_entries
from feedweir.text.analyser import Tokens, analyse_raw


@dataclass(frozen=True, slots=True)
class Texts:
    """The analysed fields of a batch, computed once, whatever number of indexes look at it."""

    n_rows: int
    fields: tuple[str, ...]
    parts: tuple[Tokens, ...]
    """One field after the other, some of them together: row r of field f is row f · n + r of all."""
    looked_up: LookedUp | None = None
    """What the largest of several dictionaries has of them."""

    def rows_of(self, fields: tuple[str, ...]) -> Array:
        """Where the rows of each field begin, and where its last one ends."""
        rows: Array = _places(self.fields, fields) * self.n_rows + np.arange(self.n_rows + 1)
        return rows


def texts_of(items: Batch, fields: Iterable[str], largest: Dictionary | None = None) -> Texts:
    """The texts of these fields, with what the largest dictionary that will be asked has of them."""
    names, plain, html = _ordered(tuple(fields))
    parts = tuple(map(analyse_raw, texts_in(items, plain, html)))
    return Texts(items.num_rows, names, parts, None if largest is None else LookedUp(largest, parts))


@lru_cache
def _places(fields: tuple[str, ...], some: tuple[str, ...]) -> Array:
    """Which of the fields each of some is, as a column."""
    return frozen(np.array([[fields.index(field)] for field in some], np.int64))


@lru_cache
def _ordered(
    fields: tuple[str, ...],
) -> tuple[tuple[str, ...], tuple[Attribute | None, ...], tuple[Attribute, ...]]:
    """The fields with plain texts first and then those with HTML; the attributes of both, None being all extensions."""
    plain: dict[str, Attribute | None] = {}
    html: dict[str, Attribute] = {}
    for field in fields:
        attribute = attribute_named(field)
        assert attribute is not None, field
        if attribute.type is AttributeType.HTML:
            html[field] = attribute
        else:
            plain[field] = None if field == EXTENSIONS else attribute
    return (*plain, *html), tuple(plain.values()), tuple(html.values())


# Words


def streams_of(index: Index, texts: Texts, translation: Array | None = None) -> Streams:
    """The dictionary entries that occur in every field: words field by field, then prefixes field by field.

    With a translation from the largest dictionary, that one's entries are taken instead of looking up words again.
    """
    rows = texts.rows_of(index.scopes.fields)
    if translation is None and len(index.words.filter):
        words = _known_words(index, texts.parts, rows)
    else:
        words = _all_words(index, texts, translation, rows)
    return _with_prefixes(words, index, texts.parts, rows) if len(index.prefixes.starts) > 1 else words


def _all_words(index: Index, texts: Texts, translation: Array | None, rows: Array) -> Streams:
    """Every token of every field, if only as a word that no query names."""
    looked_up = texts.looked_up
    if translation is None and (looked_up is None or looked_up.dictionary is not index.words):
        looked_up = LookedUp(index.words, texts.parts)
    assert looked_up is not None, "a translation leads from what was looked up"
    entries = (
        looked_up.entries()
        if translation is None
        else translated_entries(index.words, translation, looked_up)
    )
    positions = joined([one.positions for one in texts.parts]) if _has_phrases(index) else _NONE
    return _streams(continued([one.offsets for one in texts.parts])[rows], entries, positions)


def _known_words(index: Index, parts: Sequence[Tokens], rows: Array) -> Streams:
    """Only what queries name: of a small set that is little."""
    found = [known_tokens(index.words, tokens) for tokens in parts]
    positions = (
        [tokens.positions[known] for tokens, (_, _, known) in zip(parts, found, strict=True)]
        if _has_phrases(index)
        else [_NONE]
    )
    offsets, entries = continued([one for one, _, _ in found]), joined([one for _, one, _ in found])
    return _streams(offsets[rows], entries, joined(positions))


_NONE = frozen(np.empty(0, np.int32))


def _has_phrases(index: Index) -> bool:
    return len(index.checks.phrase_scopes) > 0


def _streams(offsets: Array, entries: Array, positions: Array) -> Streams:
    return Streams(_bits(len(offsets)), offsets, entries, positions, len(offsets))


@lru_cache
def _bits(count: int) -> Array:
    """One bit for each field."""
    return frozen(np.left_shift(np.uint64(1), np.arange(count, dtype=np.uint64)))


def _with_prefixes(words: Streams, index: Index, parts: Sequence[Tokens], rows: Array) -> Streams:
    """Streams with one more for each field: the prefixes that words of it open with."""
    found = [prefixes_of_tokens(index.prefixes, index.prefix_masks, index.n_words, one) for one in parts]
    offsets = continued([one for one, _, _ in found])
    places = [words.positions, *(one for _, _, one in found)]
    return Streams(
        np.concatenate([words.scopes, words.scopes]),
        np.concatenate([words.offsets, len(words.entries) + offsets[rows]]),
        np.concatenate([words.entries, *(one for _, one, _ in found)]),
        joined(places) if _has_phrases(index) else words.positions,
        words.n_fields,
    )


# Values and numbers


def values_of_batch(index: Index, items: Batch) -> Values:
    numbers = index.ranges.read(items)
    found = [pair for atoms in index.families.values() for pair in atoms.facts(items)]
    found += numbers.facts()
    return Values(*by_row(found, items.num_rows), *numbers.on_axes())


def by_row(found: Sequence[tuple[Array, Array]], n_rows: int) -> tuple[Array, Array]:
    """(offsets of rows, atoms) of several lists of (rows, atoms)."""
    if not found:
        return np.zeros(n_rows + 1, np.int64), _NONE
    rows, atoms = (np.concatenate(column) for column in zip(*found, strict=True))
    if n_rows == 1:
        return np.array([0, len(atoms)]), atoms.astype(np.int32)
    order = np.argsort(rows, kind="stable")
    counts = np.bincount(rows, minlength=n_rows)
    return np.concatenate([[0], np.cumsum(counts)]), atoms[order].astype(np.int32)


def as_arguments(streams: Streams, values: Values) -> tuple[Streams, Values]:
    """With every array read-only, as the kernels are compiled."""
    scopes, offsets, entries, positions, n_fields = streams
    return (
        Streams(frozen(scopes), frozen(offsets), frozen(entries), frozen(positions), n_fields),
        Values(*map(frozen, values)),
    )
