"""Binary search among sorted byte strings."""

from __future__ import annotations

import numpy as np

from feedweir.kernels import njit


@njit(cache=True, nogil=True)
def _compared(one, first, last, other, other_first, other_last):  # type: ignore[no-untyped-def]
    """Negative, 0 or positive as one string sorts before, equals, or sorts after another."""
    for i in range(min(last - first, other_last - other_first)):
        here, there = one[first + i], other[other_first + i]
        if here != there:
            return -1 if here < there else 1
    return (last - first) - (other_last - other_first)


@njit(cache=True, nogil=True)
def places_among(text, starts, values, ends):  # type: ignore[no-untyped-def]
    """Of each value 2n + 1 when it is string n, else 2n when n strings come before it."""
    places = np.empty(len(ends) - 1, np.int64)
    for value in range(len(places)):
        low, high, is_found = 0, len(starts) - 1, 0
        while low < high:
            middle = (low + high) >> 1
            order = _compared(text, starts[middle], starts[middle + 1], values, ends[value], ends[value + 1])
            if order < 0:
                low = middle + 1
            else:
                high = middle
                if order == 0:
                    is_found = 1
        places[value] = 2 * low + is_found
    return places
