"""Pairs of items for annotation joins, on flat arrays."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from feedweir.kernels import njit

TIME, COUNT, STORY_COUNT = range(3)
"""What a window's length is: microseconds, items of its stream, or items that were let through before the batch."""

NO_WINDOW = 1 << 62
"""Longer than any window."""


class Joins(NamedTuple):
    """Joins of a group. Primary stream primary[k] has the blocks block_ptr[k] to block_ptr[k + 1], by window; a block
    is of one window and kind, with the joins start[b] to start[b + 1], the longest first."""

    primary: NDArray[np.int64]
    block_ptr: NDArray[np.int64]
    window: NDArray[np.int64]
    kind: NDArray[np.int64]
    start: NDArray[np.int64]
    length: NDArray[np.int64]


class Near(NamedTuple):
    """The items of a batch: by row the primary streams it is in, and its times; by window stream how many of its items
    came before the batch, and the rows of those that came with it."""

    ptr: NDArray[np.int64]
    stream: NDArray[np.int64]
    arrived: NDArray[np.int64]
    clock: NDArray[np.int64]
    before: NDArray[np.int64]
    members_ptr: NDArray[np.int64]
    members: NDArray[np.int64]


class Far(NamedTuple):
    """Items under windows: by place the window streams it is in (ascending) and the how many-th of them it is."""

    ptr: NDArray[np.int64]
    stream: NDArray[np.int64]
    ordinal: NDArray[np.int64]
    time: NDArray[np.int64]


@njit(inline="always")
def _first(values, start, stop, wanted):  # type: ignore[no-untyped-def]
    while start < stop:
        middle = (start + stop) // 2
        if values[middle] < wanted:
            start = middle + 1
        else:
            stop = middle
    return start


@njit(cache=True)
def _needed(kind, window, row, near, ordinal, time, lateness, most):  # type: ignore[no-untyped-def]
    """The longest window that is too short for a pair to be joined."""
    if kind == STORY_COUNT:
        return near.before[window] - ordinal - 1
    start, stop = near.members_ptr[window], near.members_ptr[window + 1]
    come = near.before[window] + _first(near.members, start, stop, row + 1) - start
    if come - ordinal > most:
        return NO_WINDOW
    if kind == COUNT:
        return come - ordinal - 1
    return max(near.arrived[row] - time, near.clock[row] - lateness - time)


@njit(cache=True)
def _next_block(block, last, theirs, high, joins, far):  # type: ignore[no-untyped-def]
    """The next block and stream of the other item that are of one window; `last` when there is none."""
    while block < last and theirs < high:
        if joins.window[block] < far.stream[theirs]:
            block = _first(joins.window, block + 1, last, far.stream[theirs])
        elif joins.window[block] > far.stream[theirs]:
            theirs = _first(far.stream, theirs + 1, high, joins.window[block])
        else:
            return block, theirs
    return last, theirs


@njit(cache=True)
def is_wanted(rows, places, joins, near, far, lateness, most):  # type: ignore[no-untyped-def]
    """Of each pair (row of the batch, place of the other) whether the other is in the window of any join."""
    result = np.zeros(len(rows), np.bool_)
    for pair in range(len(rows)):
        row, place = rows[pair], places[pair]
        for at in range(near.ptr[row], near.ptr[row + 1]):
            k = _first(joins.primary, 0, len(joins.primary), near.stream[at])
            if result[pair] or k == len(joins.primary) or joins.primary[k] != near.stream[at]:
                continue
            last, high = joins.block_ptr[k + 1], far.ptr[place + 1]
            block, theirs = _next_block(joins.block_ptr[k], last, far.ptr[place], high, joins, far)
            while block < last and not result[pair]:
                window, time = joins.window[block], far.time[place]
                needed = _needed(
                    joins.kind[block], window, row, near, far.ordinal[theirs], time, lateness, most
                )
                result[pair] = joins.length[joins.start[block]] > needed
                block, theirs = _next_block(block + 1, last, theirs, high, joins, far)
    return result


@njit(cache=True)
def wanted(rows, places, joins, near, far, lateness, most, struck, room):  # type: ignore[no-untyped-def]
    """(join, pair, how far back) for every join of a pair in whose window the other is, and how many each join has.

    An item is so many of its stream back as those before the batch are counted. No window reaches back more than
    `most` items. Struck joins want nothing. What does not fit into the room is counted, as far as that is of use.
    """
    found = np.empty((256, 3), np.int64)
    counts = np.zeros(len(joins.length), np.int64)
    total = 0
    for pair in range(len(rows)):
        row, place = rows[pair], places[pair]
        if total > 8 * room:
            break
        for at in range(near.ptr[row], near.ptr[row + 1]):
            k = _first(joins.primary, 0, len(joins.primary), near.stream[at])
            if k == len(joins.primary) or joins.primary[k] != near.stream[at]:
                continue
            last, high = joins.block_ptr[k + 1], far.ptr[place + 1]
            block, theirs = _next_block(joins.block_ptr[k], last, far.ptr[place], high, joins, far)
            while block < last:
                window, time = joins.window[block], far.time[place]
                needed = _needed(
                    joins.kind[block], window, row, near, far.ordinal[theirs], time, lateness, most
                )
                join = joins.start[block]
                while join < joins.start[block + 1] and joins.length[join] > needed:
                    if not struck[join]:
                        counts[join] += 1
                        if total < room:
                            if total == len(found):
                                grown = np.empty((2 * total, 3), np.int64)
                                grown[:total] = found
                                found = grown
                            found[total, 0] = join
                            found[total, 1] = pair
                            found[total, 2] = near.before[window] - far.ordinal[theirs]
                        total += 1
                    join += 1
                block, theirs = _next_block(block + 1, last, theirs, high, joins, far)
    return found[: min(total, room)], counts


@njit(cache=True)
def any_equal(a_rows, b_rows, a_ptr, a_keys, b_ptr, b_keys):  # type: ignore[no-untyped-def]
    """Of each pair of rows, whether their (sorted) keys meet."""
    result = np.zeros(len(a_rows), np.bool_)
    for pair in range(len(a_rows)):
        a, a_stop = a_ptr[a_rows[pair]], a_ptr[a_rows[pair] + 1]
        b, b_stop = b_ptr[b_rows[pair]], b_ptr[b_rows[pair] + 1]
        while a < a_stop and b < b_stop:
            if a_keys[a] == b_keys[b]:
                result[pair] = True
                break
            if a_keys[a] < b_keys[b]:
                a += 1
            else:
                b += 1
    return result
