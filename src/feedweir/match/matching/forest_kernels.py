"""Kernels for filter trees: each item walks the tree of its source by the atoms that it satisfies.

A node is asked only when its parent holds. What it asks is one atom, which is one bit, or a program of the checks.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import int64, uint32, uint64, uintp

from feedweir.kernels import njit
from feedweir.match.matching.program_kernels import FALSE, TRUE, UNKNOWN, result_of
from feedweir.match.matching.satisfied_kernels import (
    atoms_anywhere,
    atoms_by_scope,
    atoms_of_values,
    emptied,
    grown,
    is_set,
    set_bit,
    sized,
)


class Forest(NamedTuple):
    """The trees of all sources. `roots[t]` is where the block of tree t begins.

    A block is: the node's number, how many queries end here, how many children ask for an atom, how many run a
    program, the queries, what the children ask (an atom, or ~program), and for each child its one query when it has
    nothing else, or ~place of its own block. Children of a root that are found by an atom are not in its block: slots
    `slot_starts[t]` to `slot_starts[t + 1]` are a hash table of (atom, place of a block with those children).
    """

    roots: Any
    slot_starts: Any
    slots: Any
    blocks: Any
    node_starts: Any
    """Nodes of tree t have the numbers `node_starts[t]` to `node_starts[t + 1]`."""
    watch_starts: Any
    watched: Any
    """What is asked of sampled items, to be counted: an atom, or ~program."""
    pair_starts: Any
    pairs: Any
    """Places in the tree's list of what is watched, two and two, that are counted together."""


@njit(inline="always")
def _slot_of(atom, mask):  # type: ignore[no-untyped-def]
    """The first slot in which an atom is looked up."""
    return uint32((uint64(atom) * uint64(0x9E3779B97F4A7C15)) >> uint64(40)) & mask


@njit(cache=True)
def fill_slots(slots, atoms, places):  # type: ignore[no-untyped-def]
    """File blocks under their atoms; free slots are -1."""
    mask = uint32(len(slots) - 1)
    for k in range(len(atoms)):
        slot = _slot_of(atoms[k], mask)
        while slots[slot, 0] >= 0:
            slot = (slot + uint32(1)) & mask
        slots[slot, 0] = atoms[k]
        slots[slot, 1] = places[k]


@njit(cache=True, nogil=True)
def _find_blocks(slots, first, mask, satisfied, n_satisfied, places, n_places):  # type: ignore[no-untyped-def]
    """Add the blocks that are filed under satisfied atoms; the new number of places."""
    for i in range(n_satisfied):
        atom = satisfied[uintp(i)]
        slot = _slot_of(atom, mask)
        filed = slots[first + slot, 0]
        while filed >= 0 and filed != atom:
            slot = (slot + uint32(1)) & mask
            filed = slots[first + slot, 0]
        places[uintp(n_places)] = slots[first + slot, 1]
        n_places += filed >= 0
    return n_places


@njit(cache=True, nogil=True)
def _reached(  # type: ignore[no-untyped-def]
    query, row, is_unsure, costs, rows, queries, n_found, asked_rows, asked_queries, n_asked, found, asked
):
    """Record a query that was reached: a match, or to be asked if a program on the way could not tell.

    `rows[i], queries[i]` are the matches so far, `asked_rows[i], asked_queries[i]` those to be asked; in a wide row
    they are bits instead, in `found` and `asked`.
    """
    if len(costs) > 0:
        costs[query] += 1
    if len(found) > 0:
        set_bit(asked if is_unsure else found, uint32(query))
        return n_found, n_asked
    if is_unsure:
        asked_rows[n_asked] = row
        asked_queries[n_asked] = query
        return n_found, n_asked + 1
    rows[uintp(n_found)] = row
    queries[uintp(n_found)] = query
    return n_found + 1, n_asked


