"""Byte strings by number: what was put in is found, and nothing else is."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from feedweir.match.arrays import frozen
from feedweir.match.index.trie import trie_of
from feedweir.match.words.dictionary import (
    dictionary_of,
    entries_of_strings,
    find_tokens,
    known_tokens,
    packed,
    prefix_length_masks,
    prefixes_of_tokens,
)
from feedweir.match.words.lexicon import bytes_of
from feedweir.text.analyser import Tokens, analyse

strings = st.lists(
    st.binary(min_size=1, max_size=20) | st.binary(min_size=60, max_size=70), max_size=30, unique=True
)


def tokens_of(*texts: str) -> Tokens:
    return analyse(pa.array(texts, pa.string()))


@settings(max_examples=100, deadline=None)
@given(strings, strings)
def test_strings_are_found_under_their_place_and_others_are_not(
    known: list[bytes], others: list[bytes]
) -> None:
    dictionary = dictionary_of(known)
    asked = [*known, *others]
    expected = [known.index(one) if one in known else -1 for one in asked]
    assert entries_of_strings(dictionary, asked).tolist() == expected


def test_strings_that_begin_alike_are_told_apart() -> None:
    known = [b"x" * n for n in range(1, 100)]
    assert entries_of_strings(dictionary_of(known), known[::-1]).tolist() == list(range(98, -1, -1))
    assert entries_of_strings(dictionary_of(known), [b"x" * 100, b"", b"y"]).tolist() == [-1, -1, -1]


def test_thousands_of_strings_have_room_and_no_filter_from_some_number_on() -> None:
    known = [f"word{n}".encode() for n in range(30_000)]
    dictionary = dictionary_of(known)
    assert len(dictionary.filter) == 0
    assert len(dictionary_of(known[:20_000]).filter) > 0
    assert entries_of_strings(dictionary, [known[29_999], b"word30000", known[0]]).tolist() == [29_999, -1, 0]


def test_an_empty_dictionary_knows_nothing() -> None:
    tokens = tokens_of("storm tide", "")
    entries = np.zeros(2, np.int32)
    find_tokens(dictionary_of([]), tokens, entries)
    assert entries.tolist() == [-1, -1]
    offsets, prefixes, _ = prefixes_of_tokens(dictionary_of([]), frozen(prefix_length_masks([])), 0, tokens)
    assert (offsets.tolist(), len(prefixes)) == ([0, 0, 0], 0)


def test_strings_are_packed_one_after_the_other() -> None:
    text, starts, lengths = packed([b"ab", b"", b"c"])
    assert (bytes(text), starts.tolist(), lengths.tolist()) == (b"abc", [0, 2, 2], [2, 0, 1])


@pytest.mark.parametrize(("start", "end"), [(0, 3), (1, 3), (1, 1), (2, 3)])
def test_bytes_of_a_slice_of_texts_are_its_own(start: int, end: int) -> None:
    texts = pa.array(["ab", "", "straße"])
    text, starts = bytes_of(texts.slice(start, end - start))
    found = [bytes(text[a:b]).decode() for a, b in pairwise(starts.tolist())]
    assert found == ["ab", "", "straße"][start:end]


# Prefixes


words = st.lists(
    st.sampled_from(("s", "st", "sto", "storm", "storms", "tide", "ti", "ß", "東京")), max_size=6
)


@settings(max_examples=100, deadline=None)
@given(
    st.sets(st.sampled_from(("s", "st", "sto", "tide", "t", "ss", "東", "stormsurge"))),
    st.lists(words, max_size=3),
)
def test_tokens_open_with_the_prefixes_that_they_begin_with(chosen: set[str], texts: list[list[str]]) -> None:
    prefixes = sorted(chosen)
    encoded = [prefix.encode() for prefix in prefixes]
    tokens = tokens_of(*map(" ".join, texts))
    offsets, entries, positions = prefixes_of_tokens(
        dictionary_of(encoded), frozen(prefix_length_masks(encoded)), 100, tokens
    )
    data = tokens.text.tobytes()
    for row in range(len(texts)):
        first, last = tokens.offsets[row], tokens.offsets[row + 1]
        expected = sorted(
            (int(tokens.positions[at]), 100 + number)
            for at in range(first, last)
            for number, prefix in enumerate(encoded)
            if data[tokens.starts[at] :][: tokens.lengths[at]].startswith(prefix)
        )
        some = slice(offsets[row], offsets[row + 1])
        assert sorted(zip(positions[some].tolist(), entries[some].tolist(), strict=True)) == expected


def test_prefixes_longer_than_the_masks_tell_are_found_all_the_same() -> None:
    long = [("a" * n).encode() for n in (62, 63, 64, 80)]
    masks = prefix_length_masks(long)
    assert bin(int(masks[ord("a")])).count("1") == 2
    _, entries, _ = prefixes_of_tokens(dictionary_of(long), frozen(masks), 0, tokens_of("a" * 70))
    assert entries.tolist() == [0, 1, 2]


@pytest.mark.parametrize("is_found", [True, False])
def test_only_tokens_that_were_not_found_elsewhere_are_looked_at(is_found: bool) -> None:
    tokens = tokens_of("storm tide", "tide calm")
    elsewhere = np.array([-1, 5 if is_found else -1, -1, -1], np.int32)
    offsets, entries, known = known_tokens(dictionary_of([b"tide", b"storm"]), tokens, elsewhere)
    assert offsets.tolist() == ([0, 1, 2] if is_found else [0, 2, 3])
    assert entries.tolist() == ([1, 0] if is_found else [1, 0, 0])
    assert known.tolist() == ([0, 2] if is_found else [0, 1, 2])


# Tries


def entries_in(trie_roots: np.ndarray, blocks: np.ndarray, satisfied: set[int]) -> list[int]:
    """What walking a trie finds, the obvious way."""
    waiting = [int(trie_roots[atom]) for atom in sorted(satisfied) if trie_roots[atom] >= 0]
    found: list[int] = []
    while waiting:
        place = waiting.pop()
        n_entries, n_children = blocks[place : place + 2].tolist()
        first = place + 2 + n_entries
        found += blocks[place + 2 : first].tolist()
        for child in range(n_children):
            if int(blocks[first + child]) in satisfied:
                target = int(blocks[first + n_children + child])
                if target < 0:
                    waiting.append(~target)
                else:
                    found.append(target)
    return sorted(found)


conjunctions = st.lists(st.sets(st.integers(0, 7), min_size=1, max_size=5).map(sorted), max_size=25)


@settings(max_examples=150, deadline=None)
@given(
    conjunctions,
    st.lists(st.sampled_from((0.001, 0.01, 0.1, 0.5)), min_size=8, max_size=8),
    st.sets(st.integers(0, 7)),
)
def test_a_trie_finds_each_conjunction_of_which_all_atoms_are_satisfied_once(
    some: list[list[int]], probabilities: list[float], satisfied: set[int]
) -> None:
    offsets = np.concatenate([[0], np.cumsum([len(one) for one in some])]).astype(np.int64)
    atoms = np.array([atom for one in some for atom in one], np.int32)
    checked = [n % 3 == 0 for n in range(len(some))]
    entries = np.array([~n if is_checked else n for n, is_checked in enumerate(checked)], np.int64)
    trie = trie_of(offsets, atoms, entries, np.array(probabilities))
    expected = [int(entries[n]) for n, one in enumerate(some) if satisfied.issuperset(one)]
    assert entries_in(trie.roots, trie.blocks, satisfied) == sorted(expected)
    rarest = {min(one, key=lambda atom: (probabilities[atom], atom)) for one in some}
    assert set(np.flatnonzero(trie.roots >= 0).tolist()) == rarest
