"""What atoms leave in doubt: whether limbs fit at the nodes that forks reach."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from feedweir.match.trees.fit_kernels import first_from, fits
from feedweir.match.trees.steps import (
    CONSTANT,
    EQ,
    FIRST,
    FORKS,
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
def mark(first, last, members, marks):  # type: ignore[no-untyped-def]
    for at in range(first, last):
        marks[members[at] >> 6] |= np.uint64(1) << np.uint64(members[at] & 63)
    return last - first


@_kernel
def verify(  # type: ignore[no-untyped-def]
    n_doubtful, heads, groups, checks, limbs, nodes, values, state_of, paths, facts, places, entries, lists,
    seen, scratch, serial,
):  # fmt: skip
    """Mark the doubtful groups that hold: each fork that reaches several nodes fits at one of them, and then all that
    hangs below it is decided. Checks are made once for all groups.

    In a large document only those nodes are tried that have the rarest value or name of the limb below them, if these
    are fewer. All is in one function because handing so many arrays on would cost more than most checks do.
    """
    rows, constants, branch, _ = limbs
    order, places_ptr, lists_ptr, named, memory = (
        places.order,
        places.ptr,
        lists.ptr,
        lists.named,
        scratch.memory,
    )
    check_at, check_holds, fork_nodes = scratch.check_at, scratch.check_holds, scratch.fork_nodes
    now = scratch.clock[0]
    n_marked = 0
    for turn in range(n_doubtful):
        group = scratch.doubtful[turn]
        holds = True
        at = heads[group, FORKS]
        while holds and at < heads[group + 1, FORKS]:
            fork = groups.forks[at]
            if fork_nodes[fork] == 1:
                at += 1
                continue
            check = groups.checks[at]
            at += groups.nexts[at]
            if check_at[check] == now:
                holds = check_holds[check]
                continue
            limb = checks.limb[check]
            holds = False
            kind, low, high = _BY_NAME, np.int64(0), np.int64(1 << 40)
            if lists_ptr.size > 0:
                kind, low, high = _rarest(limb, limbs, lists, scratch.stack)
            if 2 * (high - low) < fork_nodes[fork]:
                while low < high and not holds:
                    node = _listed_at(kind, low, lists)
                    low += 1
                    while node >= 0 and seen[node] != check + 1 and not holds:
                        seen[node] = check + 1
                        if _is_reached(fork, state_of[paths[node]], facts.forks_ptr, facts.forks):
                            holds = fits(
                                limb,
                                node,
                                rows,
                                constants,
                                branch,
                                nodes,
                                values,
                                lists_ptr,
                                named,
                                memory,
                                serial,
                            )
                        node = np.int64(nodes[node, PARENT])
            else:
                entry = scratch.fork_head[fork]
                while entry >= 0 and not holds:
                    low, high = places_ptr[entries[entry, 0]], places_ptr[entries[entry, 0] + 1]
                    while low < high and not holds:
                        holds = fits(
                            limb,
                            order[low],
                            rows,
                            constants,
                            branch,
                            nodes,
                            values,
                            lists_ptr,
                            named,
                            memory,
                            serial,
                        )
                        low += 1
                    entry = entries[entry, 1]
            check_at[check] = now
            check_holds[check] = holds
        if holds:
            n_marked += mark(heads[group, MEMBERS], heads[group + 1, MEMBERS], groups.members, scratch.marks)
    return n_marked


@_kernel
def _is_reached(fork, state, forks_ptr, forks):  # type: ignore[no-untyped-def]
    stop = forks_ptr[state + 1]
    here = first_from(forks, fork, forks_ptr[state], stop)
    return here < stop and forks[here] == fork


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
