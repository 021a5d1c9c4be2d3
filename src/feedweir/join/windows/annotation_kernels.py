"""Pairs of items for annotation joins, on flat arrays."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from feedweir.join.array_kernels import doubled, first_from
from feedweir.kernels import njit

TIME, COUNT, STORY_COUNT, STORY_TIME = range(4)
"""What a window's length is: microseconds, items of its stream, items that were let through before the batch, or
microseconds between two publications."""

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
    """The items of a batch: by row the primary streams it is in, its times and the clock; by window stream how many of
    its items came before the batch, and the rows of those that came with it."""

    ptr: NDArray[np.int64]
    stream: NDArray[np.int64]
    time: NDArray[np.int64]
    arrived: NDArray[np.int64]
    clock: NDArray[np.int64]
    before: NDArray[np.int64]
    members_ptr: NDArray[np.int64]
    members: NDArray[np.int64]


class Far(NamedTuple):
    """Items under windows: by place the window streams that it is in, ascending, and its ordinal in each."""

    ptr: NDArray[np.int64]
    stream: NDArray[np.int64]
    ordinal: NDArray[np.int64]
    time: NDArray[np.int64]
    arrived: NDArray[np.int64]


@njit(cache=True)
def _needed(kind, window, row, near, far, theirs, place, lateness, most):  # type: ignore[no-untyped-def]
    """The longest window that is still too short to join a pair."""
    ordinal, time = far.ordinal[theirs], far.time[place]
    if kind == STORY_COUNT:
        return near.before[window] - ordinal - 1
    start, stop = near.members_ptr[window], near.members_ptr[window + 1]
    come = near.before[window] + first_from(near.members, start, stop, row + 1) - start
    if come - ordinal > most:
        return NO_WINDOW
    if kind == COUNT:
        return come - ordinal - 1
    if kind == STORY_TIME:
        return max(abs(near.time[row] - time), near.clock[row] - lateness - far.arrived[place])
    return max(near.arrived[row] - time, near.clock[row] - lateness - time)


@njit(cache=True)
def _next_block(block, last, theirs, high, joins, far):  # type: ignore[no-untyped-def]
    """The next block, and stream of the other item, with the same window; `last` when there is none."""
    while block < last and theirs < high:
        if joins.window[block] < far.stream[theirs]:
            block = first_from(joins.window, block + 1, last, far.stream[theirs])
        elif joins.window[block] > far.stream[theirs]:
            theirs = first_from(far.stream, theirs + 1, high, joins.window[block])
        else:
            return block, theirs
    return last, theirs


@njit(cache=True)
def is_wanted(rows, places, joins, near, far, lateness, most):  # type: ignore[no-untyped-def]
    """For each pair (row of the batch, place of the other), whether the other is in the window of any join."""
    result = np.zeros(len(rows), np.bool_)
    for pair in range(len(rows)):
        row, place = rows[pair], places[pair]
        for at in range(near.ptr[row], near.ptr[row + 1]):
            k = first_from(joins.primary, 0, len(joins.primary), near.stream[at])
            if result[pair] or k == len(joins.primary) or joins.primary[k] != near.stream[at]:
                continue
            last, high = joins.block_ptr[k + 1], far.ptr[place + 1]
            block, theirs = _next_block(joins.block_ptr[k], last, far.ptr[place], high, joins, far)
            while block < last and not result[pair]:
                window = joins.window[block]
                needed = _needed(joins.kind[block], window, row, near, far, theirs, place, lateness, most)
                result[pair] = joins.length[joins.start[block]] > needed
                block, theirs = _next_block(block + 1, last, theirs, high, joins, far)
    return result


@njit(cache=True)
def wanted(rows, places, joins, near, far, lateness, most, dropped, room):  # type: ignore[no-untyped-def]
    """(join, pair, how far back) for every join of a pair in whose window the other is, and how many each join has.

    How far back an item is, is counted in items of its stream before the batch. No window reaches back more than `most`
    items. Dropped joins want nothing. Beyond the room, joins are counted only, up to eight times as many.

    ```
    pair ─▶ row    ─▶ its primary streams  (Near) ──▶ joins.primary ─▶ blocks, by window ─┐ merged: blocks whose
         └▶ place  ─▶ its window streams   (Far)  ──────────────────────────────────────┘ window the item is in
                                                        block ─▶ joins, the longest first, down to `_needed`
    ```
    """
    found = np.empty((256, 3), np.int64)
    counts = np.zeros(len(joins.length), np.int64)
    total = 0
    for pair in range(len(rows)):
        row, place = rows[pair], places[pair]
        if total > 8 * room:
            break
        for at in range(near.ptr[row], near.ptr[row + 1]):
            k = first_from(joins.primary, 0, len(joins.primary), near.stream[at])
            if k == len(joins.primary) or joins.primary[k] != near.stream[at]:
                continue
            last, high = joins.block_ptr[k + 1], far.ptr[place + 1]
            block, theirs = _next_block(joins.block_ptr[k], last, far.ptr[place], high, joins, far)
            while block < last:
                window = joins.window[block]
                needed = _needed(joins.kind[block], window, row, near, far, theirs, place, lateness, most)
                join = joins.start[block]
                while join < joins.start[block + 1] and joins.length[join] > needed:
                    if not dropped[join]:
                        counts[join] += 1
                        if total < room:
                            if total == len(found):
                                found = doubled(found)
                            found[total, 0] = join
                            found[total, 1] = pair
                            found[total, 2] = near.before[window] - far.ordinal[theirs]
                        total += 1
                    join += 1
                block, theirs = _next_block(block + 1, last, theirs, high, joins, far)
    return found[: min(total, room)], counts


@njit(cache=True)
def any_equal(a_rows, b_rows, a_ptr, a_keys, b_ptr, b_keys):  # type: ignore[no-untyped-def]
    """For each pair of rows, whether they have one of their (sorted) keys in common."""
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


@njit(cache=True)
def any_contained(rows, others, ptr, words, values_ptr, values):  # type: ignore[no-untyped-def]
    """For each pair of rows, whether the (sorted) words of the first include all words of one of the other's values.

    values  2 w w   1 w   3 w w w …     how many words a value has, and which, sorted
    """
    result = np.zeros(len(rows), np.bool_)
    for pair in range(len(rows)):
        at, stop = values_ptr[others[pair]], values_ptr[others[pair] + 1]
        while at < stop and not result[pair]:
            last = at + 1 + values[at]
            word, end = ptr[rows[pair]], ptr[rows[pair] + 1]
            at += 1
            while at < last and word < end:
                if words[word] == values[at]:
                    at += 1
                elif words[word] > values[at]:
                    break
                word += 1
            result[pair] = at == last
            at = last
    return result
