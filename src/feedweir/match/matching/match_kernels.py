"""Matching: what items satisfy in, pairs of rows and queries out.

An item's satisfied atoms are bits. Every atom that finds queries has a trie of the atoms that those queries need
besides; below a node only what is satisfied is entered, so nothing is touched but what can still match.

     bits  0 1 0 0 1 …        one for each atom: those that the row satisfies
satisfied  4 1 …              the same as a list
    roots  -1 0 -1 -1 9 …     for each atom the place of its first block, or -1
   blocks  | 1 entry, 2 children | query | atom, atom | target, target | next block …
           a target below 0 is ~place of a child's block, any other is the child's only query
  queries  7 ~3 12 …          what was found: a query, or ~check, which a program must decide
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import uint32, uintp

from feedweir.kernels import njit
from feedweir.match.matching.program_kernels import TRUE, UNKNOWN, result_of
from feedweir.match.matching.satisfied_kernels import (
    atoms_anywhere,
    atoms_by_scope,
    atoms_of_values,
    emptied,
    grown,
    is_set,
    own_atoms,
    sized,
)
from feedweir.text.memory_kernels import ask_for

_ONE, _TWO, _U3 = np.uint32(1), np.uint32(2), np.uint32(3)
_LINE = np.uint32(16)
"""Numbers of a block in a line of the cache."""


class Streams(NamedTuple):
    """Entries of the dictionaries found in the texts of a batch, one stream per field for words, then for prefixes.

    Row r of stream s is `offsets[s, r]` to `offsets[s, r + 1]` of `entries` and `positions`; without phrases nobody
    needs positions, and there are none.
    """

    scopes: Any
    offsets: Any
    entries: Any
    positions: Any
    n_fields: int


class Values(NamedTuple):
    """Row r satisfies the value atoms `atoms[offsets[r] : offsets[r + 1]]`, and has a number on axis x when present."""

    offsets: Any
    atoms: Any
    numbers: Any
    is_present: Any


class Vocabulary(NamedTuple):
    """Entry e anywhere in the whole scope is atom e; in other scopes it is one of `scoped_atoms`."""

    whole_scope: Any
    scoped_starts: Any
    scoped_scopes: Any
    scoped_atoms: Any
    every_atom: Any
    """One atom that every item satisfies, or none."""


class Trie(NamedTuple):
    """The trie below each atom, as blocks of numbers that lie together; `roots[a]` is where it begins, or -1.

    A block is: how many entries, how many children, the entries (a query, or ~check), the atoms of the children, and
    for each child its one query when it has nothing else, or ~place of its own block.
    """

    roots: Any
    blocks: Any


class Checks(NamedTuple):
    """Check c is of `queries[c]` and runs program `programs[c]`: `code[starts[p] : starts[p + 1]]`."""

    queries: Any
    programs: Any
    code: Any
    starts: Any
    phrase_starts: Any
    phrase_entries: Any
    phrase_scopes: Any
    lows: Any
    highs: Any


class OverlayArrays(NamedTuple):
    """A small trie in the numbers of a large one: its atoms are those of the large one and then some of its own, which
    row r satisfies as `atoms[offsets[r] : offsets[r + 1]]`; its queries follow those of the large one. A trie without
    roots finds nothing.
    """

    is_root: Any
    """A bit for each atom: few of an item's atoms are roots here, and these bits lie in the nearest cache."""
    roots: Any
    blocks: Any
    offsets: Any
    atoms: Any
    checks: Any
    """Of atoms only."""


@njit(forceinline=True)
def _roots_of(roots, blocks, satisfied, n_satisfied, places):  # type: ignore[no-untyped-def]
    """The first blocks of satisfied atoms; all are prefetched at once, so that their cache misses overlap."""
    n = 0
    for i in range(n_satisfied):
        root = roots[uint32(satisfied[uintp(i)])]
        place = uint32(max(root, 0))
        ask_for(blocks, place)
        ask_for(blocks, place + _LINE)
        places[uintp(n)] = place
        n += root >= 0
    return n


