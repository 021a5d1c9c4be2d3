"""Compiled marking of what was removed from a segment."""

from __future__ import annotations

import numpy as np
from numba import njit, uintp


@njit(cache=True, nogil=True)
def mark_removed(keys, removed, bits):  # type: ignore[no-untyped-def]
    """Set a bit for every query whose key is one of `removed`; both are sorted. Few are looked for among many: by
    leaps that double from where the last one was, then by halves."""
    n = len(keys)
    low = 0
    for key in removed:
        leap = 1
        while low + leap <= n and keys[uintp(low + leap - 1)] < key:
            low += leap
            leap *= 2
        high = min(low + leap - 1, n)
        while low < high:
            middle = (low + high) // 2
            if keys[uintp(middle)] < key:
                low = middle + 1
            else:
                high = middle
        while low < n and keys[uintp(low)] == key:
            bits[uintp(low >> 3)] |= np.uint8(1) << np.uint8(low & 7)
            low += 1
