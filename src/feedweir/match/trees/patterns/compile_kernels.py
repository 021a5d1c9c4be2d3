"""Patterns as routes: the paths from the root that they share, and where each ends, compares and branches."""

from __future__ import annotations

import numpy as np

from feedweir.kernels import njit

_EMPTY = -1


@njit(cache=True)
def sizes_of(rows, branch):  # type: ignore[no-untyped-def]
    """How many steps each step consists of, branches counted wherever they hang."""
    sizes = np.ones(len(rows), np.int64)
    for step in range(len(rows)):
        for place in range(rows[step, 4], rows[step, 5]):
            sizes[step] += sizes[branch[place]]
    return sizes


@njit(cache=True)
def lay_out(roots, rows, branch, compared, sizes):  # type: ignore[no-untyped-def]
    """(routes, ends, ends_ptr, branchings, branchings_ptr) of patterns.

    Routes are rows (parent, axis, label), from 1. Ends are rows (route, comparison) at which a pattern ends or
    compares. Branchings are rows (route, step, next) at which it branches, or compares further up than at an end, in
    pre-order; `next` is how far it is to the next branching that does not hang below.
    """
    room = sizes[roots].sum()
    routes = np.empty((2048, 3), np.int32)
    routes[0] = (-1, 0, 0)
    known = 1
    slots = np.full(4096, _EMPTY, np.int32)
    ends = np.empty((room, 2), np.int32)
    branchings = np.empty((room, 3), np.int32)
    ends_ptr = np.zeros(len(roots) + 1, np.int64)
    branchings_ptr = np.zeros(len(roots) + 1, np.int64)
    stack = np.empty((256, 2), np.int32)
    n_ends = n_branchings = 0
    for pattern in range(len(roots)):
        stack[0, 0] = roots[pattern]
        stack[0, 1] = 0
        depth = 1
        turn = 0
        while depth > 0:
            depth -= 1
            step, above = stack[depth]
            if 2 * known >= slots.size:
                routes, slots = _grown(routes, known, slots.size)
            route = _route(above, rows[step, 1], rows[step, 0], routes, known, slots)
            known = max(known, route + 1)
            below = rows[step, 5] - rows[step, 4]
            if below == 0 or compared[step] > 0:
                ends[n_ends, 0] = route
                ends[n_ends, 1] = compared[step]
                n_ends += 1
            if below > 1 or (below == 1 and compared[step] > 0):
                branchings[n_branchings, 0] = route
                branchings[n_branchings, 1] = step
                branchings[n_branchings, 2] = turn
                n_branchings += 1
            for place in range(rows[step, 5] - 1, rows[step, 4] - 1, -1):
                stack[depth, 0] = branch[place]
                stack[depth, 1] = route
                depth += 1
            turn += 1
        ends_ptr[pattern + 1] = n_ends
        branchings_ptr[pattern + 1] = n_branchings
        _link(branchings, branchings_ptr[pattern], n_branchings, sizes)
    return (
        routes[:known].copy(),
        ends[:n_ends].copy(),
        ends_ptr,
        branchings[:n_branchings].copy(),
        branchings_ptr,
    )


@njit(cache=True)
def _link(branchings, first, last, sizes):  # type: ignore[no-untyped-def]
    """Replace the turn in which each branching step was met by the distance to the next one that is not below it."""
    for branching in range(first, last):
        after = branching + 1
        while (
            after < last and branchings[after, 2] < branchings[branching, 2] + sizes[branchings[branching, 1]]
        ):
            after += 1
        branchings[branching, 2] = after - branching


@njit(cache=True)
def _slot(above, axis, label, size):  # type: ignore[no-untyped-def]
    mixed = (np.uint64(above) * np.uint64(0x9E3779B97F4A7C15)) ^ np.uint64(2 * (label + 8) + axis)
    mixed *= np.uint64(0xC2B2AE3D27D4EB4F)
    return np.int64((mixed >> np.uint64(32)) & np.uint64(size - 1))


@njit(cache=True)
def _route(above, axis, label, routes, known, slots):  # type: ignore[no-untyped-def]
    """The number of a route; a new one is appended as number `known`."""
    slot = _slot(above, axis, label, slots.size)
    while slots[slot] != _EMPTY:
        route = slots[slot]
        if routes[route, 0] == above and routes[route, 1] == axis and routes[route, 2] == label:
            return np.int64(route)
        slot = (slot + 1) & (slots.size - 1)
    slots[slot] = known
    routes[known, 0] = above
    routes[known, 1] = axis
    routes[known, 2] = label
    return np.int64(known)


@njit(cache=True)
def _grown(routes, known, size):  # type: ignore[no-untyped-def]
    grown = np.empty((2 * size, 3), np.int32)
    grown[:known] = routes[:known]
    slots = np.full(4 * size, _EMPTY, np.int32)
    for route in range(1, known):
        slot = _slot(grown[route, 0], grown[route, 1], grown[route, 2], slots.size)
        while slots[slot] != _EMPTY:
            slot = (slot + 1) & (slots.size - 1)
        slots[slot] = route
    return grown, slots
