"""Which patterns each document of a batch has, on flat arrays, in one pass.

The atoms that are true of a document decide the patterns without branches, and lead to the groups that are found by
them. What the structure of the document says of a group's outline decides what follows from its atoms being true: that
it is there, that it cannot be, or that it must be laid on the nodes at which it branches.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from feedweir.kernels import njit
from feedweir.match.trees.atom_kernels import mark, true_atoms
from feedweir.match.trees.check_kernels import listed, unlisted, verify
from feedweir.match.trees.skeleton_kernels import SMALL_NODES, verdicts_for
from feedweir.match.trees.steps import BY_ATOMS, MEMBERS, NEVER, OUTLINE, REST, UNKNOWN
from feedweir.match.trees.verdict_kernels import note_above, verdict_on

_kernel = njit(cache=True, _nrt=False)


class Scratch(NamedTuple):
    """Room that every batch uses again; what ends in `_at` holds the time at which it was noted."""

    clock: NDArray[np.int64]
    is_true: NDArray[np.bool_]
    """Of each atom; false between documents."""
    step_at: NDArray[np.int64]
    step_nodes: NDArray[np.int64]
    """How many nodes a step reaches."""
    step_head: NDArray[np.int64]
    """The first of the entries that tell which states a step is reached in."""
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
    steps: NDArray[np.int64]
    """The steps of the outline at hand."""


class Places(NamedTuple):
    """The nodes of a document by state: those of its k-th state are order[ptr[k] : ptr[k + 1]]."""

    states: NDArray[np.int64]
    ptr: NDArray[np.int64]
    order: NDArray[np.int64]


@njit(cache=True)
def find_batch(  # type: ignore[no-untyped-def]
    begin, found, ptr, batch, numbers, state_of, facts, comparisons, postings, groups, checks, outlines, skeletons,
    limbs, scratch, labels,
):  # fmt: skip
    """The first document that `found` has no room for: of those from `begin` to there the patterns are written to it,
    ascending, and to `ptr` where they end."""
    place_of = np.full(facts.ops.shape[0], -1, np.int64)
    entries = np.empty((256, 2), np.int64)
    used = 0
    for number in range(begin, batch.ptr.size - 1):
        first, last = batch.ptr[number], batch.ptr[number + 1]
        total = 0
        if last > first:
            nodes, values, paths = batch.nodes[first:last], numbers[first:last], batch.paths[first:last]
            scratch.clock[0] += 1
            places = _places(paths, state_of, place_of)
            entries = _room_for(places, facts, entries)
            _note_steps(places, facts, scratch, entries)
            note_above(nodes, scratch.above)
            row = verdicts_for(nodes, paths, batch.elements[number], skeletons)
            n_true, total = true_atoms(places, facts, comparisons, nodes, values, scratch)
            n_doubtful, decided = _follow(
                n_true, postings, groups.members, outlines, skeletons.verdicts[row], limbs, nodes, scratch
            )
            total += decided
            if n_doubtful:
                serial = scratch.clock[1]
                scratch.clock[1] += len(nodes)
                is_large = len(nodes) > SMALL_NODES
                lists = listed(nodes, values, labels) if is_large else unlisted()
                seen = np.zeros(len(nodes) if is_large else 1, np.int32)
                total += verify(
                    n_doubtful, postings.heads, groups, checks, limbs, nodes, values, state_of, paths, facts,
                    places, entries, lists, seen, scratch, serial
                )  # fmt: skip
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
        reached += facts.steps_ptr[state + 1] - facts.steps_ptr[state]
    return entries if reached <= len(entries) else np.empty((2 * reached, 2), np.int64)


@_kernel
def _note_steps(places, facts, scratch, entries):  # type: ignore[no-untyped-def]
    """Of each step how many nodes it reaches, and in which states: a chain of entries (place, next)."""
    now = scratch.clock[0]
    used = 0
    # The last entry of a chain is followed first, and that is the node highest up.
    for place in range(places.states.size - 1, -1, -1):
        state = places.states[place]
        for at in range(facts.steps_ptr[state], facts.steps_ptr[state + 1]):
            step = facts.steps[at]
            if scratch.step_at[step] != now:
                scratch.step_at[step] = now
                scratch.step_nodes[step] = 0
                scratch.step_head[step] = -1
            scratch.step_nodes[step] += places.ptr[place + 1] - places.ptr[place]
            entries[used, 0] = place
            entries[used, 1] = scratch.step_head[step]
            scratch.step_head[step] = used
            used += 1


@_kernel
def _follow(n_true, postings, members, outlines, verdicts, limbs, nodes, scratch):  # type: ignore[no-untyped-def]
    """(how many groups remain in doubt, how many patterns were marked) of the groups that true atoms lead to; the
    doubtful are listed in `scratch.doubtful`."""
    heads = postings.heads
    n_doubtful = n_marked = 0
    for at in range(n_true):
        atom = scratch.true[at]
        for group in range(postings.ptr[atom], postings.ptr[atom + 1]):
            outline = heads[group, OUTLINE]
            if verdicts[outline] == UNKNOWN:
                verdicts[outline] = verdict_on(outline, outlines, limbs, nodes, scratch)
            if verdicts[outline] == NEVER:
                continue
            is_good = True
            for other in range(heads[group, REST], heads[group + 1, REST]):
                is_good &= scratch.is_true[postings.rest[other]]
            if not is_good:
                continue
            if verdicts[outline] == BY_ATOMS:
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
