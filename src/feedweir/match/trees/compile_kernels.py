"""Limbs laid out: the shared steps from the document's root, and of each pattern where it ends, compares and
branches."""

from __future__ import annotations

import numpy as np

from feedweir.kernels import njit

_EMPTY = -1


@njit(cache=True)
def sizes_of(rows, branch):  # type: ignore[no-untyped-def]
    """How many limbs each limb consists of, branches counted wherever they hang."""
    sizes = np.ones(len(rows), np.int64)
    for limb in range(len(rows)):
        for place in range(rows[limb, 4], rows[limb, 5]):
            sizes[limb] += sizes[branch[place]]
    return sizes


@njit(cache=True)
def lay_out(roots, rows, branch, compared, sizes):  # type: ignore[no-untyped-def]
    """(steps, ends, ends_ptr, forks, forks_ptr) of patterns.

    Steps are rows (parent, axis, label), from 1. Ends are rows (step, comparison) at which a pattern ends or
    compares. Forks are rows (step, limb, next) at which it branches, or compares further up than at an end, in
    pre-order; `next` is how far it is to the next fork that does not hang below.
    """
    room = sizes[roots].sum()
    steps = np.empty((2048, 3), np.int32)
    steps[0] = (-1, 0, 0)
    known = 1
    slots = np.full(4096, _EMPTY, np.int32)
    ends = np.empty((room, 2), np.int32)
    forks = np.empty((room, 3), np.int32)
    ends_ptr = np.zeros(len(roots) + 1, np.int64)
    forks_ptr = np.zeros(len(roots) + 1, np.int64)
    stack = np.empty((256, 2), np.int32)
    n_ends = n_forks = 0
    for pattern in range(len(roots)):
        stack[0, 0] = roots[pattern]
        stack[0, 1] = 0
        depth = 1
        turn = 0
        while depth > 0:
            depth -= 1
            limb, above = stack[depth]
            if 2 * known >= slots.size:
                steps, slots = _grown(steps, known, slots.size)
            step = _step(above, rows[limb, 1], rows[limb, 0], steps, known, slots)
            known = max(known, step + 1)
            below = rows[limb, 5] - rows[limb, 4]
            if below == 0 or compared[limb] > 0:
                ends[n_ends, 0] = step
                ends[n_ends, 1] = compared[limb]
                n_ends += 1
            if below > 1 or (below == 1 and compared[limb] > 0):
                forks[n_forks, 0] = step
                forks[n_forks, 1] = limb
                forks[n_forks, 2] = turn
                n_forks += 1
            for place in range(rows[limb, 5] - 1, rows[limb, 4] - 1, -1):
                stack[depth, 0] = branch[place]
                stack[depth, 1] = step
                depth += 1
            turn += 1
        ends_ptr[pattern + 1] = n_ends
        forks_ptr[pattern + 1] = n_forks
        _link(forks, forks_ptr[pattern], n_forks, sizes)
    return steps[:known].copy(), ends[:n_ends].copy(), ends_ptr, forks[:n_forks].copy(), forks_ptr


@njit(cache=True)
def _link(forks, first, last, sizes):  # type: ignore[no-untyped-def]
    """Put the distance to the next fork that is not below in the place of the turn in which a fork was met."""
    for fork in range(first, last):
        after = fork + 1
        while after < last and forks[after, 2] < forks[fork, 2] + sizes[forks[fork, 1]]:
            after += 1
        forks[fork, 2] = after - fork


@njit(cache=True)
def _slot(above, axis, label, size):  # type: ignore[no-untyped-def]
    mixed = (np.uint64(above) * np.uint64(0x9E3779B97F4A7C15)) ^ np.uint64(2 * (label + 8) + axis)
    mixed *= np.uint64(0xC2B2AE3D27D4EB4F)
    return np.int64((mixed >> np.uint64(32)) & np.uint64(size - 1))


@njit(cache=True)
def _step(above, axis, label, steps, known, slots):  # type: ignore[no-untyped-def]
    """The number of a step; `known` when it is new, and then it is written down."""
    slot = _slot(above, axis, label, slots.size)
    while slots[slot] != _EMPTY:
        step = slots[slot]
        if steps[step, 0] == above and steps[step, 1] == axis and steps[step, 2] == label:
            return np.int64(step)
        slot = (slot + 1) & (slots.size - 1)
    slots[slot] = known
    steps[known, 0] = above
    steps[known, 1] = axis
    steps[known, 2] = label
    return np.int64(known)


@njit(cache=True)
def _grown(steps, known, size):  # type: ignore[no-untyped-def]
    grown = np.empty((2 * size, 3), np.int32)
    grown[:known] = steps[:known]
    slots = np.full(4 * size, _EMPTY, np.int32)
    for step in range(1, known):
        slot = _slot(grown[step, 0], grown[step, 1], grown[step, 2], slots.size)
        while slots[slot] != _EMPTY:
            slot = (slot + 1) & (slots.size - 1)
        slots[slot] = step
    return grown, slots
