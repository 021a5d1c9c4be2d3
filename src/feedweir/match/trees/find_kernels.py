"""Which patterns each document of a batch has, on flat arrays, in one pass.

The atoms that are true of a document decide the patterns without branches, and lead to the groups that are found by
them. What the structure of the document says of a group's shape decides what follows from its atoms being true: that
it is there, that it cannot be, or that it must be laid on the nodes at which it branches.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from feedweir.kernels import njit
from feedweir.match.trees.documents.document_shape_kernels import SMALL_NODES, results_for
from feedweir.match.trees.doubt_kernels import listed, unlisted, verify
from feedweir.match.trees.shape_result_kernels import note_above, result_on
from feedweir.match.trees.tree_codes import BY_ATOMS, MEMBERS, NEVER, REST, SHAPE, UNKNOWN
from feedweir.match.trees.true_atom_kernels import mark, true_atoms

_kernel = njit(cache=True, _nrt=False)


class TreeScratch(NamedTuple):
    """Scratch that every batch reuses; what ends in `_at` holds the number of the document in which it was set."""

    clock: NDArray[np.int64]
    is_true: NDArray[np.bool_]
    """Of each atom; false between documents."""
    route_at: NDArray[np.int64]
    route_nodes: NDArray[np.int64]
    """How many nodes a route reaches."""
    route_head: NDArray[np.int64]
    """The first of the entries that tell which states a route is reached in."""
    check_at: NDArray[np.int64]
    check_holds: NDArray[np.bool_]
    marks: NDArray[np.uint64]
    """A bit for each pattern; zero between documents."""
    true: NDArray[np.int32]
    doubtful: NDArray[np.int32]
    memory: NDArray[np.int64]
    stack: NDArray[np.int64]
    above: NDArray[np.int64]
    """Of each node of a small document its parent, and all that is above it, as sets."""
    parts: NDArray[np.int64]
    """The steps of the pattern shape at hand."""


class Places(NamedTuple):
    """The nodes of a document by state: those of its k-th state are order[ptr[k] : ptr[k + 1]]."""

    states: NDArray[np.int64]
    ptr: NDArray[np.int64]
    order: NDArray[np.int64]


@njit(cache=True)
def find_batch(  # type: ignore[no-untyped-def]
    begin, found, ptr, batch, numbers, state_of, facts, comparisons, postings, groups, checks, shapes, document_shapes,
    steps, scratch, labels,
):  # fmt: skip
    """The first document that `found` has no room for: of those from `begin` to there the patterns are written to it,
    ascending, and to `ptr` where they end.

    batch.nodes    rows of all documents, one document after the other; batch.ptr tells where each begins
    state_of       of each label path the state of the automaton; facts: what each state decides
    scratch.marks  a bit for each pattern, set while the document at hand has it
    found, ptr     patterns of document d: found[ptr[d] : ptr[d + 1]]
    """
    place_of = np.full(facts.ops.shape[0], -1, np.int64)
    entries = np.empty((256, 2), np.int64)
    used = 0
    for number in range(begin, batch.ptr.size - 1):
        first, last = batch.ptr[number], batch.ptr[number + 1]
        total = 0
        if last > first:
            nodes, values, paths = batch.nodes[first:last], numbers[first:last], batch.paths[first:last]
            scratch.clock[0] += 1
            # 1. the nodes by state, and which routes reach how many of them
            places = _places(paths, state_of, place_of)
            entries = _room_for(places, facts, entries)
            _note_routes(places, facts, scratch, entries)
            note_above(nodes, scratch.above)
            row = results_for(nodes, paths, batch.elements[number], document_shapes)
            # 2. true atoms, and the patterns that they decide alone or by the shape of the document
            n_true, total = true_atoms(places, facts, comparisons, nodes, values, scratch)
            n_doubtful, decided = _follow(
                n_true, postings, groups.members, shapes, document_shapes.results[row], steps, nodes, scratch
            )
            total += decided
            # 3. what is still in doubt is laid on the nodes
            if n_doubtful:
                serial = scratch.clock[1]
                scratch.clock[1] += len(nodes)
                is_large = len(nodes) > SMALL_NODES
                lists = listed(nodes, values, labels) if is_large else unlisted()
                seen = np.zeros(len(nodes) if is_large else 1, np.int32)
                total += verify(
                    n_doubtful, postings.heads, groups, checks, steps, nodes, values, state_of, paths, facts,
                    places, entries, lists, seen, scratch, serial
                )  # fmt: skip
        # 4. the marks as numbers, if there is room
        if used + min(total, 64 * scratch.marks.size) > found.size:
            scratch.marks[:] = 0
            return number
        used = _write(scratch.marks, found, used)
        ptr[number + 1] = used
    return batch.ptr.size - 1


@njit(cache=True)
def _places(paths, state_of, place_of):  # type: ignore[no-untyped-def]
    """Nodes by state; `place_of` is -1 before and after."""
    states = np.empty(min(len(paths), len(place_of)), np.int64)
    known = 0
    ptr = np.zeros(len(states) + 1, np.int64)
    for path in paths:
        state = state_of[path]
        if place_of[state] < 0:
            place_of[state] = known
            states[known] = state
            known += 1
        ptr[place_of[state] + 1] += 1
    for place in range(known):
        ptr[place + 1] += ptr[place]
    order = np.empty(len(paths), np.int64)
    filled = ptr[:known].copy()
    for node in range(len(paths)):
        place = place_of[state_of[paths[node]]]
        order[filled[place]] = node
        filled[place] += 1
    for place in range(known):
        place_of[states[place]] = -1
    return Places(states[:known], ptr[: known + 1], order)


@njit(cache=True)
def _room_for(places, facts, entries):  # type: ignore[no-untyped-def]
    reached = 0
    for state in places.states:
        reached += facts.routes_ptr[state + 1] - facts.routes_ptr[state]
    return entries if reached <= len(entries) else np.empty((2 * reached, 2), np.int64)


@_kernel
def _note_routes(places, facts, scratch, entries):  # type: ignore[no-untyped-def]
    """Of each route how many nodes it reaches, and in which states: a chain of entries (place, next)."""
    now = scratch.clock[0]
    used = 0
    # The last entry of a chain is followed first, and that is the node highest up.
    for place in range(places.states.size - 1, -1, -1):
        state = places.states[place]
        for at in range(facts.routes_ptr[state], facts.routes_ptr[state + 1]):
            route = facts.routes[at]
            if scratch.route_at[route] != now:
                scratch.route_at[route] = now
                scratch.route_nodes[route] = 0
                scratch.route_head[route] = -1
            scratch.route_nodes[route] += places.ptr[place + 1] - places.ptr[place]
            entries[used, 0] = place
            entries[used, 1] = scratch.route_head[route]
            scratch.route_head[route] = used
            used += 1


@_kernel
def _follow(n_true, postings, members, shapes, results, steps, nodes, scratch):  # type: ignore[no-untyped-def]
    """(how many groups remain in doubt, how many patterns were marked) of the groups that true atoms lead to; the
    doubtful are listed in `scratch.doubtful`."""
    heads = postings.heads
    n_doubtful = n_marked = 0
    for at in range(n_true):
        atom = scratch.true[at]
        for group in range(postings.ptr[atom], postings.ptr[atom + 1]):
            shape = heads[group, SHAPE]
            if results[shape] == UNKNOWN:
                results[shape] = result_on(shape, shapes, steps, nodes, scratch)
            if results[shape] == NEVER:
                continue
            is_good = True
            for other in range(heads[group, REST], heads[group + 1, REST]):
                is_good &= scratch.is_true[postings.rest[other]]
            if not is_good:
                continue
            if results[shape] == BY_ATOMS:
                n_marked += mark(heads[group, MEMBERS], heads[group + 1, MEMBERS], members, scratch.marks)
            else:
                scratch.doubtful[n_doubtful] = group
                n_doubtful += 1
    for at in range(n_true):
        scratch.is_true[scratch.true[at]] = False
    return n_doubtful, n_marked


_BRUIJN = np.uint64(0x03F79D71B4CB0A89)
_BIT = np.zeros(64, np.int32)
for _place in range(64):
    _BIT[((0x03F79D71B4CB0A89 << _place) & 0xFFFFFFFFFFFFFFFF) >> 58] = _place


@_kernel
def _write(marks, found, used):  # type: ignore[no-untyped-def]
    """Write the marked patterns in order and clear the marks."""
    for place in range(marks.size):
        word = marks[place]
        if word == 0:
            continue
        marks[place] = np.uint64(0)
        while word:
            lowest = word & (~word + np.uint64(1))
            found[used] = 64 * place + _BIT[(lowest * _BRUIJN) >> np.uint64(58)]
            used += 1
            word ^= lowest
    return used
