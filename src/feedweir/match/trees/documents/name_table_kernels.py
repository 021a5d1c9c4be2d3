"""Byte strings by number: a hash finds the entry, the bytes confirm it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from feedweir.kernels import njit

_BASIS = np.uint64(0xCBF29CE484222325)
_PRIME = np.uint64(0x100000001B3)


class NameTable(NamedTuple):
    slots: NDArray[np.int32]
    """A power of two of them, at most half of them taken; -1 is free."""
    hashes: NDArray[np.uint64]
    ptr: NDArray[np.int64]
    chars: NDArray[np.uint8]


@njit(inline="always")
def mixed(hashed, char):  # type: ignore[no-untyped-def]
    return (hashed ^ np.uint64(char)) * _PRIME


@njit(cache=True, _nrt=False)
def hash_of(chars, start, stop):  # type: ignore[no-untyped-def]
    hashed = _BASIS
    for place in range(start, stop):
        hashed = mixed(hashed, chars[place])
    return hashed


@njit(cache=True, _nrt=False)
def find(names, hashed, chars, start, stop):  # type: ignore[no-untyped-def]
    """The number of chars[start:stop], whose hash is given; -1 when it is not there."""
    slots, hashes, ptr, kept = names
    mask = slots.size - 1
    slot = np.int64((hashed ^ (hashed >> np.uint64(32))) & np.uint64(mask))
    while slots[slot] >= 0:
        entry = slots[slot]
        if hashes[entry] == hashed and ptr[entry + 1] - ptr[entry] == stop - start:
            same = True
            for place in range(stop - start):
                if kept[ptr[entry] + place] != chars[start + place]:
                    same = False
                    break
            if same:
                return entry
        slot = (slot + 1) & mask
    return np.int32(-1)


@njit(cache=True)
def table_of(ptr, chars, size):  # type: ignore[no-untyped-def]
    """(slots, hashes) of distinct byte strings."""
    slots = np.full(size, -1, np.int32)
    hashes = np.empty(len(ptr) - 1, np.uint64)
    for entry in range(len(ptr) - 1):
        hashes[entry] = hash_of(chars, ptr[entry], ptr[entry + 1])
        slot = np.int64((hashes[entry] ^ (hashes[entry] >> np.uint64(32))) & np.uint64(size - 1))
        while slots[slot] >= 0:
            slot = (slot + 1) & (size - 1)
        slots[slot] = entry
    return slots, hashes
