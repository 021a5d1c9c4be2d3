"""What atoms leave in doubt: whether limbs fit at the nodes that forks reach."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from feedweir.kernels import njit
from feedweir.match.trees.atom_kernels import mark
from feedweir.match.trees.fit_kernels import first_from, fits
from feedweir.match.trees.steps import (
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
    n_doubtful, heads, groups, checks, limbs, nodes, values, state_of, paths, facts, places, entries, lists,
    seen, scratch, serial,
):  # fmt: skip
    """Mark the doubtful groups that hold: each fork that reaches several nodes fits at one of them, and then all that
    hangs below it is decided. Checks are made once for all groups."""
    document = nodes, values, lists.ptr, lists.named, scratch.memory, serial
    check_at, check_holds, step_nodes = scratch.check_at, scratch.check_holds, scratch.step_nodes
    now = scratch.clock[0]
    n_marked = 0
    for turn in range(n_doubtful):
        group = scratch.doubtful[turn]
        holds = True
        at, stop = groups.forks_ptr[group], groups.forks_ptr[group + 1]
        while holds and at < stop:
            fork, check = groups.forks[at], groups.checks[at]
            if step_nodes[fork] == 1:
                at += 1
                continue
            at += groups.nexts[at]
            if check_at[check] != now:
                check_at[check] = now
                limb = checks.limb[check]
                kind, low, high = _BY_NAME, np.int64(0), np.int64(1 << 40)
                if lists.ptr.size > 0:
                    kind, low, high = _rarest(limb, limbs, lists, scratch.stack)
                if 2 * (high - low) < step_nodes[fork]:
                    holds = _fits_above(
                        check, fork, limb, kind, low, high, limbs, document, state_of, paths, facts, lists, seen
                    )  # fmt: skip
                else:
                    holds = _fits_somewhere(fork, limb, limbs, document, places, entries, scratch.step_head)
                check_holds[check] = holds
            holds = check_holds[check]
        if holds:
            n_marked += mark(heads[group, MEMBERS], heads[group + 1, MEMBERS], groups.members, scratch.marks)
    return n_marked


@_inlined
def _fits_somewhere(fork, limb, limbs, document, places, entries, head):  # type: ignore[no-untyped-def]
    """Whether a limb fits at one of the nodes that a fork reaches."""
    nodes, values, lists_ptr, named, memory, serial = document
    entry = head[fork]
    while entry >= 0:
        place = entries[entry, 0]
        for at in range(places.ptr[place], places.ptr[place + 1]):
            if fits(
                limb, places.order[at], limbs.rows, limbs.number, limbs.branch, nodes, values, lists_ptr,
                named, memory, serial,
            ):  # fmt: skip
                return True
        entry = entries[entry, 1]
    return False


@_inlined
def _fits_above(check, fork, limb, kind, low, high, limbs, document, state_of, paths, facts, lists, seen):  # type: ignore[no-untyped-def]
    """The same in a large document, if fewer nodes have the rarest value or name of the limb: only what is above
    these is tried."""
    nodes, values, lists_ptr, named, memory, serial = document
    for at in range(low, high):
        node = _listed_at(kind, at, lists)
        while node >= 0 and seen[node] != check + 1:
            seen[node] = check + 1
            if _is_reached(fork, state_of[paths[node]], facts.steps_ptr, facts.steps) and fits(
                limb, node, limbs.rows, limbs.number, limbs.branch, nodes, values, lists_ptr, named, memory,
                serial,
            ):  # fmt: skip
                return True
            node = np.int64(nodes[node, PARENT])
    return False


@_kernel
def _is_reached(step, state, steps_ptr, steps):  # type: ignore[no-untyped-def]
    stop = steps_ptr[state + 1]
    here = first_from(steps, step, steps_ptr[state], stop)
    return here < stop and steps[here] == step


@_kernel
def _listed_at(kind, at, lists):  # type: ignore[no-untyped-def]
    if kind == _BY_NAME:
        return lists.named[at]
    return lists.texted[at] if kind == _BY_TEXT else lists.numbered[at]


@_kernel
def _rarest(top, limbs, lists, stack):  # type: ignore[no-untyped-def]
    """(kind of list, low, high): the nodes that have a value or a name that a limb needs, whichever are fewest."""
    kind, low, high = _BY_NAME, np.int64(0), np.int64(1 << 40)
    stack[0] = top
    depth = 1
    while depth > 0:
        depth -= 1
        limb = stack[depth]
        wanted, op = limbs.rows[limb, WANTED], limbs.rows[limb, OP]
        if wanted >= 0 and lists.ptr[wanted + 1] - lists.ptr[wanted] < high - low:
            kind, low, high = _BY_NAME, lists.ptr[wanted], lists.ptr[wanted + 1]
        if op == TEXT_EQ:
            text = np.int64(limbs.rows[limb, CONSTANT])
            start = first_from(lists.texts, text, 0, lists.texts.size)
            stop = first_from(lists.texts, text + 1, start, lists.texts.size)
            if stop - start < high - low:
                kind, low, high = _BY_TEXT, start, stop
        elif op == EQ or op >= LT:
            start, stop = _range(op, limbs.number[limb], lists.numbers)
            if stop - start < high - low:
                kind, low, high = _BY_NUMBER, start, stop
        for place in range(limbs.rows[limb, FIRST], limbs.rows[limb, LAST]):
            stack[depth] = limbs.branch[place]
            depth += 1
    return kind, low, high


@_kernel
def _range(op, number, numbers):  # type: ignore[no-untyped-def]
    """Where in sorted numbers those are that a comparison allows."""
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
