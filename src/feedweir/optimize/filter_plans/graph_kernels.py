"""Kernels that find the nodes of a subsumption graph and which of them subsume which.

A node is a set of clauses, kept as a sorted run in one flat array. Node 0 is `true`, the empty set; nodes 1 … T are the
distinct predicates; those after T are candidates, subsets of predicates. Sets are interned in a hash table that
compares them in full, so that no collision can ever join two predicates.

    predicates a∧b, a∧b∧c          node:     0    1     2       3    4     ...
                                   clauses: |   |a b |a b c  |a   |b    | ...
                                   starts:   0   0    2       5    6     ...   node n is clauses[starts[n]:starts[n+1]]
    table (power of two, half empty): slot hash(set) → node, or EMPTY; collisions go to the next slot
"""

# mypy: disable-error-code="untyped-decorator, no-any-return"
from __future__ import annotations

from typing import Any

import numpy as np

from feedweir.kernels import njit

EMPTY = -1


@njit(cache=True)
def _hash(clauses: Any, size: int) -> Any:
    mixed = np.uint64(1469598103934665603)
    for at in range(size):
        mixed = (mixed ^ np.uint64(clauses[at] + 1)) * np.uint64(0x9E3779B97F4A7C15)
        mixed ^= mixed >> np.uint64(29)
    return mixed


@njit(cache=True)
def _find(table: Any, starts: Any, clauses: Any, wanted: Any, size: int) -> Any:
    """The slot that holds a set, or the empty slot where it belongs."""
    mask = np.uint64(table.size - 1)
    slot = _hash(wanted, size) & mask
    while table[slot] != EMPTY:
        node = table[slot]
        start = starts[node]
        if starts[node + 1] - start == size:
            same = True
            for at in range(size):
                if clauses[start + at] != wanted[at]:
                    same = False
                    break
            if same:
                return slot
        slot = (slot + np.uint64(1)) & mask
    return slot


@njit(cache=True)
def _grown(values: Any, size: int) -> Any:
    larger = np.empty(size, values.dtype)
    larger[: values.size] = values
    return larger


@njit(cache=True)
def _rehashed(starts: Any, clauses: Any, count: int, size: int) -> Any:
    table = np.full(size, EMPTY, np.int32)
    for node in range(count):
        start, end = starts[node], starts[node + 1]
        table[_find(table, starts, clauses, clauses[start:end], end - start)] = node
    return table


@njit(cache=True)
def intern_sets(
    predicate_starts: Any, predicate_clauses: Any, usable: Any, max_width: int
) -> tuple[Any, Any, Any, Any, int]:
    """Number every predicate, then every subset of the usable clauses of each distinct one.

    Returns (starts, clauses, table, node of each predicate, T). Of a predicate with more than `max_width` usable
    clauses the most used ones are taken: `usable` is how many predicates a clause can serve, and less than 2 serves
    nothing.
    """
    # Node 0 is the empty set.
    predicates = predicate_starts.size - 1
    starts = np.empty(1024, np.int64)
    clauses = np.empty(4096, np.int32)
    table = np.full(4096, EMPTY, np.int32)
    starts[0] = 0
    starts[1] = 0
    count = 1
    table[_find(table, starts, clauses, clauses[:0], 0)] = 0
    # Nodes 1 … T: the distinct predicates. Arrays and table grow by doubling.
    node_of = np.empty(predicates, np.int32)
    for predicate in range(predicates):
        run = predicate_clauses[predicate_starts[predicate] : predicate_starts[predicate + 1]]
        slot = _find(table, starts, clauses, run, run.size)
        if table[slot] == EMPTY:
            end = starts[count]
            if count + 2 > starts.size:
                starts = _grown(starts, starts.size * 2)
            while end + run.size > clauses.size:
                clauses = _grown(clauses, clauses.size * 2)
            clauses[end : end + run.size] = run
            starts[count + 1] = end + run.size
            table[slot] = count
            count += 1
            if count * 2 > table.size:
                table = _rehashed(starts, clauses, count, table.size * 4)
                slot = _find(table, starts, clauses, run, run.size)
        node_of[predicate] = table[slot]
    terminals = count - 1
    # Nodes after T: every proper subset of a predicate's usable clauses, by the bits of a mask.
    kept = np.empty(max_width, np.int32)
    subset = np.empty(max_width, np.int32)
    for node in range(1, terminals + 1):
        size = starts[node + 1] - starts[node]
        width = _usable_of(clauses[starts[node] : starts[node + 1]], usable, kept)
        for mask in range(1, 1 << width):
            taken = _take(kept, width, mask, subset)
            if taken == size:
                continue
            slot = _find(table, starts, clauses, subset, taken)
            if table[slot] != EMPTY:
                continue
            end = starts[count]
            if count + 2 > starts.size:
                starts = _grown(starts, starts.size * 2)
            while end + taken > clauses.size:
                clauses = _grown(clauses, clauses.size * 2)
            clauses[end : end + taken] = subset[:taken]
            starts[count + 1] = end + taken
            table[slot] = count
            count += 1
            if count * 2 > table.size:
                table = _rehashed(starts, clauses, count, table.size * 4)
    return starts[: count + 1], clauses[: starts[count]], table, node_of, terminals


