"""Pattern shapes: patterns with the same steps that compare at the same places share one, whatever their constants.

What the structure of a document decides about a pattern, it decides about all patterns of that shape.
"""

from __future__ import annotations

import numpy as np

from feedweir.kernels import njit
from feedweir.match.trees.tree_codes import AXIS, FIRST, LAST, WANTED

_EMPTY = -1


@njit(cache=True)
def shapes_of(rows, branch, compared):  # type: ignore[no-untyped-def]
    """Of each step the number of its shape."""
    size = 16
    while size < 2 * len(rows):
        size *= 2
    slots = np.full(size, _EMPTY, np.int32)
    shape = np.empty(len(rows), np.int32)
    first = np.empty(len(rows), np.int32)
    below = np.empty_like(branch)
    known = 0
    for step in range(len(rows)):
        _sorted_below(step, rows, branch, shape, below)
        slot = _slot(step, rows, compared, below, size)
        while slots[slot] != _EMPTY and not _is_same(step, first[slots[slot]], rows, compared, below):
            slot = (slot + 1) & (size - 1)
        if slots[slot] == _EMPTY:
            slots[slot] = known
            first[known] = step
            known += 1
        shape[step] = slots[slot]
    return shape


@njit(cache=True)
def _sorted_below(step, rows, branch, shape, below):  # type: ignore[no-untyped-def]
    """The shapes of a step's branches, ascending, in the places of the branches."""
    low = rows[step, FIRST]
    for place in range(low, rows[step, LAST]):
        held = shape[branch[place]]
        at = place
        while at > low and below[at - 1] > held:
            below[at] = below[at - 1]
            at -= 1
        below[at] = held


@njit(cache=True)
def _slot(step, rows, compared, below, size):  # type: ignore[no-untyped-def]
    prime = np.uint64(0x9E3779B97F4A7C15)
    kind = 4 * (np.int64(rows[step, WANTED]) + 8) + 2 * np.int64(rows[step, AXIS]) + (compared[step] > 0)
    mixed = np.uint64(kind) * prime
    for place in range(rows[step, FIRST], rows[step, LAST]):
        mixed = ((mixed ^ (mixed >> np.uint64(29))) + np.uint64(below[place]) + np.uint64(1)) * prime
    return np.int64((mixed >> np.uint64(32)) & np.uint64(size - 1))


@njit(cache=True)
def _is_same(step, other, rows, compared, below):  # type: ignore[no-untyped-def]
    if rows[step, WANTED] != rows[other, WANTED] or rows[step, AXIS] != rows[other, AXIS]:
        return False
    if (compared[step] > 0) != (compared[other] > 0):
        return False
    count = rows[step, LAST] - rows[step, FIRST]
    if count != rows[other, LAST] - rows[other, FIRST]:
        return False
    for place in range(count):
        if below[rows[step, FIRST] + place] != below[rows[other, FIRST] + place]:
            return False
    return True
