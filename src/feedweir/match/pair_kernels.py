"""Pairs of rows and queries: put in order, each once, merged."""

from __future__ import annotations

import numpy as np
from numba import njit, uint32, uintp

from feedweir.match.atom_kernels import is_set

_FEW, _MANY = 32, 400
"""Numbers up to which insertion sorts fastest; from which on wide digits pay."""
_DIGIT, _WIDE_DIGIT = 8, 11


@njit(cache=True, nogil=True)
def in_order(rows, queries, keys, removed):  # type: ignore[no-untyped-def]
    """Pairs that come row by row, as (rows, keys) sorted within each row and each once; it works in their place.

    `removed` is empty, or a bit for each query that is not to be reported.
    """
    n = _kept(rows, queries, removed) if len(removed) > 0 else len(rows)
    out_rows = np.empty(n, np.int32)
    out_keys = np.empty(n, np.int64)
    spare = np.empty(0, np.int32)
    counts = np.empty(1 << _WIDE_DIGIT, np.uint32)
    n_bits = 1
    while len(keys) >> n_bits:
        n_bits += 1
    n_out = 0
    first = 0
    while first < n:
        row = rows[first]
        last = first + 1
        while last < n and rows[uintp(last)] == row:
            last += 1
        if last - first > len(spare):
            spare = np.empty(2 * (last - first), np.int32)
        _sort(queries, first, last, spare, counts, n_bits)
        before = ~keys[queries[first]]  # another key than the first
        for i in range(first, last):
            key = keys[uint32(queries[uintp(i)])]
            out_rows[uintp(n_out)] = row
            out_keys[uintp(n_out)] = key
            n_out += key != before
            before = key
        first = last
    return out_rows[:n_out], out_keys[:n_out]


@njit(cache=True, nogil=True)
def keys_of_bits(bits, keys, first, limit):  # type: ignore[no-untyped-def]
    """Up to `limit` keys of queries that have a bit, each once, from query `first` on; where to go on."""
    n_queries = len(keys)
    out = np.empty(min(limit, n_queries), np.int64)
    n = 0
    query = first
    while query < n_queries and n < limit:
        if query & 7 == 0 and bits[query >> 3] == 0:
            query += 8
            continue
        if is_set(bits, query):
            out[n] = keys[query]
            n += 1
            while query + 1 < n_queries and keys[query + 1] == keys[query]:
                query += 1
        query += 1
    return out[:n], query


@njit(cache=True, nogil=True)
def _kept(rows, queries, removed):  # type: ignore[no-untyped-def]
    """Move the pairs whose query was not removed to the front; how many they are."""
    n = 0
    for i in range(len(rows)):
        query = queries[uintp(i)]
        rows[uintp(n)] = rows[uintp(i)]
        queries[uintp(n)] = query
        n += is_set(removed, query) == 0
    return n


@njit(cache=True, nogil=True)
def _sort(numbers, first, last, spare, counts, n_bits):  # type: ignore[no-untyped-def]
    """Sort `numbers[first:last]`, which have `n_bits` bits: few by insertion, many by digits, from the last one on."""
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
    mask = uint32((1 << width) - 1)
    for shift in range(0, n_bits, width):
        counts[: 1 << width] = 0
        for i in range(first, last):
            counts[(uint32(numbers[uintp(i)]) >> uint32(shift)) & mask] += uint32(1)
        total = uint32(0)
        for digit in range(1 << width):
            here = counts[uintp(digit)]
            counts[uintp(digit)] = total
            total += here
        for i in range(first, last):
            number = numbers[uintp(i)]
            digit = (uint32(number) >> uint32(shift)) & mask
            spare[counts[digit]] = number
            counts[digit] += uint32(1)
        for i in range(n):
            numbers[uintp(first + i)] = spare[uintp(i)]


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