@njit(forceinline=True)
def _roots_among(is_root, roots, blocks, satisfied, n_satisfied, places):  # type: ignore[no-untyped-def]
    """As `_roots_of`, where few atoms are roots."""
    n = 0
    for i in range(n_satisfied):
        atom = uint32(satisfied[uintp(i)])
        places[uintp(n)] = atom
        n += is_set(is_root, atom)
    for i in range(n):
        place = uint32(roots[places[uintp(i)]])
        ask_for(blocks, place)
        ask_for(blocks, place + _LINE)
        places[uintp(i)] = place
    return n


@njit(forceinline=True)
def _sizes_of(blocks, places, n_places):  # type: ignore[no-untyped-def]
    """(entries, children) of blocks."""
    n_entries = 0
    n_children = 0
    for i in range(n_places):
        n_entries += blocks[places[uintp(i)]]
        n_children += blocks[places[uintp(i)] + _ONE]
    return n_entries, n_children


@njit(forceinline=True)
def _entered(blocks, bits, places, n_places, queries, n_found, chosen):  # type: ignore[no-untyped-def]
    """Take the entries of blocks, and choose the children that are satisfied: (entries so far, how many chosen)."""
    n_chosen = 0
    for i in range(n_places):
        place = places[uintp(i)]
        n_here = uint32(blocks[place])
        n_children = uint32(blocks[place + _ONE])
        place += _TWO
        for k in range(n_here):
            queries[uintp(n_found)] = blocks[place + uint32(k)]
            n_found += 1
        place += n_here
        # without a branch per child: whether one is satisfied is hard to foresee, and so is the end of a short loop
        if n_children <= _TWO:
            n_chosen = _chosen_of_two(blocks, bits, place, n_children, chosen, n_chosen)
            continue
        for k in range(n_children):
            child = place + uint32(k)
            chosen[uintp(n_chosen)] = child + n_children
            n_chosen += is_set(bits, blocks[child])
    return n_found, n_chosen


@njit(forceinline=True)
def _chosen_of_two(blocks, bits, place, n_children, chosen, n_chosen):  # type: ignore[no-untyped-def]
    """Choose those of at most two children that are satisfied; the new number of chosen ones."""
    first = blocks[place] if n_children > 0 else np.int32(0)
    second = blocks[place + _ONE] if n_children > 1 else np.int32(0)
    chosen[uintp(n_chosen)] = place + n_children
    n_chosen += (n_children > 0) & (is_set(bits, first) != 0)
    chosen[uintp(n_chosen)] = place + n_children + _ONE
    n_chosen += (n_children > 1) & (is_set(bits, second) != 0)
    return n_chosen


@njit(forceinline=True)
def _has_checks(queries, first, last):  # type: ignore[no-untyped-def]
    """Whether one of these is a check: the sign of all of them, which vectorises."""
    together = np.int32(0)
    for i in range(first, last):
        together |= queries[uintp(i)]
    return together < 0


@njit(forceinline=True)
def _followed(blocks, chosen, n_chosen, queries, n_found, places):  # type: ignore[no-untyped-def]
    """Follow chosen children to their only entry or to their block: (entries so far, how many blocks)."""
    n_places = 0
    for c in range(n_chosen):
        entry = blocks[chosen[uintp(c)]]
        if entry < 0:
            ask_for(blocks, uint32(~entry))
            places[uintp(n_places)] = ~entry
            n_places += 1
        else:
            queries[uintp(n_found)] = entry
            n_found += 1
    return n_found, n_places


