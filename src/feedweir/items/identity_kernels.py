"""A hash of texts, 64 bits: the same for the same bytes on every machine."""

from __future__ import annotations

import numpy as np

from feedweir.kernels import njit

_SEED, _STEP, _LAST = (
    np.uint64(number) for number in (0x9E3779B97F4A7C15, 0xD6E8FEB86659FD93, 0xC2B2AE3D27D4EB4F)
)
_BITS, _ONE, _EIGHT = np.uint64(32), np.uint64(1), np.uint64(8)


@njit(cache=True, _nrt=False)
def hash_texts(source, hashes):  # type: ignore[no-untyped-def]
    """The hash of each text, every one followed by a zero; how many texts there are."""
    count = first = 0
    for last in range(source.size):
        if source[last] == 0:
            if count < hashes.size:
                hashes[count] = np.int64(hash_bytes(source, first, last))
            count += 1
            first = last + 1
    return count


@njit(cache=True, _nrt=False)
def hash_bytes(source, first, last):  # type: ignore[no-untyped-def]
    """Eight bytes at a time, each time spread over all bits."""
    i, end = np.uint64(first), np.uint64(last)
    code = (_SEED ^ (end - i)) * _STEP
    while i + _EIGHT <= end:
        word = np.uint64(0)
        for k in range(8):
            word |= np.uint64(source[i + np.uint64(k)]) << np.uint64(8 * k)
        i += _EIGHT
        code = (code ^ word) * _STEP
        code ^= code >> _BITS
    word = np.uint64(0)
    while i < end:
        word = word << _EIGHT | np.uint64(source[i])
        i += _ONE
    code = (code ^ word) * _STEP
    code = (code ^ code >> _BITS) * _LAST
    return code ^ code >> _BITS