@njit(cache=True)
def _usable_of(run: Any, usable: Any, kept: Any) -> int:
    """Put the usable clauses of a run into `kept`, in order; the most used ones when there are too many."""
    found = 0
    for clause in run:
        if usable[clause] >= 2:
            found += 1
    if found <= kept.size:
        width = 0
        for clause in run:
            if usable[clause] >= 2:
                kept[width] = clause
                width += 1
        return width
    order = np.argsort(-usable[run], kind="mergesort")
    kept[:] = np.sort(run[order[: kept.size]])
    return int(kept.size)


@njit(cache=True)
def _take(kept: Any, width: int, mask: int, subset: Any) -> int:
    taken = 0
    for at in range(width):
        if mask >> at & 1:
            subset[taken] = kept[at]
            taken += 1
    return taken


@njit(cache=True)
def link_nodes(
    starts: Any,
    clauses: Any,
    table: Any,
    usable: Any,
    weaker_starts: Any,
    weaker: Any,
    wanted: Any,
    first: int,
    last: int,
    max_width: int,
    max_closure: int,
) -> tuple[Any, Any]:
    """For nodes `first` … `last` that are wanted: the wanted nodes, except `true`, that subsume them (as runs).

    A node subsumes another when each of its clauses is a clause of the other or weaker than one. All subsets of a
    node's own clauses are tried, and of its closure the single clauses and, up to `max_closure` clauses, the pairs.

        starts, clauses, table         the nodes, as `intern_sets` returned them
        weaker[weaker_starts[c]:…]     the clauses that clause c implies
        wanted[n]                      whether node n is looked for, and as a result
        found[ends[i]:ends[i + 1]]     what subsumes node first + i
    """
    ends = np.zeros(last - first + 2, np.int64)
    found = np.empty(4096, np.int32)
    total = 0
    kept = np.empty(max_width, np.int32)
    subset = np.empty(max(max_width, 2), np.int32)
    closure = np.empty(max_closure, np.int32)
    for node in range(first, last + 1):
        ends[node - first + 1] = total
        if not wanted[node]:
            continue
        run = clauses[starts[node] : starts[node + 1]]
        width = _usable_of(run, usable, kept)
        reach = _closure_of(run, usable, weaker_starts, weaker, closure)
        room = (1 << width) + reach * reach
        while total + room > found.size:
            found = _grown(found, found.size * 2)
        # The subsets of its own clauses.
        for mask in range(1, 1 << width):
            taken = _take(kept, width, mask, subset)
            other = table[_find(table, starts, clauses, subset, taken)]
            if other > 0 and other != node and wanted[other]:
                found[total] = other
                total += 1
        # Single clauses and pairs of its closure, one of which is not its own.
        own = run.size
        for one in range(reach):
            for two in range(one, reach):
                # The closure starts with the node's own clauses: their subsets are found above.
                if two < own:
                    continue
                size = _pair(closure[one], closure[two], subset)
                other = table[_find(table, starts, clauses, subset, size)]
                if other > 0 and other != node and wanted[other]:
                    found[total] = other
                    total += 1
        ends[node - first + 1] = total
    return ends, found[:total]


