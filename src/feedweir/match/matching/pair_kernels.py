"""Pairs of rows and queries: sorted, each once, merged."""

from __future__ import annotations

import numpy as np
from numba import uint32, uintp

from feedweir.kernels import njit
from feedweir.match.matching.satisfied_kernels import is_set

_FEW, _MANY = 32, 400
"""Up to how many numbers insertion sorts fastest; from how many on wide digits pay."""
_DIGIT, _WIDE_DIGIT = 8, 11
REMOVED = np.int64(-(2**63))
"""In place of the key of a query that was removed: where keys are read anyway, that costs nothing."""


@njit(cache=True, nogil=True)
def in_order(rows, queries, keys, n_first, other_rows, other_keys):  # type: ignore[no-untyped-def]
    """Pairs that come row by row, as (rows, keys) sorted within each row and each once; `queries` is sorted in place.

    The keys of the first `n_first` queries are in order, and so are those of the others, which are few. Queries whose
    key is `REMOVED` are left out. The other pairs, which are few and sorted, are inserted on the way, so that a list of
    millions is not copied once more.
    """
    n, n_others = len(rows), len(other_rows)
    out_rows = np.empty(n + n_others, np.int32)
    out_keys = np.empty(n + n_others, np.int64)
    spare = np.empty(0, np.int32)
    counts = np.empty(1 << _WIDE_DIGIT, np.uint32)
    n_bits = 1
    while len(keys) >> n_bits:
        n_bits += 1
    n_out = 0
    n_taken = 0
    first = 0
    while first < n:
        row = rows[first]
        last = first + 1
        while last < n and rows[uintp(last)] == row:
            last += 1
        if last - first > len(spare):
            spare = np.empty(2 * (last - first), np.int32)
        _sort(queries, first, last, spare, counts, n_bits)
        # others of earlier rows, then this row, then the others of this row among its keys
        n_before = _up_to(other_rows, n_taken, row)
        n_out = _put(other_rows, other_keys, n_taken, n_before, out_rows, out_keys, n_out)
        n_taken = _up_to(other_rows, n_before, row + 1)
        start = n_out
        middle = last
        while middle > first and queries[uintp(middle - 1)] >= n_first:
            middle -= 1
        n_out = _put_queries(row, queries, first, middle, keys, out_rows, out_keys, n_out)
        if middle < last:
            n_middle = n_out
            n_out = _put_queries(row, queries, middle, last, keys, out_rows, out_keys, n_out)
            if start < n_middle < n_out and out_keys[n_middle] <= out_keys[n_middle - 1]:
                few = out_keys[n_middle:n_out].copy()
                n_out = _put_among(row, few, 0, len(few), out_rows, out_keys, start, n_middle)
        if n_taken > n_before:
            n_out = _put_among(row, other_keys, n_before, n_taken, out_rows, out_keys, start, n_out)
        first = last
    n_out = _put(other_rows, other_keys, n_taken, n_others, out_rows, out_keys, n_out)
    return out_rows[:n_out], out_keys[:n_out]


# Loops over all pairs are functions of their own: inside a longer one they were measured to be slower.


@njit(inline="always")
def _up_to(rows, first, row):  # type: ignore[no-untyped-def]
    """The first place from `first` on that is not before a row."""
    while first < len(rows) and rows[uintp(first)] < row:
        first += 1
    return first


@njit(cache=True, nogil=True)
def _put(rows, keys, first, last, out_rows, out_keys, n_out):  # type: ignore[no-untyped-def]
    """Copy pairs as they are; the new number of pairs."""
    for k in range(first, last):
        out_rows[uintp(n_out)] = rows[uintp(k)]
        out_keys[uintp(n_out)] = keys[uintp(k)]
        n_out += 1
    return n_out


@njit(cache=True, nogil=True)
def _put_queries(row, queries, first, last, keys, out_rows, out_keys, n_out):  # type: ignore[no-untyped-def]
    """Append the keys of a row's sorted queries, each once and without removed ones; the new number of pairs."""
    if first == last:
        return n_out
    before = ~keys[uint32(queries[uintp(first)])]  # another key than the first
    for i in range(first, last):
        key = keys[uint32(queries[uintp(i)])]
        out_rows[uintp(n_out)] = row
        out_keys[uintp(n_out)] = key
        n_out += (key != before) & (key != REMOVED)
        before = key
    return n_out


