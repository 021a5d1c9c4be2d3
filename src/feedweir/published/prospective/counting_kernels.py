"""Compiled matching by counting: the published methods, on documents as sorted sets of term numbers.

Accumulators live in a hash table that is addressed by query number, as query numbers are assigned at random. As in our
own kernel, places in the arrays that are read most are unsigned, so that no negative index need be considered. Without
`has_tests` only the matching phase is run, to be timed by itself: accumulators are filled and nobody looks at them. The
testing phase goes through the accumulators that were created, not through the whole table.

```
 terms[offsets[row] : offsets[row + 1]]        the terms of a document, ascending
 postings[starts[t] : starts[t + 1]]           the queries that have term t; `firsts` those whose rarest term it is,
                                               `rests` all others
 table   -1 │ 17 │ -1 │ -1 │ 4 │ …             the query of each accumulator, -1 where there is none
 counts     │  2 │    │    │ 1 │ …             how many of its terms were seen; `masks` which ones, a bit each
 created  1, 4                                 the slots in use
 bits    0 1 0 0 1 1 …                         a bitmap by query number: 0 where no accumulator can be open
```
"""

from __future__ import annotations

import numpy as np
from numba import uint32, uintp

from feedweir.kernels import njit

STAT_POSTINGS, STAT_FIRST_POSTINGS, STAT_ACCUMULATORS, STAT_TESTS = range(4)
_BITS_PER_ENTRY = 16


@njit(inline="always")
def _power_above(n):  # type: ignore[no-untyped-def]
    size = 64
    while size < n:
        size *= 2
    return size


@njit(inline="always")
def _slot_of(table, mask, query):  # type: ignore[no-untyped-def]
    """Where a query is, or the empty slot where it would be."""
    slot = uint32(query) & mask
    while table[slot] != -1 and table[slot] != query:
        slot = (slot + uint32(1)) & mask
    return slot


@njit(cache=True)
def _grown(array, n):  # type: ignore[no-untyped-def]
    larger = np.empty(2 * max(len(array), n), array.dtype)
    larger[: len(array)] = array
    return larger


@njit(cache=True, nogil=True)
def match_primitive(offsets, terms, starts, postings, sizes, has_tests):  # type: ignore[no-untyped-def]
    """Count the terms of every query that shares one with the document; it matches when all are counted."""
    rows = np.empty(1024, np.int32)
    queries = np.empty(1024, np.int32)
    n = 0
    stats = np.zeros(4, np.int64)
    table = np.empty(64, np.int32)
    counts = np.empty(64, np.int32)
    created = np.empty(64, np.uint32)
    for row in range(len(offsets) - 1):
        # 1. a table with room for all postings
        total = 0
        for i in range(offsets[row], offsets[row + 1]):
            total += starts[terms[i] + 1] - starts[terms[i]]
        size = _power_above(2 * min(total, len(sizes)))
        if size > len(table):
            table = np.empty(size, np.int32)
            counts = np.empty(size, np.int32)
            created = np.empty(size, np.uint32)
        table[:size] = -1
        mask = uint32(size - 1)
        # 2. matching: count each query's terms
        n_created = 0
        for i in range(offsets[row], offsets[row + 1]):
            for p in range(starts[terms[i]], starts[terms[i] + 1]):
                slot = _slot_of(table, mask, postings[uintp(p)])
                if table[slot] == -1:
                    table[slot] = postings[uintp(p)]
                    counts[slot] = 1
                    created[uintp(n_created)] = slot
                    n_created += 1
                else:
                    counts[slot] += 1
        stats[STAT_POSTINGS] += total
        stats[STAT_ACCUMULATORS] += n_created
        # 3. testing: which queries have all of theirs
        for k in range(n_created if has_tests else 0):
            slot = created[uintp(k)]
            query = table[slot]
            if counts[slot] == sizes[uint32(query)]:
                if n == len(rows):
                    rows, queries = _grown(rows, n), _grown(queries, n)
                rows[n] = row
                queries[n] = query
                n += 1
    return rows[:n], queries[:n], stats


