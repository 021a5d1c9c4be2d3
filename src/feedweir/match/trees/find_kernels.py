"""Which patterns each document of a batch has, on flat arrays, in one pass.

The atoms that are true of a document lead to the groups that are found by them; a group with all its atoms true has an
embedding, unless it branches at a step that reaches several nodes: then one of these must fit as a whole.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from feedweir.match.trees.atom_kernels import true_atoms
from feedweir.match.trees.check_kernels import listed, mark, unlisted, verify
from feedweir.match.trees.steps import FORKS, MEMBERS, REST

_kernel = njit(cache=True, _nrt=False)
_LARGE = 64
"""Documents of more nodes are listed by name and by value before limbs are tried on them."""


class Scratch(NamedTuple):
    """Room that every batch uses again; what ends in `_at` holds the time at which it was noted."""

    clock: NDArray[np.int64]
    is_true: NDArray[np.bool_]
    """Of each atom; false between documents."""
    fork_at: NDArray[np.int64]
    fork_nodes: NDArray[np.int64]
    """How many nodes a fork reaches."""
    fork_head: NDArray[np.int64]
    """The first of the entries that tell which states a fork is reached in."""
    check_at: NDArray[np.int64]
    check_holds: NDArray[np.bool_]
    marks: NDArray[np.uint64]
    """A bit for each pattern; zero between documents."""
    true: NDArray[np.int32]
    doubtful: NDArray[np.int32]
    memory: NDArray[np.int64]
    stack: NDArray[np.int64]


class Places(NamedTuple):
    """The nodes of a document by state: those of its k-th state are order[ptr[k] : ptr[k + 1]]."""

    states: NDArray[np.int64]
    ptr: NDArray[np.int64]
    order: NDArray[np.int64]


@njit(cache=True)
def find_batch(  # type: ignore[no-untyped-def]
    batch, numbers, state_of, facts, comparisons, atoms, postings, groups, checks, limbs, scratch, labels
):  # fmt: skip
    """(ptr, patterns): those of document d are patterns[ptr[d] : ptr[d + 1]], ascending."""
    count = batch.ptr.size - 1
    ptr = np.zeros(count + 1, np.int64)
    found = np.empty(1024, np.int32)
    place_of = np.full(facts.ops.shape[0], -1, np.int64)
    entries = np.empty((256, 2), np.int64)
    used = 0
    for number in range(count):
        first, last = batch.ptr[number], batch.ptr[number + 1]
        total = 0
        if last > first:
            nodes, values = batch.nodes[first:last], numbers[first:last]
            scratch.clock[0] += 1
            places = _places(batch.paths[first:last], state_of, place_of)
            reached = 0
            for state in places.states:
                reached += facts.forks_ptr[state + 1] - facts.forks_ptr[state]
            if reached > len(entries):
                entries = np.empty((2 * reached, 2), np.int64)
            _note_forks(places, facts, scratch, entries)
            n_true = true_atoms(places, facts, comparisons, atoms.compared, nodes, values, scratch)
            n_doubtful, total = _follow(n_true, postings, groups, scratch)
            if n_doubtful:
                serial = scratch.clock[1]
                scratch.clock[1] += len(nodes)
                is_large = len(nodes) > _LARGE
                lists = listed(nodes, values, labels) if is_large else unlisted()
                seen = np.zeros(len(nodes) if is_large else 1, np.int32)
                total += verify(
                    n_doubtful, postings.heads, groups, checks, limbs, nodes, values, state_of,
                    batch.paths[first:last], facts, places, entries, lists, seen, scratch, serial
                )  # fmt: skip
        if used + total > found.size:
            grown = np.empty(max(2 * found.size, 2 * (used + total)), np.int32)
            grown[:used] = found[:used]
            found = grown
        used = _write(scratch.marks, found, used)
        ptr[number + 1] = used
    return ptr, found[:used].copy()


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


@_kernel
def _note_forks(places, facts, scratch, entries):  # type: ignore[no-untyped-def]
    """Of each fork how many nodes it reaches, and in which states: a chain of entries (place, next)."""
    now = scratch.clock[0]
    used = 0
    # The last entry of a chain is followed first, and that is the node highest up.
    for place in range(places.states.size - 1, -1, -1):
        state = places.states[place]
        for at in range(facts.forks_ptr[state], facts.forks_ptr[state + 1]):
            fork = facts.forks[at]
            if scratch.fork_at[fork] != now:
                scratch.fork_at[fork] = now
                scratch.fork_nodes[fork] = 0
                scratch.fork_head[fork] = -1
            scratch.fork_nodes[fork] += places.ptr[place + 1] - places.ptr[place]
            entries[used, 0] = place
            entries[used, 1] = scratch.fork_head[fork]
            scratch.fork_head[fork] = used
            used += 1


@_kernel
def _follow(n_true, postings, groups, scratch):  # type: ignore[no-untyped-def]
    """Mark the groups that true atoms decide; how many remain in doubt, listed in `scratch.doubtful`."""
    ptr, heads, rest = postings
    forks, members = groups.forks, groups.members
    true, is_true, fork_nodes, marks = scratch.true, scratch.is_true, scratch.fork_nodes, scratch.marks
    doubtful = scratch.doubtful
    n_doubtful = n_marked = 0
    for at in range(n_true):
        for group in range(ptr[true[at]], ptr[true[at] + 1]):
            is_good = True
            for other in range(heads[group, REST], heads[group + 1, REST]):
                if not is_true[rest[other]]:
                    is_good = False
                    break
            if not is_good:
                continue
            # Branches that hang off a single node hang off the same node.
            for fork in range(heads[group, FORKS], heads[group + 1, FORKS]):
                if fork_nodes[forks[fork]] != 1:
                    is_good = False
                    break
            if is_good:
                n_marked += mark(heads[group, MEMBERS], heads[group + 1, MEMBERS], members, marks)
            else:
                doubtful[n_doubtful] = group
                n_doubtful += 1
    for at in range(n_true):
        is_true[true[at]] = False
    return n_doubtful, n_marked


_BRUIJN = np.uint64(0x03F79D71B4CB0A89)
_BIT = np.zeros(64, np.int32)
for _place in range(64):
    _BIT[((0x03F79D71B4CB0A89 << _place) & 0xFFFFFFFFFFFFFFFF) >> 58] = _place


@_kernel
def _write(marks, found, used):  # type: ignore[no-untyped-def]
    """The marked patterns in order; the marks are removed."""
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
