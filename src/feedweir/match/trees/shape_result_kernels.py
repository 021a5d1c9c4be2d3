"""What the structure of a document says of a pattern shape, values left aside.

A pattern is there when its atoms are true, if they can only be true of nodes that are parts of one and the same
embedding. Where each step at which it branches reaches one node only, that is clear; in a small document the sets of
nodes are worked out that the steps can be in whole embeddings.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from feedweir.kernels import njit
from feedweir.match.trees.documents.document_shape_kernels import SMALL_NODES
from feedweir.match.trees.tree_codes import (
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
_STEP, _UP, _REACHED, _FITTING = range(4)
"""Columns of the parts of a pattern shape, those above before those below; the last two are sets of nodes."""
PART_COLUMNS = 4


class PatternShapes(NamedTuple):
    """Of each shape the routes at which it ends or compares, those at which it branches, and one of its root steps."""

    ends_ptr: NDArray[np.int64]
    ends: NDArray[np.int32]
    branchings_ptr: NDArray[np.int64]
    branchings: NDArray[np.int32]
    step: NDArray[np.int32]


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
def result_on(shape, shapes, steps, nodes, scratch):  # type: ignore[no-untyped-def]
    now = scratch.clock[0]
    for at in range(shapes.ends_ptr[shape], shapes.ends_ptr[shape + 1]):
        if scratch.route_at[shapes.ends[at]] != now:
            return NEVER
    is_single = True
    for at in range(shapes.branchings_ptr[shape], shapes.branchings_ptr[shape + 1]):
        is_single &= scratch.route_nodes[shapes.branchings[at]] == 1
    if is_single:
        return BY_ATOMS
    if len(nodes) > SMALL_NODES:
        return IN_DOUBT
    parts = scratch.parts
    count = _parts_of(shapes.step[shape], steps.rows, steps.branch, parts)
    for part in range(count):
        parts[part, _REACHED] = _reached(part, parts, steps.rows, nodes, scratch.above)
    if not _fit(count, len(nodes), parts, steps.rows, scratch.above):
        return NEVER
    return BY_ATOMS if _is_decided(count, parts, steps.rows) else IN_DOUBT


@_kernel
def _parts_of(root, rows, branch, parts):  # type: ignore[no-untyped-def]
    parts[0, _STEP] = root
    parts[0, _UP] = -1
    at, count = 0, 1
    while at < count:
        step = parts[at, _STEP]
        for place in range(rows[step, FIRST], rows[step, LAST]):
            parts[count, _STEP] = branch[place]
            parts[count, _UP] = at
            count += 1
        at += 1
    return count


@_kernel
def _reached(part, parts, rows, nodes, above):  # type: ignore[no-untyped-def]
    """The nodes that have the name of a part and lie where it leads."""
    step, up = parts[part, _STEP], parts[part, _UP]
    wanted, axis = rows[step, WANTED], rows[step, AXIS]
    reached = np.int64(0)
    for node in range(len(nodes)):
        label = nodes[node, LABEL]
        is_any = wanted == ANY_ELEMENT or wanted == ANY_ATTRIBUTE
        if label != wanted if not is_any else (label ^ wanted) & 1:
            continue
        is_there = axis == 1 or above[node, 0] == 0
        if up >= 0:
            is_there = above[node, axis] & parts[up, _REACHED] != 0
        if is_there:
            reached |= np.int64(1) << node
    return reached


@_kernel
def _fit(count, n_nodes, parts, rows, above):  # type: ignore[no-untyped-def]
    """Keep of the nodes reached those that a part can be in a whole embedding; False when there is none."""
    for part in range(count):
        parts[part, _FITTING] = parts[part, _REACHED]
    for part in range(count - 1, 0, -1):
        axis = rows[parts[part, _STEP], AXIS]
        wanted_above = np.int64(0)
        for node in range(n_nodes):
            if parts[part, _FITTING] >> node & 1:
                wanted_above |= above[node, axis]
        parts[parts[part, _UP], _FITTING] &= wanted_above
    for part in range(1, count):
        axis = rows[parts[part, _STEP], AXIS]
        fitting = parts[parts[part, _UP], _FITTING]
        for node in range(n_nodes):
            if parts[part, _FITTING] >> node & 1 and above[node, axis] & fitting == 0:
                parts[part, _FITTING] ^= np.int64(1) << node
    return parts[0, _FITTING] != 0


@_kernel
def _is_decided(count, parts, rows):  # type: ignore[no-untyped-def]
    """Whether the atoms decide: wherever one can be true it is part of an embedding, and if there are several that
    compare, the embedding is the same: it branches at the same nodes."""
    compared = 0
    is_single = True
    for part in range(count):
        step, fitting = parts[part, _STEP], parts[part, _FITTING]
        branches = rows[step, LAST] - rows[step, FIRST]
        compares = rows[step, OP] != EXISTS
        if compares and fitting != parts[part, _REACHED]:
            return False
        compared += compares
        if branches > 1 or (branches == 1 and compares):
            is_single &= fitting & (fitting - 1) == 0
    return compared < 2 or is_single
