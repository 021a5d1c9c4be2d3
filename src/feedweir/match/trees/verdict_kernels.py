"""What the structure of a document says of an outline, its values left aside.

A pattern is there when its atoms are true, if they can only be true of nodes that are parts of one and the same
embedding. Where each step at which it branches reaches one node only, that is clear; in a small document the sets of
nodes are worked out that the steps can be in whole embeddings.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from feedweir.kernels import njit
from feedweir.match.trees.skeleton_kernels import SMALL_NODES
from feedweir.match.trees.steps import (
    ANY_ATTRIBUTE,
    ANY_ELEMENT,
    AXIS,
    BY_ATOMS,
    EXISTS,
    FIRST,
    IN_DOUBT,
    LABEL,
    LAST,
    NEVER,
    OP,
    PARENT,
    WANTED,
)

_kernel = njit(cache=True, _nrt=False)
_LIMB, _UP, _REACHED, _FITTING = range(4)
"""Columns of an outline's steps, those above before those below; the last two are sets of nodes."""
STEP_COLUMNS = 4


class Outlines(NamedTuple):
    """Of each outline the steps at which it ends or compares, those at which it branches, and one of its limbs."""

    ends_ptr: NDArray[np.int64]
    ends: NDArray[np.int32]
    forks_ptr: NDArray[np.int64]
    forks: NDArray[np.int32]
    limb: NDArray[np.int32]


@_kernel
def note_above(nodes, above):  # type: ignore[no-untyped-def]
    """Of each node of a small document its parent, and all nodes above it, as sets."""
    if len(nodes) > SMALL_NODES:
        return
    for node in range(len(nodes)):
        parent = nodes[node, PARENT]
        above[node, 0] = np.int64(1) << parent if parent >= 0 else 0
        above[node, 1] = above[parent, 1] | above[node, 0] if parent >= 0 else 0


@_kernel
def verdict_on(outline, outlines, limbs, nodes, scratch):  # type: ignore[no-untyped-def]
    now = scratch.clock[0]
    for at in range(outlines.ends_ptr[outline], outlines.ends_ptr[outline + 1]):
        if scratch.step_at[outlines.ends[at]] != now:
            return NEVER
    is_single = True
    for at in range(outlines.forks_ptr[outline], outlines.forks_ptr[outline + 1]):
        is_single &= scratch.step_nodes[outlines.forks[at]] == 1
    if is_single:
        return BY_ATOMS
    if len(nodes) > SMALL_NODES:
        return IN_DOUBT
    steps = scratch.steps
    count = _steps_of(outlines.limb[outline], limbs.rows, limbs.branch, steps)
    for step in range(count):
        steps[step, _REACHED] = _reached(step, steps, limbs.rows, nodes, scratch.above)
    if not _fit(count, len(nodes), steps, limbs.rows, scratch.above):
        return NEVER
    return BY_ATOMS if _is_decided(count, steps, limbs.rows) else IN_DOUBT


@_kernel
def _steps_of(root, rows, branch, steps):  # type: ignore[no-untyped-def]
    steps[0, _LIMB] = root
    steps[0, _UP] = -1
    at, count = 0, 1
    while at < count:
        limb = steps[at, _LIMB]
        for place in range(rows[limb, FIRST], rows[limb, LAST]):
            steps[count, _LIMB] = branch[place]
            steps[count, _UP] = at
            count += 1
        at += 1
    return count


@_kernel
def _reached(step, steps, rows, nodes, above):  # type: ignore[no-untyped-def]
    """The nodes that have the name of a step and are where it leads."""
    limb, up = steps[step, _LIMB], steps[step, _UP]
    wanted, axis = rows[limb, WANTED], rows[limb, AXIS]
    reached = np.int64(0)
    for node in range(len(nodes)):
        label = nodes[node, LABEL]
        is_any = wanted == ANY_ELEMENT or wanted == ANY_ATTRIBUTE
        if label != wanted if not is_any else (label ^ wanted) & 1:
            continue
        is_there = axis == 1 or above[node, 0] == 0
        if up >= 0:
            is_there = above[node, axis] & steps[up, _REACHED] != 0
        if is_there:
            reached |= np.int64(1) << node
    return reached


@_kernel
def _fit(count, n_nodes, steps, rows, above):  # type: ignore[no-untyped-def]
    """Leave of the nodes reached those that a step can be in a whole embedding; False when there is none."""
    for step in range(count):
        steps[step, _FITTING] = steps[step, _REACHED]
    for step in range(count - 1, 0, -1):
        axis = rows[steps[step, _LIMB], AXIS]
        wanted_above = np.int64(0)
        for node in range(n_nodes):
            if steps[step, _FITTING] >> node & 1:
                wanted_above |= above[node, axis]
        steps[steps[step, _UP], _FITTING] &= wanted_above
    for step in range(1, count):
        axis = rows[steps[step, _LIMB], AXIS]
        fitting = steps[steps[step, _UP], _FITTING]
        for node in range(n_nodes):
            if steps[step, _FITTING] >> node & 1 and above[node, axis] & fitting == 0:
                steps[step, _FITTING] ^= np.int64(1) << node
    return steps[0, _FITTING] != 0


@_kernel
def _is_decided(count, steps, rows):  # type: ignore[no-untyped-def]
    """Whether the atoms decide: wherever one can be true it is part of an embedding, and if there are several that
    compare, the embedding is the same: it branches at the same nodes."""
    compared = 0
    is_single = True
    for step in range(count):
        limb, fitting = steps[step, _LIMB], steps[step, _FITTING]
        branches = rows[limb, LAST] - rows[limb, FIRST]
        compares = rows[limb, OP] != EXISTS
        if compares and fitting != steps[step, _REACHED]:
            return False
        compared += compares
        if branches > 1 or (branches == 1 and compares):
            is_single &= fitting & (fitting - 1) == 0
    return compared < 2 or is_single
