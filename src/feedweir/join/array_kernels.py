"""What kernels of several modules do with arrays: search a sorted one, and make room in one that is full."""

from __future__ import annotations

import numpy as np

from feedweir.kernels import njit

SLACK = 1e-9
"""Bounds of floating-point values are made this much looser, so that rounding never drops a pair: whatever is within
them is then decided exactly."""


@njit(inline="always")
def first_from(values, start, stop, wanted):  # type: ignore[no-untyped-def]
    """The first place in start..stop of a sorted array with this value or a greater one; `stop` if there is none."""
    while start < stop:
        middle = (start + stop) // 2
        if values[middle] < wanted:
            start = middle + 1
        else:
            stop = middle
    return start


@njit(cache=True)
def doubled(rows):  # type: ignore[no-untyped-def]
    """The same rows in an array with room for as many again."""
    larger = np.empty((2 * len(rows), rows.shape[1]), rows.dtype)
    larger[: len(rows)] = rows
    return larger
