"""What atoms leave in doubt: whether steps fit at the nodes that branching steps reach."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from feedweir.kernels import njit
from feedweir.match.trees.fit_kernels import first_from, fits
from feedweir.match.trees.tree_codes import (
    CONSTANT,
    EQ,
    FIRST,
    GE,
    GT,
    LABEL,
    LAST,
    LE,
    LT,
    MEMBERS,
    OP,
    PARENT,
    TEXT,
    TEXT_EQ,
    WANTED,
)
from feedweir.match.trees.true_atom_kernels import mark

_kernel = njit(cache=True, _nrt=False)
_inlined = njit(inline="always")
"""Handing on so many arrays would cost more than most checks do."""


class Lists(NamedTuple):
    """The nodes of a large document by name, by text and by number."""

    ptr: NDArray[np.int64]
    named: NDArray[np.int64]
    texts: NDArray[np.int64]
    texted: NDArray[np.int64]
    numbers: NDArray[np.float64]
    numbered: NDArray[np.int64]


_BY_NAME, _BY_TEXT, _BY_NUMBER = 0, 1, 2


@njit(cache=True)
def unlisted():  # type: ignore[no-untyped-def]
    nothing = np.empty(0, np.int64)
    return Lists(nothing, nothing, nothing, nothing, np.empty(0), nothing)


@njit(cache=True)
def listed(nodes, values, labels):  # type: ignore[no-untyped-def]
    ptr = np.zeros(labels + 1, np.int64)
    for node in range(len(nodes)):
        if nodes[node, LABEL] >= 0:
            ptr[nodes[node, LABEL] + 1] += 1
    ptr = np.cumsum(ptr)
    filled = ptr[:-1].copy()
    named = np.empty(ptr[-1], np.int64)
    for node in range(len(nodes)):
        label = nodes[node, LABEL]
        if label >= 0:
            named[filled[label]] = node
            filled[label] += 1
    texts = nodes[:, TEXT].astype(np.int64)
    texted = np.flatnonzero(texts >= 0)
    texted = texted[np.argsort(texts[texted])]
    numbered = np.flatnonzero(~np.isnan(values))
    numbered = numbered[np.argsort(values[numbered])]
    return Lists(ptr, named, texts[texted], texted, values[numbered], numbered)


@_kernel
def verify(  # type: ignore[no-untyped-def]
    n_doubtful, heads, groups, checks, steps, nodes, values, state_of, paths, facts, places, entries, lists,
    seen, scratch, serial,
):  # fmt: skip
    """Mark the doubtful groups that hold: each branching step that reaches several nodes fits at one of them, and then
    all that hangs below it is decided. Each check is made once for all groups.

    scratch.doubtful  5 9 …             groups to be verified
    branchings        r1 r4 r7 | …      of each group the routes at which it branches, in pre-order
    checks, nexts      2  5  6 | …      the check that decides each; how far the next one that does not hang below is
    check_at, _holds  by check          the document in which a check was last made, and its result
    """
    document = nodes, values, lists.ptr, lists.named, scratch.memory, serial
    check_at, check_holds, route_nodes = scratch.check_at, scratch.check_holds, scratch.route_nodes
    now = scratch.clock[0]
    n_marked = 0
    for turn in range(n_doubtful):
        group = scratch.doubtful[turn]
        holds = True
        at, stop = groups.branchings_ptr[group], groups.branchings_ptr[group + 1]
        # one branching step after the other; what hangs below one that was checked is passed over
        while holds and at < stop:
            branching, check = groups.branchings[at], groups.checks[at]
            if route_nodes[branching] == 1:
                at += 1
                continue
            at += groups.nexts[at]
            # a check is made once a document: from the rarest name or value upwards, or at each node reached
            if check_at[check] != now:
                check_at[check] = now
                step = checks.step[check]
                kind, low, high = _BY_NAME, np.int64(0), np.int64(1 << 40)
                if lists.ptr.size > 0:
                    kind, low, high = _rarest(step, steps, lists, scratch.stack)
                if 2 * (high - low) < route_nodes[branching]:
                    holds = _fits_above(
                        check, branching, step, kind, low, high, steps, document, state_of, paths, facts, lists, seen
                    )  # fmt: skip
                else:
                    holds = _fits_somewhere(
                        branching, step, steps, document, places, entries, scratch.route_head
                    )
                check_holds[check] = holds
            holds = check_holds[check]
        if holds:
            n_marked += mark(heads[group, MEMBERS], heads[group + 1, MEMBERS], groups.members, scratch.marks)
    return n_marked


@_inlined
def _fits_somewhere(branching, step, steps, document, places, entries, head):  # type: ignore[no-untyped-def]
    """Whether a step fits at one of the nodes that a branching step reaches."""
    nodes, values, lists_ptr, named, memory, serial = document
    entry = head[branching]
    while entry >= 0:
        place = entries[entry, 0]
        for at in range(places.ptr[place], places.ptr[place + 1]):
            if fits(
                step, places.order[at], steps.rows, steps.number, steps.branch, nodes, values, lists_ptr,
                named, memory, serial,
            ):  # fmt: skip
                return True
        entry = entries[entry, 1]
    return False


@_inlined
def _fits_above(  # type: ignore[no-untyped-def]
    check, branching, step, kind, low, high, steps, document, state_of, paths, facts, lists, seen
):
    """The same in a large document, if fewer nodes have the rarest value or name of the step: only what is above these
    is tried.

    lists[low:high]  nodes with that value or name; from each the walk goes up to the root
    seen             of each node the check, plus one, that last tried it: no node is tried twice
    """
    nodes, values, lists_ptr, named, memory, serial = document
    for at in range(low, high):
        node = _listed_at(kind, at, lists)
        while node >= 0 and seen[node] != check + 1:
            seen[node] = check + 1
            if _is_reached(branching, state_of[paths[node]], facts.routes_ptr, facts.routes) and fits(
                step, node, steps.rows, steps.number, steps.branch, nodes, values, lists_ptr, named, memory,
                serial,
            ):  # fmt: skip
                return True
            node = np.int64(nodes[node, PARENT])
    return False


@_kernel
def _is_reached(route, state, routes_ptr, routes):  # type: ignore[no-untyped-def]
    stop = routes_ptr[state + 1]
    here = first_from(routes, route, routes_ptr[state], stop)
    return here < stop and routes[here] == route


@_kernel
def _listed_at(kind, at, lists):  # type: ignore[no-untyped-def]
    if kind == _BY_NAME:
        return lists.named[at]
    return lists.texted[at] if kind == _BY_TEXT else lists.numbered[at]


@_kernel
def _rarest(top, steps, lists, stack):  # type: ignore[no-untyped-def]
    """(kind of list, low, high): the fewest nodes that have a value or a name that the step needs."""
    kind, low, high = _BY_NAME, np.int64(0), np.int64(1 << 40)
    stack[0] = top
    depth = 1
    while depth > 0:
        depth -= 1
        step = stack[depth]
        wanted, op = steps.rows[step, WANTED], steps.rows[step, OP]
        if wanted >= 0 and lists.ptr[wanted + 1] - lists.ptr[wanted] < high - low:
            kind, low, high = _BY_NAME, lists.ptr[wanted], lists.ptr[wanted + 1]
        if op == TEXT_EQ:
            text = np.int64(steps.rows[step, CONSTANT])
            start = first_from(lists.texts, text, 0, lists.texts.size)
            stop = first_from(lists.texts, text + 1, start, lists.texts.size)
            if stop - start < high - low:
                kind, low, high = _BY_TEXT, start, stop
        elif op == EQ or op >= LT:
            start, stop = _range(op, steps.number[step], lists.numbers)
            if stop - start < high - low:
                kind, low, high = _BY_NUMBER, start, stop
        for place in range(steps.rows[step, FIRST], steps.rows[step, LAST]):
            stack[depth] = steps.branch[place]
            depth += 1
    return kind, low, high


@_kernel
def _range(op, number, numbers):  # type: ignore[no-untyped-def]
    """The stretch of sorted numbers that a comparison allows."""
    low, high = np.int64(0), np.int64(numbers.size)
    if op == EQ or op == GE:
        low = first_from(numbers, number, low, high)
    if op == GT:
        low = _first_above(numbers, number)
    if op == LT:
        high = first_from(numbers, number, low, high)
    if op == EQ or op == LE:
        high = _first_above(numbers, number)
    return low, high


@_kernel
def _first_above(numbers, number):  # type: ignore[no-untyped-def]
    low, high = np.int64(0), np.int64(numbers.size)
    while low < high:
        middle = (low + high) >> 1
        if numbers[middle] <= number:
            low = middle + 1
        else:
            high = middle
    return low
