"""Small sets laid over a large one: their tries in its numbers, so that one walk over an item finds the queries of all.

An item's words are looked up once, in the large set, and its atoms are bits once. Only what the large set
has no number for gets a new one: words that none of its queries names, and values.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from feedweir.items.columns import Batch
from feedweir.match.arrays import Array, continued, frozen, joined
from feedweir.match.index.index_arrays import Index
from feedweir.match.matching.batch_facts import Texts, by_row, values_of_batch
from feedweir.match.matching.match_kernels import Checks, OverlayArrays, Trie
from feedweir.match.matching.program_kernels import renumbered
from feedweir.match.sets.overlay_kernels import lay_over
from feedweir.match.words.dictionary import dictionary_of, known_tokens
from feedweir.match.words.dictionary_kernels import Dictionary
from feedweir.match.words.scopes import WHOLE

_NONE, _NO_KEYS = frozen(np.empty(0, np.int32)), frozen(np.empty(0, np.int64))
UNCHECKED = Checks(
    _NONE, _NONE, _NONE, frozen(np.zeros(1, np.int32)), frozen(np.zeros(1, np.int32)), _NONE,
    frozen(np.empty(0, np.uint64)), _NO_KEYS, _NO_KEYS,
)  # fmt: skip
NO_OVERLAY = OverlayArrays(
    frozen(np.empty(0, np.uint8)), _NONE, _NONE, frozen(np.zeros(1, np.int64)), _NONE, UNCHECKED
)


@dataclass(frozen=True, slots=True)
class Layer:
    """One of the small sets."""

    index: Index
    atoms: Array
    """The number of each of its atoms."""
    queries: Array
    """The number of each of its queries."""


@dataclass(frozen=True, slots=True)
class Overlay:
    layers: tuple[Layer, ...]
    words: Dictionary
    """Those that the large set does not have; their atoms follow its own."""
    first_atom: int
    order: Array
    """Of the queries of all layers, as they lie one after the other: how they are numbered behind the large set's."""
    trie: Trie
    is_root: Array
    """A bit for each atom."""
    checks: Checks


def can_be_laid_over(index: Index) -> bool:
    """Whether its queries need no word positions: only the largest segment has them."""
    vocabulary, checks = index.vocabulary, index.checks
    is_of_atoms = not len(checks.code) or len(renumbered(checks.code, frozen(np.arange(index.n_atoms))))
    return bool(is_of_atoms) and not (
        len(vocabulary.scoped_starts) > 1
        or len(vocabulary.every_atom)
        or len(index.prefixes.starts) > 1
        or index.trees
    )


def overlay_of(base: Index, sets: Sequence[tuple[Index, Array]]) -> Overlay:
    """Sets that can be laid over a large one, each with the entries that its words have there, or -1."""
    order = np.argsort(np.concatenate([_NO_KEYS, *(index.keys for index, _ in sets)]), kind="stable")
    numbers = np.empty(len(order), np.int32)
    numbers[order] = len(base.keys) + np.arange(len(order))
    own: dict[bytes, int] = {}
    words = [_with_own(index.words, known, base.n_atoms, own) for index, known in sets]
    n_atoms, n_queries, layers = base.n_atoms + len(own), 0, list[Layer]()
    for (index, _), of_words in zip(sets, words, strict=True):
        others = np.arange(n_atoms, n_atoms + index.n_atoms - len(of_words))
        queries = numbers[n_queries : n_queries + len(index.keys)]
        layers.append(Layer(index, _numbers([of_words, others]), frozen(queries)))
        n_atoms, n_queries = n_atoms + len(others), n_queries + len(queries)
    trie = _trie_of(layers, n_atoms)
    is_root = np.packbits(trie.roots >= 0, bitorder="little")
    return Overlay(
        tuple(layers),
        dictionary_of(list(own)),
        base.n_atoms,
        order,
        trie,
        frozen(is_root),
        _checks_of(layers),
    )


def _with_own(words: Dictionary, known: Array, first: int, own: dict[bytes, int]) -> Array:
    """The atoms of words: known ones, and for each other word its new number, the next one if it has none yet."""
    atoms, text, starts = known.copy(), words.text.tobytes(), words.starts
    for entry in np.flatnonzero(known < 0).tolist():
        atoms[entry] = first + own.setdefault(text[starts[entry] : starts[entry + 1]], len(own))
    return atoms


def _trie_of(layers: Sequence[Layer], n_atoms: int) -> Trie:
    tries = [layer.index.trie for layer in layers]
    roots = np.full(n_atoms, -1, np.int32)
    # a root that several layers have is written once more for each of them, at most
    blocks = np.empty(len(tries) * sum(len(trie.blocks) for trie in tries), np.int32)
    at = first_check = 0
    for layer, trie in zip(layers, tries, strict=True):
        at = lay_over(trie.roots, trie.blocks, layer.atoms, layer.queries, first_check, roots, blocks, at)
        first_check += len(layer.index.checks.queries)
    return Trie(frozen(roots), frozen(blocks[:at].copy()))


def _checks_of(layers: Sequence[Layer]) -> Checks:
    checks = [layer.index.checks for layer in layers]
    n_programs = np.cumsum([0, *(len(one.starts) - 1 for one in checks)])
    n_words = np.cumsum([0, *(len(one.code) for one in checks)])
    code = [renumbered(one.code, layer.atoms) for one, layer in zip(checks, layers, strict=True)]
    queries = [layer.queries[one.queries] for one, layer in zip(checks, layers, strict=True)]
    programs = [one.programs + n for one, n in zip(checks, n_programs, strict=False)]
    starts = [one.starts[:-1] + n for one, n in zip(checks, n_words, strict=False)]
    return UNCHECKED._replace(
        queries=_numbers(queries),
        programs=_numbers(programs),
        code=_numbers(code),
        starts=_numbers([*starts, n_words[-1:]]),
    )


def _numbers(parts: Sequence[Array]) -> Array:
    return frozen(np.concatenate([_NONE, *parts]).astype(np.int32))


def overlay_arrays(overlay: Overlay, texts: Texts, items: Batch) -> OverlayArrays:
    """The overlay with the atoms of its own that a batch satisfies; words were looked up in the large set."""
    found = [*_own_words(overlay, texts), *_own_values(overlay, items)]
    offsets, atoms = by_row(found, items.num_rows)
    return OverlayArrays(overlay.is_root, *overlay.trie, frozen(offsets), frozen(atoms), overlay.checks)


def _own_words(overlay: Overlay, texts: Texts) -> Iterator[tuple[Array, Array]]:
    """(rows, atoms) of words that the large set does not have."""
    if len(overlay.words.starts) > 1:
        assert texts.looked_up is not None, "words are looked up in the large set"
        parts = texts.looked_up.each(texts.looked_up.entries())
        known = [known_tokens(overlay.words, tokens, found) for tokens, found in parts]
        ends = continued([offsets for offsets, _, _ in known])[texts.rows_of(WHOLE)]
        entries = joined([entries for _, entries, _ in known])
        for of_field in ends:
            atoms = overlay.first_atom + entries[of_field[0] : of_field[-1]]
            yield np.repeat(np.arange(texts.n_rows), np.diff(of_field)), atoms


def _own_values(overlay: Overlay, items: Batch) -> Iterator[tuple[Array, Array]]:
    for layer in overlay.layers:
        if layer.index.families or layer.index.ranges.trees:
            offsets, atoms, *_ = values_of_batch(layer.index, items)
            yield np.repeat(np.arange(items.num_rows), np.diff(offsets)), layer.atoms[atoms]
