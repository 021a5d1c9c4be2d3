"""Pairs of items for annotation joins, on flat arrays."""

from __future__ import annotations

import numpy as np
from numba import njit

from feedweir.join.arena_kernels import EMPTY, find, first_from


@njit(cache=True)
def equal_pairs(rows, keys, variable, numbers, oldest, table, slices, arena):  # type: ignore[no-untyped-def]
    """(row, earlier document) for every earlier document that has one of the row's keys; may repeat."""
    found = np.empty((64, 2), np.int64)
    total = 0
    for place in range(len(rows)):
        slot = find(table, keys[place], variable)
        if slot == EMPTY:
            continue
        number = numbers[rows[place]]
        stop = slices.start[slot] + slices.size[slot]
        at = first_from(arena.document, slices.start[slot], stop, oldest)
        while at < stop and arena.document[at] < number:
            if total == len(found):
                grown = np.empty((2 * total, 2), np.int64)
                grown[:total] = found
                found = grown
            found[total, 0] = rows[place]
            found[total, 1] = arena.document[at]
            total += 1
            at += 1
    return found[:total]


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
