"""Which patterns each document of a batch has, on flat arrays, in one pass.

The atoms that are true of a document lead to the groups that are found by them; a group with all its atoms true has an
embedding, unless it branches at a step that reaches several nodes: then one of these must fit as a whole.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from feedweir.match.trees.fit_kernels import first_from, fits
from feedweir.match.trees.steps import (
    CONSTANT,
    EQ,
    EXISTS,
    FIRST,
    FORKS,
    GE,
    GT,
    LABEL,
    LAST,
    LE,
    LT,
    MEMBERS,
    NE,
    OP,
    OPERATIONS,
    PARENT,
    REST,
    TEXT,
    TEXT_EQ,
    TEXT_NE,
    WANTED,
)

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


class Lists(NamedTuple):
    """The nodes of a large document by name, by text and by number."""

    ptr: NDArray[np.int64]
    named: NDArray[np.int64]
    texts: NDArray[np.int64]
    texted: NDArray[np.int64]
    numbers: NDArray[np.float64]
    numbered: NDArray[np.int64]


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
            n_true = _true_atoms(places, facts, comparisons, atoms.compared, nodes, values, scratch)
            n_doubtful, total = _follow(n_true, postings, groups, scratch)
            if n_doubtful:
                serial = scratch.clock[1]
                scratch.clock[1] += len(nodes)
                is_large = len(nodes) > _LARGE
                lists = _listed(nodes, values, labels) if is_large else _unlisted()
                seen = np.zeros(len(nodes) if is_large else 1, np.int32)
                total += _verify(
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
def _true_atoms(places, facts, comparisons, compared, nodes, values, scratch):  # type: ignore[no-untyped-def]
    """How many atoms are true; they are listed in `scratch.true`."""
    noted = scratch.is_true, scratch.true
    limits = comparisons.text, comparisons.number, compared
    count = 0
    for place in range(places.states.size):
        state = places.states[place]
        low, high = places.ptr[place], places.ptr[place + 1]
        for op in range(OPERATIONS):
            start, stop = facts.ops[state, op], facts.ops[state, op + 1]
            if start == stop:
                continue
            if op == EXISTS:
                count = _all_true(facts.atoms, start, stop, noted, count)
            elif op == TEXT_EQ:
                count = _equal_texts(
                    facts.atoms, start, stop, limits, nodes, places.order, low, high, noted, count
                )
            elif op == TEXT_NE:
                count = _unequal_texts(
                    facts.atoms, start, stop, limits, nodes, places.order, low, high, noted, count
                )
            elif op == EQ:
                count = _equal_numbers(
                    facts.atoms, start, stop, limits, values, places.order, low, high, noted, count
                )
            elif op == NE:
                count = _unequal_numbers(
                    facts.atoms, start, stop, limits, values, places.order, low, high, noted, count
                )
            else:
                count = _in_range(
                    op, facts.atoms, start, stop, limits, values, places.order, low, high, noted, count
                )
    return count


@njit(inline="always")
def _make_true(atom, noted, count):  # type: ignore[no-untyped-def]
    is_true, true = noted
    if not is_true[atom]:
        is_true[atom] = True
        true[count] = atom
        count += 1
    return count


@_kernel
def _all_true(atoms, start, stop, noted, count):  # type: ignore[no-untyped-def]
    for at in range(start, stop):
        count = _make_true(atoms[at], noted, count)
    return count


@_kernel
def _equal_texts(atoms, start, stop, limits, nodes, order, low, high, noted, count):  # type: ignore[no-untyped-def]
    for place in range(low, high):
        text = nodes[order[place], TEXT]
        if text < 0:
            continue
        first, last = start, stop
        while first < last:
            middle = (first + last) >> 1
            if limits[0][limits[2][atoms[middle]]] < text:
                first = middle + 1
            else:
                last = middle
        while first < stop and limits[0][limits[2][atoms[first]]] == text:
            count = _make_true(atoms[first], noted, count)
            first += 1
    return count


@_kernel
def _unequal_texts(atoms, start, stop, limits, nodes, order, low, high, noted, count):  # type: ignore[no-untyped-def]
    """All are true, but for the only text that there is."""
    only = nodes[order[low], TEXT]
    for place in range(low, high):
        if nodes[order[place], TEXT] != only:
            only = -1
    for at in range(start, stop):
        if only < 0 or limits[0][limits[2][atoms[at]]] != only:
            count = _make_true(atoms[at], noted, count)
    return count


@_kernel
def _first_number(atoms, start, stop, limits, number, is_after):  # type: ignore[no-untyped-def]
    """The first atom that compares with a number not smaller, or larger."""
    while start < stop:
        middle = (start + stop) >> 1
        limit = limits[1][limits[2][atoms[middle]]]
        if limit < number or (is_after and limit == number):
            start = middle + 1
        else:
            stop = middle
    return start


@_kernel
def _equal_numbers(atoms, start, stop, limits, values, order, low, high, noted, count):  # type: ignore[no-untyped-def]
    for place in range(low, high):
        number = values[order[place]]
        if number != number:
            continue
        at = _first_number(atoms, start, stop, limits, number, False)
        while at < stop and limits[1][limits[2][atoms[at]]] == number:
            count = _make_true(atoms[at], noted, count)
            at += 1
    return count


@_kernel
def _unequal_numbers(atoms, start, stop, limits, values, order, low, high, noted, count):  # type: ignore[no-untyped-def]
    """All are true, but for the only number that there is."""
    only = values[order[low]]
    for place in range(low, high):
        if values[order[place]] != only:
            only = np.nan
    for at in range(start, stop):
        if limits[1][limits[2][atoms[at]]] != only:
            count = _make_true(atoms[at], noted, count)
    return count


@_kernel
def _in_range(op, atoms, start, stop, limits, values, order, low, high, noted, count):  # type: ignore[no-untyped-def]
    """A range needs only the extremes."""
    least, most = np.inf, -np.inf
    is_known = False
    for place in range(low, high):
        number = values[order[place]]
        if number == number:
            is_known = True
            least, most = min(least, number), max(most, number)
    if not is_known:
        return count
    if op == LT or op == LE:
        start = _first_number(atoms, start, stop, limits, least, op == LT)
    else:
        stop = _first_number(atoms, start, stop, limits, most, op == GE)
    return _all_true(atoms, start, stop, noted, count)


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
                n_marked += _mark(heads[group, MEMBERS], heads[group + 1, MEMBERS], members, marks)
            else:
                doubtful[n_doubtful] = group
                n_doubtful += 1
    for at in range(n_true):
        is_true[true[at]] = False
    return n_doubtful, n_marked


@_kernel
def _mark(first, last, members, marks):  # type: ignore[no-untyped-def]
    for at in range(first, last):
        marks[members[at] >> 6] |= np.uint64(1) << np.uint64(members[at] & 63)
    return last - first


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


@njit(cache=True)
def _unlisted():  # type: ignore[no-untyped-def]
    nothing = np.empty(0, np.int64)
    return Lists(nothing, nothing, nothing, nothing, np.empty(0), nothing)


@njit(cache=True)
def _listed(nodes, values, labels):  # type: ignore[no-untyped-def]
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
def _verify(  # type: ignore[no-untyped-def]
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
            n_marked += _mark(heads[group, MEMBERS], heads[group + 1, MEMBERS], groups.members, scratch.marks)
    return n_marked


@_kernel
def _is_reached(fork, state, forks_ptr, forks):  # type: ignore[no-untyped-def]
    stop = forks_ptr[state + 1]
    here = first_from(forks, fork, forks_ptr[state], stop)
    return here < stop and forks[here] == fork


_BY_NAME, _BY_TEXT, _BY_NUMBER = 0, 1, 2


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