@njit(cache=True, nogil=True)
def _put_among(row, others, first, last, out_rows, out_keys, start, end):  # type: ignore[no-untyped-def]
    """Insert `others[first:last]` among the keys of a row, which lie from `start` to `end`, from the back, as both are
    sorted; the new number of pairs."""
    at = new_end = end + last - first
    for k in range(end, new_end):
        out_rows[uintp(k)] = row
    for k in range(last - 1, first - 1, -1):
        key = others[uintp(k)]
        while end > start and out_keys[uintp(end - 1)] > key:
            at -= 1
            end -= 1
            out_keys[uintp(at)] = out_keys[uintp(end)]
        if end == start or out_keys[uintp(end - 1)] != key:
            at -= 1
            out_keys[uintp(at)] = key
    n_twice = at - end
    if n_twice > 0:
        for k in range(at, new_end):
            out_keys[uintp(k - n_twice)] = out_keys[uintp(k)]
    return new_end - n_twice


@njit(cache=True, nogil=True)
def keys_of_bits(bits, keys, first, n_queries, limit):  # type: ignore[no-untyped-def]
    """Up to `limit` keys of queries that have a bit, each once, from query `first` on; where to continue."""
    out = np.empty(min(limit, n_queries), np.int64)
    n = 0
    query = first
    while query < n_queries and n < limit:
        if query & 7 == 0 and bits[query >> 3] == 0:
            query += 8
            continue
        if is_set(bits, query) and keys[query] != REMOVED:
            out[n] = keys[query]
            n += 1
            while query + 1 < n_queries and keys[query + 1] == keys[query]:
                query += 1
        query += 1
    return out[:n], query


@njit(cache=True, nogil=True)
def _sort(numbers, first, last, spare, counts, n_bits):  # type: ignore[no-untyped-def]
    """Sort `numbers[first:last]`, which have `n_bits` bits: few by insertion, many by radix."""
    n = last - first
    if n <= _FEW:
        for i in range(first + 1, last):
            number = numbers[uintp(i)]
            j = i
            while j > first and numbers[uintp(j - 1)] > number:
                numbers[uintp(j)] = numbers[uintp(j - 1)]
                j -= 1
            numbers[uintp(j)] = number
        return
    width = _WIDE_DIGIT if n > _MANY else _DIGIT
    for shift in range(0, n_bits, 2 * width):
        _by_digit(numbers, first, n, spare, 0, counts, shift, width)
        if shift + width < n_bits:
            _by_digit(spare, 0, n, numbers, first, counts, shift + width, width)
        else:
            for i in range(n):
                numbers[uintp(first + i)] = spare[uintp(i)]


@njit(cache=True, nogil=True)
def _by_digit(numbers, first, n, target, at, counts, shift, width):  # type: ignore[no-untyped-def]
    """One stable radix pass over `n` numbers from `first` on, to `target` from `at` on."""
    mask = uint32((1 << width) - 1)
    counts[: 1 << width] = 0
    for i in range(first, first + n):
        counts[(uint32(numbers[uintp(i)]) >> uint32(shift)) & mask] += uint32(1)
    total = uint32(at)
    for digit in range(1 << width):
        here = counts[uintp(digit)]
        counts[uintp(digit)] = total
        total += here
    for i in range(first, first + n):
        number = numbers[uintp(i)]
        digit = (uint32(number) >> uint32(shift)) & mask
        target[counts[digit]] = number
        counts[digit] += uint32(1)


@njit(cache=True, nogil=True)
def merge_pairs(rows, keys, other_rows, other_keys):  # type: ignore[no-untyped-def]
    """Two sorted lists of pairs as one, each pair once; the second is long and is copied in stretches."""
    n_other = len(other_rows)
    out_rows = np.empty(len(rows) + n_other, np.int32)
    out_keys = np.empty(len(rows) + n_other, np.int64)
    n = 0
    done = 0
    for i in range(len(rows)):
        row, key = rows[i], keys[i]
        # where the pair belongs: by leaps that double, then by halves
        low, leap = done, 1
        while low + leap <= n_other and _is_before(other_rows, other_keys, low + leap - 1, row, key):
            low += leap
            leap *= 2
        high = min(low + leap - 1, n_other)
        while low < high:
            middle = (low + high) // 2
            if _is_before(other_rows, other_keys, middle, row, key):
                low = middle + 1
            else:
                high = middle
        for k in range(done, low):
            out_rows[uintp(n + k - done)] = other_rows[uintp(k)]
            out_keys[uintp(n + k - done)] = other_keys[uintp(k)]
        n += low - done
        done = low
        is_there = low < n_other and other_rows[low] == row and other_keys[low] == key
        if not is_there and (n == 0 or out_rows[n - 1] != row or out_keys[n - 1] != key):
            out_rows[n] = row
            out_keys[n] = key
            n += 1
    for k in range(done, n_other):
        out_rows[uintp(n + k - done)] = other_rows[uintp(k)]
        out_keys[uintp(n + k - done)] = other_keys[uintp(k)]
    n += n_other - done
    return out_rows[:n], out_keys[:n]


@njit(inline="always")
def _is_before(rows, keys, place, row, key):  # type: ignore[no-untyped-def]
    return rows[place] < row or (rows[place] == row and keys[place] < key)