@njit(forceinline=True)
def _below(blocks, bits, places, n_places, chosen, queries, n_found, limit):  # type: ignore[no-untyped-def]
    """Everything that is found below some blocks, level by level: (queries, how many, arrays that may have
    grown, tests made, whether more would be found than `limit`)."""
    n_tests = 0
    while n_places > 0:
        n_entries, n_children = _sizes_of(blocks, places, n_places)
        n_tests += n_children
        needed = n_found + n_entries + n_children
        if needed > len(queries):
            if needed > limit:
                return queries, n_found, places, chosen, n_tests, True
            queries = sized(queries, n_found, min(len(queries) + needed, limit))
        if n_children >= len(chosen):
            chosen = np.empty(2 * n_children, np.uint32)
            places = grown(places, n_places, 2 * n_children)
        n_found, n_chosen = _entered(blocks, bits, places, n_places, queries, n_found, chosen)
        n_found, n_places = _followed(blocks, chosen, n_chosen, queries, n_found, places)
    return queries, n_found, places, chosen, n_tests, False


@njit(cache=True, nogil=True)
def _decided(  # type: ignore[no-untyped-def]
    checks,
    bits,
    row,
    streams,
    values,
    n_words,
    turn,
    scratch,
    costs,
    queries,
    first,
    last,
    asked_rows,
    asked_checks,
    n_asked,
):
    """Keep those of `queries[first:last]` that hold: (where they end, how many are asked, what is asked, how many
    checks were run).

    queries before  … | 7 ~3 12 ~5 …    from `first` to `last`: queries, which hold, and ~checks
    queries after   … | 7 12 4          check 3 did not hold, check 5 does and is of query 4
    asked           (row, check)        of checks whose program cannot tell
    """
    check_queries, check_programs = checks.queries, checks.programs
    counts_costs = len(costs) > 0
    n_kept = first
    n_checks = 0
    for i in range(first, last):
        # 1. a query holds, a check runs its program
        query = queries[uintp(i)]
        check = ~query
        result = TRUE
        if query < 0:
            query = check_queries[check]
            n_checks += 1
            result = result_of(
                checks, check_programs[check], bits, row, streams, values, n_words, turn, scratch
            )
        if counts_costs:
            costs[query] += 1
        # 2. what the program cannot decide, `meaning` does
        if result == UNKNOWN:
            if n_asked == len(asked_rows):
                asked_rows = grown(asked_rows, n_asked, 1)
                asked_checks = grown(asked_checks, n_asked, 1)
            asked_rows[n_asked] = row
            asked_checks[n_asked] = check
            n_asked += 1
        # 3. what holds stays, as a query
        queries[uintp(n_kept)] = query
        n_kept += result == TRUE
    return n_kept, n_asked, asked_rows, asked_checks, n_checks


