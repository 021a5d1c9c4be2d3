"""Look-ups of byte strings: tokens in, dictionary entries out. A hash only suggests; bytes decide."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import uint64, uintp

from feedweir.kernels import njit
from feedweir.text.memory_kernels import ask_for, eight_bytes
from feedweir.text.text_kernels import EXACT_BYTES, hash_bytes

LONG_PREFIX = 63
"""Prefixes of this many bytes and more share one bit of the masks."""
EMPTY = np.uint64(2**64 - 1)

_AT_ONCE = 64
_ONE, _TWO, _THREE, _SEVEN = np.uint64(1), np.uint64(2), np.uint64(3), np.uint64(7)


class Dictionary(NamedTuple):
    """Entry i is `text[starts[i] : starts[i + 1]]`; of up to `EXACT_BYTES` bytes it is known by its hash alone.

    A slot is two numbers in one line of the cache: the hash, and 2 i, or 2 i + 1 when the hash alone proves it.
    """

    slots: Any
    starts: Any
    text: Any
    filter: Any
    """A bit for the highest bits of every hash; the number of bits is a power of two. Of few strings it rules out
    nearly every token, and it lies in the nearest cache; many strings have no filter."""


@njit(cache=True)
def fill(hashes, starts, exact_bytes, slots):  # type: ignore[no-untyped-def]
    """Put entries 0, 1, … into empty slots."""
    mask = uint64(len(slots) - 1)
    for entry in range(len(hashes)):
        slot = (hashes[entry] << _ONE) & mask
        while slots[slot + _ONE] != EMPTY:
            slot = (slot + _TWO) & mask
        slots[slot] = hashes[entry]
        is_exact = starts[entry + 1] - starts[entry] <= exact_bytes
        slots[slot + _ONE] = uint64(2 * entry + (1 if is_exact else 0))


@njit(inline="always")
def _is_same(text, start, other, other_start, length):  # type: ignore[no-untyped-def]
    """Whether two stretches have the same bytes: eight at a time, the last eight perhaps once more."""
    if length < 8:
        k = 0
        while k < length and text[start + k] == other[other_start + k]:
            k += 1
        return k == length
    k = 0
    last = length - 8
    while k < last and eight_bytes(text, start + k) == eight_bytes(other, other_start + k):
        k += 8
    return k >= last and eight_bytes(text, start + last) == eight_bytes(other, other_start + last)


@njit(forceinline=True)
def entry_at(slots, entry_starts, entry_text, h, text, start, length):  # type: ignore[no-untyped-def]
    """The entry with these bytes, or -1."""
    mask = uint64(len(slots) - 1)
    slot = (h << _ONE) & mask
    while True:
        what = slots[slot + _ONE]
        if what == EMPTY:
            return np.int32(-1)
        if slots[slot] == h:
            entry = what >> _ONE
            if what & _ONE and length <= EXACT_BYTES:
                return np.int32(entry)
            at = np.int64(entry_starts[entry])
            if entry_starts[entry + _ONE] - at == length and _is_same(
                text, np.int64(start), entry_text, at, np.int64(length)
            ):
                return np.int32(entry)
        slot = (slot + _TWO) & mask


@njit(cache=True, nogil=True)
def look_up(dictionary, hashes, text, starts, lengths, entries):  # type: ignore[no-untyped-def]
    """The entry of every byte string, -1 for those that are in no query.

    The slots of some dozens are prefetched before the first is read, so that their cache misses overlap.
    """
    slots, entry_starts, entry_text, _ = dictionary
    mask = uint64(len(slots) - 1)
    n = len(hashes)
    for base in range(0, n, _AT_ONCE):
        last = min(base + _AT_ONCE, n)
        for i in range(base, last):
            ask_for(slots, (hashes[uintp(i)] << _ONE) & mask)
        for i in range(base, last):
            j = uintp(i)
            entries[j] = entry_at(slots, entry_starts, entry_text, hashes[j], text, starts[j], lengths[j])


@njit(cache=True)
def fill_filter(hashes, filter_bits):  # type: ignore[no-untyped-def]
    """Set the bit of every hash."""
    shift = _shift_of(filter_bits)
    for h in hashes:
        place = h >> shift
        filter_bits[place >> _THREE] |= np.uint8(1) << np.uint8(place & _SEVEN)


@njit(inline="always")
def _shift_of(filter_bits):  # type: ignore[no-untyped-def]
    """How far hashes are shifted to become places in a filter."""
    shift = uint64(64)
    size = uint64(len(filter_bits)) << _THREE
    while size > _ONE:
        size >>= _ONE
        shift -= _ONE
    return shift


@njit(inline="always")
def _passes(filter_bits, shift, h):  # type: ignore[no-untyped-def]
    place = h >> shift
    return (filter_bits[place >> _THREE] >> np.uint8(place & _SEVEN)) & np.uint8(1)


@njit(forceinline=True)
def _longest_of(offsets):  # type: ignore[no-untyped-def]
    longest = 0
    for row in range(len(offsets) - 1):
        longest = max(longest, offsets[row + 1] - offsets[row])
    return longest


@njit(cache=True, nogil=True)
def look_up_few(  # type: ignore[no-untyped-def]
    dictionary, found, offsets, hashes, text, starts, lengths, known_offsets
):
    """Of the tokens of every row those that have an entry: (entries, tokens); `known_offsets` are those of rows.

    Tokens that were `found` elsewhere are skipped; an empty `found` skips none.
    """
    slots, entry_starts, entry_text, filter_bits = dictionary
    mask = uint64(len(slots) - 1)
    shift = _shift_of(filter_bits)
    has_filter, asks_all = len(filter_bits) > 0, len(found) == 0
    passed = np.empty(_longest_of(offsets) + 1, np.int32)
    tokens = np.empty(256, np.int32)
    entries = np.empty(256, np.int32)
    n = 0
    known_offsets[0] = 0
    for row in range(len(offsets) - 1):
        # without branches: whether a word passes is hard to foresee
        n_passed = 0
        for i in range(offsets[row], offsets[row + 1]):
            passed[uintp(n_passed)] = i
            n_passed += asks_all or found[uintp(i)] < 0
        if has_filter:
            n_asked, n_passed = n_passed, 0
            for k in range(n_asked):
                i = passed[uintp(k)]
                passed[uintp(n_passed)] = i
                n_passed += _passes(filter_bits, shift, hashes[uintp(i)]) != 0
        if n + n_passed >= len(entries):
            more = np.empty(len(entries) + n_passed, np.int32)
            entries, tokens = np.concatenate((entries, more)), np.concatenate((tokens, more))
        for k in range(n_passed):
            ask_for(slots, (hashes[uintp(passed[uintp(k)])] << _ONE) & mask)
        for k in range(n_passed):
            j = uintp(passed[uintp(k)])
            entry = entry_at(slots, entry_starts, entry_text, hashes[j], text, starts[j], lengths[j])
            entries[uintp(n)] = entry
            tokens[uintp(n)] = passed[uintp(k)]
            n += entry >= 0
        known_offsets[row + 1] = n
    return entries[:n], tokens[:n]


ABSENT, ASK = -1, -2
"""Translations of an entry that the other dictionary lacks, and of words that have to be looked up in it."""


@njit(cache=True, nogil=True)
def translate(dictionary, translation, found, hashes, text, starts, lengths, entries):  # type: ignore[no-untyped-def]
    """As `look_up`, for byte strings that were found (or not) in another dictionary."""
    slots, entry_starts, entry_text, filter_bits = dictionary
    shift = _shift_of(filter_bits)
    has_filter = len(filter_bits) > 0
    for i in range(len(found)):
        j = uintp(i)
        entry = translation[uintp(found[j] + 1)]
        if entry == ASK:
            entry = np.int32(ABSENT)
            if not has_filter or _passes(filter_bits, shift, hashes[j]):
                entry = entry_at(slots, entry_starts, entry_text, hashes[j], text, starts[j], lengths[j])
        entries[j] = entry


@njit(cache=True, nogil=True)
def look_up_prefixes(  # type: ignore[no-untyped-def]
    dictionary, length_masks, first_entry, offsets, text, starts, lengths, positions, row_offsets
):
    """The prefixes that tokens open with: (entries, positions), and where those of each row begin.

    length_masks  [b's'] = 0b0…01100     for each first byte a bit for each length that prefixes with it have
           token  s t o r m              tried are `st` and `sto`
     row_offsets  0 2 3 …                row r has the entries from row_offsets[r] to row_offsets[r + 1]
    """
    slots, entry_starts, entry_text, _ = dictionary
    entries = np.empty(64, np.int32)
    places = np.empty(64, np.int32)
    n = 0
    for row in range(len(offsets) - 1):
        row_offsets[row] = n
        for i in range(offsets[row], offsets[row + 1]):
            # which lengths are worth a look
            length_mask = length_masks[text[starts[i]]]
            if length_mask == 0:
                continue
            for length in range(1, lengths[i] + 1):
                if not (length_mask >> uint64(min(length, LONG_PREFIX))) & uint64(1):
                    continue
                # whether there is a prefix of that length
                h = hash_bytes(text, starts[i], length)
                entry = entry_at(slots, entry_starts, entry_text, h, text, starts[i], length)
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


@njit(cache=True)
def gathered(text, starts, offsets):  # type: ignore[no-untyped-def]
    """The stretches that begin at `starts`, as long as `offsets` leave room for, one after the other."""
    found = np.empty(offsets[-1], np.uint8)
    for i in range(len(starts)):
        for k in range(offsets[i + 1] - offsets[i]):
            found[offsets[i] + k] = text[starts[i] + k]
    return found