@njit(cache=True)
def _pair(one: int, two: int, subset: Any) -> int:
    subset[0] = min(one, two)
    if one == two:
        return 1
    subset[1] = max(one, two)
    return 2


@njit(cache=True)
def _closure_of(run: Any, usable: Any, weaker_starts: Any, weaker: Any, closure: Any) -> int:
    """The clauses of a run and then those weaker than one of them, each once; 0 when nothing is weaker."""
    reach = 0
    for clause in run:
        if reach < closure.size:
            closure[reach] = clause
            reach += 1
    own = reach
    for clause in run:
        for at in range(weaker_starts[clause], weaker_starts[clause + 1]):
            other = weaker[at]
            if usable[other] < 2 or reach == closure.size:
                continue
            is_new = True
            for before in range(reach):
                if closure[before] == other:
                    is_new = False
                    break
            if is_new:
                closure[reach] = other
                reach += 1
    return 0 if reach == own else reach


@njit(cache=True)
def set_selectivities(starts: Any, clauses: Any, selectivity: Any, pair_keys: Any, pair_lifts: Any) -> Any:
    """The selectivity of every set: independent clauses, except where the lift of a pair is known.

    Known pairs are used once each clause, those furthest from independence first; the result never exceeds
    the selectivity of one clause.
    """
    nodes = starts.size - 1
    result = np.ones(nodes, np.float64)
    for node in range(nodes):
        run = clauses[starts[node] : starts[node + 1]]
        product = 1.0
        least = 1.0
        for clause in run:
            product *= selectivity[clause]
            least = min(least, selectivity[clause])
        if pair_keys.size and run.size > 1:
            product *= _lift_of(run, pair_keys, pair_lifts)
        result[node] = min(product, least)
    return result


@njit(cache=True)
def _lift_of(run: Any, pair_keys: Any, pair_lifts: Any) -> float:
    is_used = np.zeros(run.size, np.bool_)
    lift = 1.0
    for _ in range(run.size // 2):
        best, best_one, best_two = 0.0, -1, -1
        for one in range(run.size):
            for two in range(one + 1, run.size):
                if is_used[one] or is_used[two]:
                    continue
                key = np.int64(run[one]) << 32 | np.int64(run[two])
                at = np.searchsorted(pair_keys, key)
                if at < pair_keys.size and pair_keys[at] == key:
                    distance = abs(np.log(pair_lifts[at] + 1e-12))
                    if distance > best:
                        best, best_one, best_two = distance, one, two
        if best_one < 0:
            break
        is_used[best_one] = True
        is_used[best_two] = True
        key = np.int64(run[best_one]) << 32 | np.int64(run[best_two])
        lift *= pair_lifts[np.searchsorted(pair_keys, key)]
    return lift


@njit(cache=True)
def make_consistent(selectivity: Any, above_starts: Any, above: Any) -> None:
    """Lower every estimate to those of the nodes that subsume it: what implies another cannot hold more often.

    Weaker nodes are read as they were estimated, and `above` is transitive, so one pass in any order is enough.
    """
    estimated = selectivity.copy()
    for node in range(selectivity.size):
        for at in range(above_starts[node], above_starts[node + 1]):
            if estimated[above[at]] < selectivity[node]:
                selectivity[node] = estimated[above[at]]