@njit(cache=True, nogil=True)
def match_rows(  # type: ignore[no-untyped-def]
    streams, values, vocabulary, trie, overlay, checks, n_words, scratch, costs, first, limit
):
    """From row `first` on: (rows, queries) that match, (rows, checks) that must be asked, counts of the work, and the
    row at which it stopped: behind the last one, or at one whose candidates do not fit into `limit` any more.

    streams, values        what is true of each row: entries of words and prefixes; value atoms and numbers
    trie, checks           the largest set; overlay: the small sets laid over it, in the same numbers
    queries of one row     n_before | of the largest set | n_middle | of the overlay | n_found
    rows, queries          the same length: pair i is (rows[i], queries[i])

    The scratch is returned as it was received, but for its turns. Pairs come row by row, in no order within a row, and
    perhaps more than once. Places in arrays are unsigned, so that no negative index need be considered: that check
    would take half of the time.
    """
    # arrays by names of their own: reaching into a tuple again and again costs more than what is done with them
    stream_offsets, stream_entries = streams.offsets, streams.entries
    roots, blocks = trie.roots, trie.blocks
    is_root, overlay_roots, overlay_blocks = overlay.is_root, overlay.roots, overlay.blocks
    has_overlay = len(overlay_roots) > 0
    has_scopes = len(vocabulary.scoped_starts) > 1
    has_values = len(values.atoms) > 0 or len(vocabulary.every_atom) > 0
    (bits, satisfied, scopes, seen), check_room, overlay_room, turns = scratch
    places = np.empty(256, np.uint32)
    chosen = np.empty(256, np.uint32)
    rows = np.empty(min(1024, limit), np.int32)
    queries = np.empty(min(1024, limit), np.int32)
    asked_rows = np.empty(16, np.int32)
    asked_checks = np.empty(16, np.int32)
    n_found = 0
    n_asked = 0
    n_tests = 0
    n_candidates = 0
    n_checks = 0
    has_costs, has_checks = len(costs) > 0, len(checks.queries) + len(overlay.checks.queries) > 0
    stopped_at = first
    for row in range(first, len(values.offsets) - 1):
        if n_asked >= limit:
            break
        n_before = n_found
        turns[0] += 1
        # 1. the satisfied atoms, each once
        if has_scopes:
            n_satisfied = atoms_by_scope(streams, vocabulary, row, scopes, seen, bits, satisfied)
        else:
            n_satisfied = atoms_anywhere(stream_offsets, stream_entries, row, bits, satisfied)
        if has_values:
            n_satisfied = atoms_of_values(values, vocabulary.every_atom, row, n_satisfied, bits, satisfied)
        # 2. what each of them finds, level by level: in the largest set
        if n_satisfied >= len(places):
            places = np.empty(2 * n_satisfied, np.uint32)
        n_places = _roots_of(roots, blocks, satisfied, n_satisfied, places)
        queries, n_found, places, chosen, n_tested, is_full = _below(
            blocks, bits, places, n_places, chosen, queries, n_found, limit
        )
        n_middle = n_found
        #    and in the small sets laid over it, which have some atoms of their own
        if has_overlay and not is_full:
            n_satisfied = own_atoms(overlay.offsets, overlay.atoms, row, n_satisfied, bits, satisfied)
            if n_satisfied >= len(places):
                places = np.empty(2 * n_satisfied, np.uint32)
            n_places = _roots_among(is_root, overlay_roots, overlay_blocks, satisfied, n_satisfied, places)
            queries, n_found, places, chosen, n_more, is_full = _below(
                overlay_blocks, bits, places, n_places, chosen, queries, n_found, limit
            )
            n_tested += n_more
        #    a row that does not fit is left to the next call
        if is_full:
            n_found = n_before
            emptied(bits, satisfied, n_satisfied)
            break
        n_tests += n_tested
        n_candidates += n_found - n_before
        # 3. what atoms could not decide; the overlay first, so that its results can be moved down behind the others
        if has_checks and _has_checks(queries, n_before, n_found):
            last, n_asked, asked_rows, asked_checks, n_run = _decided(
                overlay.checks, bits, row, streams, values, n_words, turns[0], overlay_room, costs, queries, n_middle,
                n_found, asked_rows, asked_checks, n_asked,
            )  # fmt: skip
            n_checks += n_run
            n_found, n_asked, asked_rows, asked_checks, n_run = _decided(
                checks, bits, row, streams, values, n_words, turns[0], check_room, costs, queries, n_before, n_middle,
                asked_rows, asked_checks, n_asked,
            )  # fmt: skip
            n_checks += n_run
            for i in range(n_middle, last):
                queries[uintp(n_found)] = queries[uintp(i)]
                n_found += 1
        elif has_costs:
            for i in range(n_before, n_found):
                costs[uint32(queries[uintp(i)])] += 1
        # 4. the rows of the pairs; the scratch is cleared
        if n_found > len(rows):
            rows = sized(rows, n_before, len(queries))
        for i in range(n_before, n_found):
            rows[uintp(i)] = row
        emptied(bits, satisfied, n_satisfied)
        stopped_at = row + 1
    work = np.array([n_tests, n_candidates, n_checks, len(queries)])
    return rows[:n_found], queries[:n_found], asked_rows[:n_asked], asked_checks[:n_asked], work, stopped_at
