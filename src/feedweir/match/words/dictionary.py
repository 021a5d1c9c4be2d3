"""Dictionaries of byte strings: the words, prefixes and values that queries name, numbered from 0."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from feedweir.match.arrays import frozen
from feedweir.match.words.dictionary_kernels import (
    EMPTY,
    LONG_PREFIX,
    Dictionary,
    fill,
    fill_filter,
    look_up,
    look_up_few,
    look_up_prefixes,
)
from feedweir.text.analyser import Tokens
from feedweir.text.text_kernels import EXACT_BYTES, hash_all

_ROOM = 1.5
_FILTERED, _FILTER_BITS = 20_000, 8
"""Strings up to which there is a filter, and its bits for each at least."""
Bytes = npt.NDArray[np.uint8]


def dictionary_of(strings: Sequence[bytes]) -> Dictionary:
    """Distinct strings, each found under its place in the sequence."""
    text, starts, lengths = packed(strings)
    return packed_dictionary(text, np.append(starts, len(text)), hashes_of(text, starts, lengths))


def packed_dictionary(
    text: Bytes, starts: npt.NDArray[np.int64], hashes: npt.NDArray[np.uint64], exact_bytes: int = EXACT_BYTES
) -> Dictionary:
    """As `dictionary_of`, for strings that lie one after the other in `text`.

    With hashes of another making `exact_bytes` must be 0: then every hit is compared byte by byte.
    """
    size = 16
    while size < _ROOM * len(hashes):
        size *= 2
    slots = np.full(2 * size, EMPTY, np.uint64)
    fill(hashes, starts, exact_bytes, slots)
    return Dictionary(
        frozen(slots), frozen(starts.astype(np.int32)), frozen(text), frozen(_filter_of(hashes))
    )


def _filter_of(hashes: npt.NDArray[np.uint64]) -> Bytes:
    if not 0 < len(hashes) <= _FILTERED:
        return np.empty(0, np.uint8)
    bits = np.zeros(1 << (_FILTER_BITS * len(hashes) // 8).bit_length(), np.uint8)
    fill_filter(hashes, bits)
    return bits


def packed(strings: Sequence[bytes]) -> tuple[Bytes, npt.NDArray[np.int64], npt.NDArray[np.int32]]:
    """(bytes, starts, lengths) of strings."""
    lengths = np.fromiter(map(len, strings), np.int32, len(strings))
    starts = np.cumsum(lengths, dtype=np.int64) - lengths
    return np.frombuffer(b"".join(strings), np.uint8), starts, lengths


def hashes_of(text: Bytes, starts: npt.NDArray[Any], lengths: npt.NDArray[Any]) -> npt.NDArray[np.uint64]:
    hashes = np.empty(len(starts), np.uint64)
    hash_all(text, starts.astype(np.int64), lengths.astype(np.int32), hashes)
    return hashes


def find_tokens(dictionary: Dictionary, tokens: Tokens, entries: npt.NDArray[np.int32]) -> None:
    """The entry of every token, -1 for a word that no query names."""
    if len(dictionary.starts) == 1:
        entries.fill(-1)
    elif len(entries):
        look_up(dictionary, tokens.hashes, frozen(tokens.text), tokens.starts, tokens.lengths, entries)


_ALL_ASKED = frozen(np.empty(0, np.int32))


def known_tokens(
    dictionary: Dictionary, tokens: Tokens, found: npt.NDArray[np.int32] = _ALL_ASKED
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32], npt.NDArray[np.int32]]:
    """(offsets of rows, entries, tokens) of those that a dictionary has; tokens `found` elsewhere are skipped."""
    offsets = np.zeros(len(tokens.offsets), np.int64)
    if not len(tokens.hashes):
        return offsets, np.empty(0, np.int32), np.empty(0, np.int32)
    entries, known = look_up_few(
        dictionary, frozen(found), tokens.offsets, tokens.hashes, frozen(tokens.text), tokens.starts,
        tokens.lengths, offsets,
    )  # fmt: skip
    return offsets, entries, known


def entries_of_strings(dictionary: Dictionary, strings: Sequence[bytes]) -> npt.NDArray[np.int32]:
    """The entry of every string, -1 for one that is not there."""
    entries = np.empty(len(strings), np.int32)
    text, starts, lengths = packed(strings)
    look_up(dictionary, hashes_of(text, starts, lengths), frozen(text), starts, lengths, entries)
    return entries


def string_at(dictionary: Dictionary, entry: int) -> str:
    """The text of an entry."""
    first, last = dictionary.starts[entry], dictionary.starts[entry + 1]
    return bytes(dictionary.text[first:last]).decode("utf-8", "surrogatepass")


def prefix_length_masks(prefixes: Sequence[bytes]) -> npt.NDArray[np.uint64]:
    """For each first byte, the lengths that prefixes with it have."""
    masks = np.zeros(256, np.uint64)
    for prefix in prefixes:
        masks[prefix[0]] |= np.uint64(1) << np.uint64(min(len(prefix), LONG_PREFIX))
    return masks


def prefixes_of_tokens(
    dictionary: Dictionary, masks: npt.NDArray[np.uint64], first_entry: int, tokens: Tokens
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32], npt.NDArray[np.int32]]:
    """(offsets of rows, entries, positions) of the prefixes that tokens open with."""
    offsets = np.zeros(len(tokens.offsets), np.int64)
    if len(dictionary.starts) == 1 or len(tokens.starts) == 0:
        return offsets, np.empty(0, np.int32), np.empty(0, np.int32)
    entries, positions = look_up_prefixes(
        dictionary, masks, first_entry, tokens.offsets, frozen(tokens.text), tokens.starts, tokens.lengths,
        tokens.positions, offsets,
    )  # fmt: skip
    return offsets, entries, positions
