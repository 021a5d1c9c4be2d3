"""A row that more queries match than a list should hold: a bit for each of them, whatever their number.

What this needs grows with the set (a bit a query) and with its longest conjunction, never with what matches.
"""

from __future__ import annotations

import numpy as np
from numba import uint32

from feedweir.kernels import njit
from feedweir.match.atom_kernels import grown, is_set, own_atoms, room_for_atoms, satisfied_by, set_bit
from feedweir.match.check_kernels import TRUE, UNKNOWN, room_for_checks, verdict_of


@njit(cache=True, nogil=True)
def match_widely(  # type: ignore[no-untyped-def]
    streams, values, vocabulary, trie, beside, checks, n_words, n_entries, n_atoms, costs, row, found, asked
):
    """Set the bits of the queries that match a row, and of those that must be asked; counts of the work."""
    has_scopes = len(vocabulary.scoped_starts) > 1
    bits, satisfied, scopes, seen = room_for_atoms(
        max(n_atoms, len(beside.roots)), n_entries if has_scopes else 0
    )
    room = room_for_checks(checks)
    n_satisfied = satisfied_by(streams, values, vocabulary, row, scopes, seen, bits, satisfied)
    work = np.zeros(3, np.int64)
    for i in range(n_satisfied):
        _walk(
            trie.roots[satisfied[i]], trie.blocks, checks, bits, row, streams, values, n_words, room, costs,
            found, asked, work,
        )  # fmt: skip
    if len(beside.roots) > 0:
        other_room = room_for_checks(beside.checks)
        n_satisfied = own_atoms(beside.offsets, beside.atoms, row, n_satisfied, bits, satisfied)
        for i in range(n_satisfied):
            _walk(
                beside.roots[satisfied[i]], beside.blocks, beside.checks, bits, row, streams, values, n_words,
                other_room, costs, found, asked, work,
            )  # fmt: skip
    return work


@njit(cache=True, nogil=True)
def _walk(  # type: ignore[no-untyped-def]
    root, blocks, checks, bits, row, streams, values, n_words, room, costs, found, asked, work
):
    """Judge everything below a root, if there is one, and add to the counts of the work."""
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
        if nexts[depth - 1] < 0:
            nexts[depth - 1] = 0
            work[0] += n_children
            work[1] += n_here
            for k in range(n_here):
                entry = blocks[place + 2 + k]
                work[2] += _judge(
                    entry, checks, bits, row, streams, values, n_words, room, costs, found, asked
                )
        child = nexts[depth - 1]
        below = -1
        while child < n_children and below < 0:
            if is_set(bits, blocks[first + child]):
                entry = blocks[first + n_children + child]
                if entry < 0:
                    below = ~entry
                else:
                    work[1] += 1
                    _judge(entry, checks, bits, row, streams, values, n_words, room, costs, found, asked)
            child += 1
        nexts[depth - 1] = child
        if below < 0:
            depth -= 1
            continue
        if depth == len(places):
            places, nexts = grown(places, depth, 1), grown(nexts, depth, 1)
        places[depth], nexts[depth] = below, -1
        depth += 1


@njit(cache=True, nogil=True)
def _judge(entry, checks, bits, row, streams, values, n_words, room, costs, found, asked):  # type: ignore[no-untyped-def]
    """Set the bit of an entry of the trie, a query or ~check, as it deserves; how many checks were run."""
    query, verdict = entry, TRUE
    if entry < 0:
        query = checks.queries[~entry]
        phrase_rows, phrase_verdicts, verdicts = room
        verdict = verdict_of(
            checks, checks.programs[~entry], bits, row, streams, values, n_words,
            phrase_rows, phrase_verdicts, verdicts,
        )  # fmt: skip
    if len(costs) > 0:
        costs[query] += 1
    if verdict == TRUE:
        set_bit(found, uint32(query))
    elif verdict == UNKNOWN:
        set_bit(asked, uint32(query))
    return 1 if entry < 0 else 0
