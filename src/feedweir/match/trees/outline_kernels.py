"""Outlines: patterns of the same steps, compared at the same places, are one, whatever they compare with.

What the structure of a document decides of a pattern, it decides of all patterns of its outline.
"""

from __future__ import annotations

import numpy as np

from feedweir.kernels import njit
from feedweir.match.trees.steps import AXIS, FIRST, LAST, WANTED

_EMPTY = -1


@njit(cache=True)
def outlines_of(rows, branch, compared):  # type: ignore[no-untyped-def]
    """Of each limb the number of its outline."""
    size = 16
    while size < 2 * len(rows):
        size *= 2
    slots = np.full(size, _EMPTY, np.int32)
    outline = np.empty(len(rows), np.int32)
    first = np.empty(len(rows), np.int32)
    below = np.empty_like(branch)
    known = 0
    for limb in range(len(rows)):
        _sorted_below(limb, rows, branch, outline, below)
        slot = _slot(limb, rows, compared, below, size)
        while slots[slot] != _EMPTY and not _is_same(limb, first[slots[slot]], rows, compared, below):
            slot = (slot + 1) & (size - 1)
        if slots[slot] == _EMPTY:
            slots[slot] = known
            first[known] = limb
            known += 1
        outline[limb] = slots[slot]
    return outline


@njit(cache=True)
def _sorted_below(limb, rows, branch, outline, below):  # type: ignore[no-untyped-def]
    """The outlines of a limb's branches, ascending, in the places of the branches."""
    low = rows[limb, FIRST]
    for place in range(low, rows[limb, LAST]):
        held = outline[branch[place]]
        at = place
        while at > low and below[at - 1] > held:
            below[at] = below[at - 1]
            at -= 1
        below[at] = held


@njit(cache=True)
def _slot(limb, rows, compared, below, size):  # type: ignore[no-untyped-def]
    prime = np.uint64(0x9E3779B97F4A7C15)
    step = 4 * (np.int64(rows[limb, WANTED]) + 8) + 2 * np.int64(rows[limb, AXIS]) + (compared[limb] > 0)
    mixed = np.uint64(step) * prime
    for place in range(rows[limb, FIRST], rows[limb, LAST]):
        mixed = ((mixed ^ (mixed >> np.uint64(29))) + np.uint64(below[place]) + np.uint64(1)) * prime
    return np.int64((mixed >> np.uint64(32)) & np.uint64(size - 1))


@njit(cache=True)
def _is_same(limb, other, rows, compared, below):  # type: ignore[no-untyped-def]
    if rows[limb, WANTED] != rows[other, WANTED] or rows[limb, AXIS] != rows[other, AXIS]:
        return False
    if (compared[limb] > 0) != (compared[other] > 0):
        return False
    count = rows[limb, LAST] - rows[limb, FIRST]
    if count != rows[other, LAST] - rows[other, FIRST]:
        return False
    for place in range(count):
        if below[rows[limb, FIRST] + place] != below[rows[other, FIRST] + place]:
            return False
    return True
