"""Compiled look-ups of byte strings: tokens in, dictionary entries out. A hash only suggests; bytes decide."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit, uint64

from feedweir.items.text_kernels import hash_bytes

EMPTY = np.int32(-1)
_U32 = np.uint64(32)
_U7 = np.uint64(7)
_U3 = np.uint64(3)
LONG_PREFIX = 63
"""Prefixes of this many bytes and more share one bit of the masks."""
EXACT_BYTES = 8
"""Of strings up to this length no two have the same hash (`hash_bytes`): equal hashes need no look at the bytes."""

_AT_ONCE = 64


class Dictionary(NamedTuple):
    """Entry i is `text[starts[i] : starts[i + 1]]`; a slot holds 2 i, or 2 i + 1 when its hash alone proves it."""

    filter: Any
    slots: Any
    hashes: Any
    starts: Any
    text: Any


@njit(cache=True)
def fill(hashes, starts, exact_bytes, filter_bits, slots):  # type: ignore[no-untyped-def]
    """Put entries 0, 1, … into empty slots."""
    mask = uint64(len(slots) - 1)
    filter_mask = uint64(len(filter_bits) * 8 - 1)
    for entry in range(len(hashes)):
        h = hashes[entry]
        bit = (h >> _U32) & filter_mask
        filter_bits[bit >> _U3] |= np.uint8(1) << np.uint8(bit & _U7)
        slot = h & mask
        while slots[slot] != EMPTY:
            slot = (slot + uint64(1)) & mask
        slots[slot] = 2 * entry + (1 if starts[entry + 1] - starts[entry] <= exact_bytes else 0)


@njit(inline="always")
def _entry_of(filter_bits, slots, hashes, entry_starts, entry_text, h, text, start, length):  # type: ignore[no-untyped-def]
    """The entry with these bytes, or -1."""
    bit = (h >> _U32) & uint64(len(filter_bits) * 8 - 1)
    if not (filter_bits[bit >> _U3] >> np.uint8(bit & _U7)) & 1:
        return np.int32(-1)
    mask = uint64(len(slots) - 1)
    slot = h & mask
    while True:
        found = slots[slot]
        if found == EMPTY:
            return np.int32(-1)
        entry = np.uint32(found >> 1)
        if hashes[entry] == h:
            if found & 1 and length <= EXACT_BYTES:
                return np.int32(entry)
            at = entry_starts[entry]
            if entry_starts[entry + np.uint32(1)] - at == length:
                k = 0
                while k < length and entry_text[at + k] == text[start + k]:
                    k += 1
                if k == length:
                    return np.int32(entry)
        slot = (slot + uint64(1)) & mask


@njit(cache=True, nogil=True)
def look_up(dictionary, hashes, text, starts, lengths, entries):  # type: ignore[no-untyped-def]
    """The entry of every byte string, -1 for those that are in no query.

    Some dozens at a time: their slots, then the hashes found there, so that the memory fetches many at once; most are
    decided by that, and only long strings and collisions are looked at more closely.
    """
    filter_bits, slots, known, entry_starts, entry_text = dictionary
    if len(known) == 0:
        entries[:] = -1
        return
    mask = uint64(len(slots) - 1)
    n = len(hashes)
    found = np.empty(_AT_ONCE, np.int32)
    marks = np.empty(_AT_ONCE, np.uint64)
    for base in range(0, n, _AT_ONCE):
        m = min(_AT_ONCE, n - base)
        for j in range(m):
            found[j] = slots[hashes[base + j] & mask]
        for j in range(m):
            marks[j] = known[max(found[j], 0) >> 1]
        for j in range(m):
            i = base + j
            is_certain = (marks[j] == hashes[i]) & (found[j] & 1 == 1) & (lengths[i] <= EXACT_BYTES)
            entries[i] = found[j] >> 1  # an empty slot is -1, and so is its half
            if found[j] != EMPTY and not is_certain:
                entries[i] = _entry_of(
                    filter_bits,
                    slots,
                    known,
                    entry_starts,
                    entry_text,
                    hashes[i],
                    text,
                    starts[i],
                    lengths[i],
                )


@njit(cache=True, nogil=True)
def look_up_prefixes(  # type: ignore[no-untyped-def]
    dictionary, length_masks, first_entry, offsets, text, starts, lengths, positions, row_offsets
):
    """The prefixes that tokens open with: (entries, positions), and where those of each row begin."""
    filter_bits, slots, known, entry_starts, entry_text = dictionary
    entries = np.empty(64, np.int32)
    places = np.empty(64, np.int32)
    n = 0
    for row in range(len(offsets) - 1):
        row_offsets[row] = n
        for i in range(offsets[row], offsets[row + 1]):
            length_mask = length_masks[text[starts[i]]]
            if length_mask == 0:
                continue
            for length in range(1, lengths[i] + 1):
                if not (length_mask >> uint64(min(length, LONG_PREFIX))) & uint64(1):
                    continue
                h = hash_bytes(text, starts[i], length)
                entry = _entry_of(
                    filter_bits, slots, known, entry_starts, entry_text, h, text, starts[i], length
                )
                if entry < 0:
                    continue
                if n == len(entries):
                    entries = np.concatenate((entries, entries))
                    places = np.concatenate((places, places))
                entries[n] = first_entry + entry
                places[n] = positions[i]
                n += 1
    row_offsets[len(offsets) - 1] = n
    return entries[:n], places[:n]
