"""Rows that match more queries than a list should hold: a bit for each query, however many match.

What this needs grows with the set (a bit a query) and with its longest conjunction, never with what matches.

 found  0 1 0 0 1 1 …     one bit for each query: those that match the row
 asked  0 0 0 1 0 0 …     those that only `meaning` can decide
places  9 30 57           the blocks on the way down from a root; `nexts` the child of each to be tried next
"""

from __future__ import annotations

import numpy as np
from numba import uint32

from feedweir.kernels import njit
from feedweir.match.matching.program_kernels import TRUE, UNKNOWN, result_of
from feedweir.match.matching.satisfied_kernels import emptied, grown, is_set, own_atoms, satisfied_by, set_bit


@njit(cache=True, nogil=True)
def match_widely(  # type: ignore[no-untyped-def]
    streams, values, vocabulary, trie, overlay, checks, n_words, scratch, costs, row, found, asked
):
    """Set the bits of the queries that match a row, and of those that must be asked; counts of the work."""
    # 1. the satisfied atoms, each once
    (bits, satisfied, scopes, seen), check_scratch, other_scratch, turns = scratch
    turns[0] += 1
    n_satisfied = satisfied_by(streams, values, vocabulary, row, scopes, seen, bits, satisfied)
    # 2. everything below their roots, in the largest set
    work = np.zeros(3, np.int64)
    for i in range(n_satisfied):
        _walk(
            trie.roots[satisfied[i]], trie.blocks, checks, bits, row, streams, values, n_words, turns[0],
            check_scratch, costs, found, asked, work,
        )  # fmt: skip
    # 3. and in the small sets laid over it
    if len(overlay.roots) > 0:
        n_satisfied = own_atoms(overlay.offsets, overlay.atoms, row, n_satisfied, bits, satisfied)
        for i in range(n_satisfied):
            _walk(
                overlay.roots[satisfied[i]], overlay.blocks, overlay.checks, bits, row, streams, values, n_words,
                turns[0], other_scratch, costs, found, asked, work,
            )  # fmt: skip
    emptied(bits, satisfied, n_satisfied)
    return work


@njit(cache=True, nogil=True)
def _walk(  # type: ignore[no-untyped-def]
    root, blocks, checks, bits, row, streams, values, n_words, turn, scratch, costs, found, asked, work
):
    """Evaluate everything below a root, if there is one, and add to the counts of the work."""
    if root < 0:
        return
    # where the walk is: of each block on the way down its place, and the child to look at next
    places = np.empty(16, np.int64)
    nexts = np.empty(16, np.int64)
    places[0], nexts[0] = root, -1
    depth = 1
    while depth > 0:
        place = places[depth - 1]
        n_here, n_children = blocks[place], blocks[place + 1]
        first = place + 2 + n_here
        # a block that is entered for the first time: its entries
        if nexts[depth - 1] < 0:
            nexts[depth - 1] = 0
            work[0] += n_children
            work[1] += n_here
            for k in range(n_here):
                entry = blocks[place + 2 + k]
                work[2] += _judge(
                    entry, checks, bits, row, streams, values, n_words, turn, scratch, costs, found, asked
                )
        # the next satisfied child that has a block of its own
        child = nexts[depth - 1]
        below = -1
        while child < n_children and below < 0:
            if is_set(bits, blocks[first + child]):
                entry = blocks[first + n_children + child]
                if entry < 0:
                    below = ~entry
                else:
                    work[1] += 1
                    _judge(
                        entry, checks, bits, row, streams, values, n_words, turn, scratch, costs, found, asked
                    )
            child += 1
        nexts[depth - 1] = child
        # one level up, or one down
        if below < 0:
            depth -= 1
            continue
        if depth == len(places):
            places, nexts = grown(places, depth, 1), grown(nexts, depth, 1)
        places[depth], nexts[depth] = below, -1
        depth += 1


@njit(cache=True, nogil=True)
def _judge(entry, checks, bits, row, streams, values, n_words, turn, scratch, costs, found, asked):  # type: ignore[no-untyped-def]
    """Set the bit that the result of a query or ~check asks for; how many checks were run."""
    query, result = entry, TRUE
    if entry < 0:
        query = checks.queries[~entry]
        program = checks.programs[~entry]
        result = result_of(checks, program, bits, row, streams, values, n_words, turn, scratch)
    if len(costs) > 0:
        costs[query] += 1
    if result == TRUE:
        set_bit(found, uint32(query))
    elif result == UNKNOWN:
        set_bit(asked, uint32(query))
    return 1 if entry < 0 else 0