@njit(cache=True, nogil=True)
def run_forest(  # type: ignore[no-untyped-def]
    trees, is_sampled, forest, streams, values, vocabulary, checks, n_words, scratch, costs, counted, first_row,
    limit, found, asked,
):  # fmt: skip
    """From a row on: (rows, queries) that match, (rows, queries) that must be asked, counts of the work, and the row at
    which it stopped: behind the last one, or at one whose pairs do not fit into `limit` any more.

     trees  2 -1 0 …             the tree of each row
     roots  0 40 …               where the block of each tree's root begins
    blocks  | number, n queries, n atoms, n programs | queries | what children ask | targets | next block …
     slots  (atom, place) …      blocks of children of a root that are found by an atom: a hash table for each tree
    places  40 ~57 …             blocks still to be visited; ~place where a program on the way could not tell

    Row r goes through tree `trees[r]`, if that is not negative. Counted are, of sampled rows only: rows of each tree,
    what is watched, pairs of that, and the nodes that held. With `found` and `asked`, a bit for each query, only that
    row is run, and the bits are set instead. The scratch is returned as it was received, but for its turns.
    """
    roots, slot_starts, slots, blocks = forest.roots, forest.slot_starts, forest.slots, forest.blocks
    stream_offsets, stream_entries = streams.offsets, streams.entries
    has_scopes = len(vocabulary.scoped_starts) > 1
    has_values = len(values.atoms) > 0 or len(vocabulary.every_atom) > 0
    (bits, satisfied, scopes, seen), check_scratch, _, turns = scratch
    # a place that was reached although a program could not tell is kept as ~place
    places = np.empty(256, np.int32)
    chosen = np.empty(256, np.uint32)
    rows = np.empty(min(1024, limit), np.int32)
    queries = np.empty(min(1024, limit), np.int32)
    asked_rows = np.empty(16, np.int32)
    asked_queries = np.empty(16, np.int32)
    n_found, n_asked, n_tests, n_programs, n_blocks = 0, 0, 0, 0, 0
    sampled, watch_counts, pair_counts, entered = counted
    holds = np.zeros(len(forest.watched) if len(is_sampled) else 0, np.bool_)
    nodes = np.empty(64 if len(is_sampled) else 0, np.int32)
    is_wide = len(found) > 0
    stopped_at = first_row
    for row in range(first_row, first_row + 1 if is_wide else len(trees)):
        if n_asked >= limit:
            break
        stopped_at = row + 1
        tree = trees[row]
        if tree < 0:
            continue
        counts_nodes = len(is_sampled) > 0 and is_sampled[row] != 0
        root = roots[tree]
        n_slots = slot_starts[tree + 1] - slot_starts[tree]
        if not counts_nodes and n_slots == 0 and blocks[root + 1] + blocks[root + 2] + blocks[root + 3] == 0:
            continue  # a tree that is only there to watch
        # 1. the satisfied atoms, each once
        turns[0] += 1
        if has_scopes:
            n_satisfied = atoms_by_scope(streams, vocabulary, row, scopes, seen, bits, satisfied)
        else:
            n_satisfied = atoms_anywhere(stream_offsets, stream_entries, row, bits, satisfied)
        if has_values:
            n_satisfied = atoms_of_values(values, vocabulary.every_atom, row, n_satisfied, bits, satisfied)
        # 2. where to begin: the root, and the blocks that are filed under satisfied atoms
        n_found_before, n_asked_before = n_found, n_asked
        spent_before = (n_tests, n_programs, n_blocks)
        n_nodes = 0
        is_full = False
        places[0] = root
        n_places = 1
        if n_slots > 0:
            if n_satisfied + 2 > len(places):
                places = grown(places, 1, n_satisfied + 2)
            n_places = _find_blocks(
                slots, uint32(slot_starts[tree]), uint32(n_slots - 1), satisfied, n_satisfied, places, 1
            )
        # 3. one block after the other
        while n_places > 0:
            n_places -= 1
            kept_place = places[uintp(n_places)]
            is_unsure = kept_place < 0
            place = uint32(~kept_place if is_unsure else kept_place)
            n_blocks += 1
            if counts_nodes and blocks[place] >= 0:
                if n_nodes == len(nodes):
                    nodes = grown(nodes, n_nodes, 1)
                nodes[n_nodes] = blocks[place]
                n_nodes += 1
            #    its sizes, and room for everything that it can add
            # counts are signed and only places are not: a sum of both would be a float
            n_queries = int64(blocks[place + uint32(1)])
            n_plain = int64(blocks[place + uint32(2)])
            n_children = n_plain + int64(blocks[place + uint32(3)])
            first = uint32(place + uint32(4) + uint32(n_queries))
            targets = uint32(first + uint32(n_children))
            n_more = n_queries + n_children
            if not is_wide and n_found + n_more > len(rows):
                if n_found + n_more > limit:
                    is_full = True
                    break
                size = min(len(rows) + n_found + n_more, limit)
                rows, queries = sized(rows, n_found, size), sized(queries, n_found, size)
            n_tests += n_plain
            n_programs += n_children - n_plain
            if n_children >= len(chosen):
                chosen = np.empty(2 * n_children, np.uint32)
            if n_places + n_children > len(places):
                places = grown(places, n_places, n_children)
            if not is_wide and n_asked + n_more > len(asked_rows) and (is_unsure or n_children > n_plain):
                asked_rows = grown(asked_rows, n_asked, n_more)
                asked_queries = grown(asked_queries, n_asked, n_more)
            #    its queries
            for k in range(n_queries):
                query = blocks[place + uint32(4) + uint32(k)]
                n_found, n_asked = _reached(
                    query, row, is_unsure, costs, rows, queries, n_found, asked_rows, asked_queries, n_asked,
                    found, asked,
                )  # fmt: skip
            #    its children that ask for an atom
            # without a branch per child: whether one is satisfied is hard to foresee
            n_chosen = 0
            for k in range(n_plain):
                chosen[uintp(n_chosen)] = targets + uint32(k)
                n_chosen += int64(is_set(bits, blocks[first + uint32(k)]))
            for c in range(n_chosen):
                target = blocks[chosen[uintp(c)]]
                if target < 0:
                    places[uintp(n_places)] = target if is_unsure else ~target
                    n_places += 1
                    continue
                n_found, n_asked = _reached(
                    target, row, is_unsure, costs, rows, queries, n_found, asked_rows, asked_queries, n_asked,
                    found, asked,
                )  # fmt: skip
            #    its children that run a program
            for k in range(n_plain, n_children):
                program = ~blocks[first + uint32(k)]
                result = result_of(
                    checks, program, bits, row, streams, values, n_words, turns[0], check_scratch
                )
                if result == FALSE:
                    continue
                cannot_tell = is_unsure or result == UNKNOWN
                target = blocks[targets + uint32(k)]
                if target < 0:
                    places[uintp(n_places)] = target if cannot_tell else ~target
                    n_places += 1
                    continue
                n_found, n_asked = _reached(
                    target, row, cannot_tell, costs, rows, queries, n_found, asked_rows, asked_queries, n_asked,
                    found, asked,
                )  # fmt: skip
        # 4. a row that does not fit is left to the next call
        if is_full:
            # the next run takes the row up again: nothing of it may be counted twice
            _take_back(costs, queries, n_found_before, n_found)
            _take_back(costs, asked_queries, n_asked_before, n_asked)
            n_found, n_asked, stopped_at = n_found_before, n_asked_before, row
            n_tests, n_programs, n_blocks = spent_before
            emptied(bits, satisfied, n_satisfied)
            break
        # 5. what is counted on samples
        if counts_nodes:
            sampled[tree] += 1
            for i in range(n_nodes):
                entered[nodes[i]] += 1
            first_watched = forest.watch_starts[tree]
            for w in range(first_watched, forest.watch_starts[tree + 1]):
                ask = forest.watched[w]
                if ask >= 0:
                    holds[w] = is_set(bits, ask) != 0
                else:
                    result = result_of(
                        checks, ~ask, bits, row, streams, values, n_words, turns[0], check_scratch
                    )
                    holds[w] = result == TRUE
                watch_counts[w] += holds[w]
            for p in range(forest.pair_starts[tree], forest.pair_starts[tree + 1]):
                one, other = first_watched + forest.pairs[p, 0], first_watched + forest.pairs[p, 1]
                pair_counts[p] += holds[one] and holds[other]
        emptied(bits, satisfied, n_satisfied)
    work = np.array([n_tests, n_programs, n_blocks, len(rows)])
    return rows[:n_found], queries[:n_found], asked_rows[:n_asked], asked_queries[:n_asked], work, stopped_at


@njit(cache=True, nogil=True)
def _take_back(costs, queries, first, last):  # type: ignore[no-untyped-def]
    if len(costs) > 0:
        for i in range(first, last):
            costs[queries[i]] -= 1
