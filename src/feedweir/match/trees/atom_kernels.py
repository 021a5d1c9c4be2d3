"""Which atoms a document makes true: those of each state, by the values of the nodes in it."""

from __future__ import annotations

import numpy as np
from numba import njit

from feedweir.match.trees.steps import EQ, EXISTS, GE, LE, LT, NE, OPERATIONS, TEXT, TEXT_EQ, TEXT_NE

_kernel = njit(cache=True, _nrt=False)


@_kernel
def true_atoms(places, facts, comparisons, compared, nodes, values, scratch):  # type: ignore[no-untyped-def]
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