@njit(cache=True, nogil=True)
def match_ordered(offsets, terms, firsts, first_postings, rests, rest_postings, sizes, has_filter, has_tests):  # type: ignore[no-untyped-def]
    """Only a query's rarest term opens an accumulator; others count where one is open, asked of a bitmap first.

    `firsts[p, t]` and `rests[p, t]` are where the postings of term t begin in partition p.
    """
    rows = np.empty(1024, np.int32)
    queries = np.empty(1024, np.int32)
    n = 0
    stats = np.zeros(4, np.int64)
    table = np.empty(64, np.int32)
    counts = np.empty(64, np.int32)
    created = np.empty(64, np.uint32)
    bits = np.zeros(64, np.uint8)
    for row in range(len(offsets) - 1):
        for part in range(len(firsts)):
            # 1. an empty table, with room for the queries whose rarest term the document has
            total = 0
            for i in range(offsets[row], offsets[row + 1]):
                total += firsts[part, terms[i] + 1] - firsts[part, terms[i]]
            size = _power_above(2 * total)
            if size > len(table):
                table = np.empty(size, np.int32)
                counts = np.empty(size, np.int32)
                created = np.empty(size, np.uint32)
                bits = np.zeros(size * _BITS_PER_ENTRY // 8, np.uint8)
            table[:size] = -1
            mask = uint32(size - 1)
            bit_mask = uint32(size * _BITS_PER_ENTRY // 2 - 1)
            if has_filter:
                bits[: (np.int64(bit_mask) + 1) // 8] = 0
            # 2. their accumulators
            n_created = 0
            for i in range(offsets[row], offsets[row + 1]):
                for p in range(firsts[part, terms[i]], firsts[part, terms[i] + 1]):
                    query = first_postings[uintp(p)]
                    slot = _slot_of(table, mask, query)
                    table[slot] = query
                    counts[slot] = 1
                    created[uintp(n_created)] = slot
                    n_created += 1
                    if has_filter:
                        bit = uint32(query) & bit_mask
                        bits[bit >> uint32(3)] |= np.uint8(1) << np.uint8(bit & uint32(7))
            stats[STAT_ACCUMULATORS] += total
            stats[STAT_FIRST_POSTINGS] += total
            # 3. all other terms count where an accumulator is open
            for i in range(offsets[row], offsets[row + 1]):
                first, last = rests[part, terms[i]], rests[part, terms[i] + 1]
                stats[STAT_POSTINGS] += last - first
                for p in range(first, last):
                    query = rest_postings[uintp(p)]
                    if has_filter:
                        bit = uint32(query) & bit_mask
                        if not (bits[bit >> uint32(3)] >> np.uint8(bit & uint32(7))) & 1:
                            continue
                    slot = _slot_of(table, mask, query)
                    if table[slot] != -1:
                        counts[slot] += 1
            # 4. testing: which queries have all of theirs
            for k in range(n_created if has_tests else 0):
                slot = created[uintp(k)]
                query = table[slot]
                if counts[slot] == sizes[uint32(query)]:
                    if n == len(rows):
                        rows, queries = _grown(rows, n), _grown(queries, n)
                    rows[n] = row
                    queries[n] = query
                    n += 1
    stats[STAT_POSTINGS] += stats[STAT_FIRST_POSTINGS]
    return rows[:n], queries[:n], stats


@njit(cache=True, nogil=True)
def match_clustered(  # type: ignore[no-untyped-def]
    offsets,
    terms,
    firsts,
    first_postings,
    rests,
    rest_postings,
    rest_bits,
    members,
    member_queries,
    member_masks,
    has_tests,
):
    """As `match_ordered` over superqueries: an accumulator has a bit a term, and every member tests its own mask."""
    rows = np.empty(1024, np.int32)
    queries = np.empty(1024, np.int32)
    n = 0
    n_words = member_masks.shape[1]
    stats = np.zeros(4, np.int64)
    table = np.empty(64, np.int32)
    masks = np.empty((64, n_words), np.uint32)
    created = np.empty(64, np.uint32)
    bits = np.zeros(64, np.uint8)
    for row in range(len(offsets) - 1):
        # 1. an empty table, with room for the superqueries whose rarest term the document has
        total = 0
        for i in range(offsets[row], offsets[row + 1]):
            total += firsts[terms[i] + 1] - firsts[terms[i]]
        size = _power_above(2 * total)
        if size > len(table):
            table = np.empty(size, np.int32)
            masks = np.empty((size, n_words), np.uint32)
            created = np.empty(size, np.uint32)
            bits = np.zeros(size * _BITS_PER_ENTRY // 8, np.uint8)
        table[:size] = -1
        mask = uint32(size - 1)
        bit_mask = uint32(size * _BITS_PER_ENTRY // 2 - 1)
        bits[: (np.int64(bit_mask) + 1) // 8] = 0
        # 2. their accumulators
        n_created = 0
        for i in range(offsets[row], offsets[row + 1]):
            for p in range(firsts[terms[i]], firsts[terms[i] + 1]):
                one = first_postings[uintp(p)]
                slot = _slot_of(table, mask, one)
                table[slot] = one
                created[uintp(n_created)] = slot
                n_created += 1
                for word in range(n_words):
                    masks[slot, word] = 0
                bit = uint32(one) & bit_mask
                bits[bit >> uint32(3)] |= np.uint8(1) << np.uint8(bit & uint32(7))
        stats[STAT_ACCUMULATORS] += total
        stats[STAT_FIRST_POSTINGS] += total
        # 3. all other terms set their bit where an accumulator is open
        for i in range(offsets[row], offsets[row + 1]):
            first, last = rests[terms[i]], rests[terms[i] + 1]
            stats[STAT_POSTINGS] += last - first
            for p in range(first, last):
                one = rest_postings[uintp(p)]
                bit = uint32(one) & bit_mask
                if not (bits[bit >> uint32(3)] >> np.uint8(bit & uint32(7))) & 1:
                    continue
                slot = _slot_of(table, mask, one)
                if table[slot] != -1:
                    masks[slot, rest_bits[uintp(p)] >> 5] |= np.uint32(1) << np.uint32(
                        rest_bits[uintp(p)] & 31
                    )
        # 4. testing: each member of a superquery by its own mask
        for k in range(n_created if has_tests else 0):
            slot = created[uintp(k)]
            one = table[slot]
            stats[STAT_TESTS] += members[one + 1] - members[one]
            for member in range(members[one], members[one + 1]):
                word = 0
                while (
                    word < n_words
                    and masks[slot, word] & member_masks[member, word] == member_masks[member, word]
                ):
                    word += 1
                if word == n_words:
                    if n == len(rows):
                        rows, queries = _grown(rows, n), _grown(queries, n)
                    rows[n] = row
                    queries[n] = member_queries[member]
                    n += 1
    stats[STAT_POSTINGS] += stats[STAT_FIRST_POSTINGS]
    return rows[:n], queries[:n], stats
