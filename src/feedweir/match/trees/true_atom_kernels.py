"""Which atoms a document makes true: those of each state, by the values of the nodes in it.

The atoms of a state are sorted by what they compare with, so a value makes stretches of them true. The patterns that a
stretch decides alone are marked there and then; the atoms that patterns with branches ask are noted.
"""

from __future__ import annotations

import numpy as np

from feedweir.kernels import njit
from feedweir.match.trees.tree_codes import EQ, EXISTS, GE, LE, LT, NE, OPERATIONS, TEXT, TEXT_EQ, TEXT_NE

_kernel = njit(cache=True, _nrt=False)


@_kernel
def true_atoms(places, facts, comparisons, nodes, values, scratch):  # type: ignore[no-untyped-def]
    """(how many atoms are true that patterns with branches ask, how many patterns were marked): the atoms are listed in
    `scratch.true`, a pattern may be marked more than once."""
    limits = comparisons.text, comparisons.number, facts.compared
    noted = facts, scratch.is_true, scratch.true, scratch.marks
    count = 0, 0
    for place in range(places.states.size):
        state = places.states[place]
        of_nodes = places.order, places.ptr[place], places.ptr[place + 1]
        for op in range(OPERATIONS):
            start, stop = facts.ops[state, op], facts.ops[state, op + 1]
            if start == stop:
                continue
            if op == EXISTS:
                count = _make_true(start, stop, noted, count)
            elif op == TEXT_EQ:
                count = _equal_texts(start, stop, limits, nodes, of_nodes, noted, count)
            elif op == TEXT_NE:
                count = _unequal_texts(start, stop, limits, nodes, of_nodes, noted, count)
            elif op == EQ:
                count = _equal_numbers(start, stop, limits, values, of_nodes, noted, count)
            elif op == NE:
                count = _unequal_numbers(start, stop, limits, values, of_nodes, noted, count)
            else:
                count = _in_range(op, start, stop, limits, values, of_nodes, noted, count)
    return count


@_kernel
def mark(first, last, members, marks):  # type: ignore[no-untyped-def]
    for at in range(first, last):
        marks[members[at] >> 6] |= np.uint64(1) << np.uint64(members[at] & 63)
    return last - first


@_kernel
def _make_true(start, stop, noted, count):  # type: ignore[no-untyped-def]
    facts, is_true, true, marks = noted
    n_true, n_marked = count
    n_marked += mark(facts.plain_ptr[start], facts.plain_ptr[stop], facts.plain, marks)
    for at in range(facts.busy_ptr[start], facts.busy_ptr[stop]):
        atom = facts.busy[at]
        if not is_true[atom]:
            is_true[atom] = True
            true[n_true] = atom
            n_true += 1
    return n_true, n_marked


@_kernel
def _first_text(start, stop, limits, text):  # type: ignore[no-untyped-def]
    """The first atom that compares with this text or a later one."""
    while start < stop:
        middle = (start + stop) >> 1
        if limits[0][limits[2][middle]] < text:
            start = middle + 1
        else:
            stop = middle
    return start


@_kernel
def _first_number(start, stop, limits, number, is_after):  # type: ignore[no-untyped-def]
    """The first atom that compares with a number not smaller, or larger."""
    while start < stop:
        middle = (start + stop) >> 1
        limit = limits[1][limits[2][middle]]
        if limit < number or (is_after and limit == number):
            start = middle + 1
        else:
            stop = middle
    return start


@_kernel
def _equal_texts(start, stop, limits, nodes, of_nodes, noted, count):  # type: ignore[no-untyped-def]
    order, low, high = of_nodes
    for place in range(low, high):
        text = nodes[order[place], TEXT]
        if text >= 0:
            first = _first_text(start, stop, limits, text)
            count = _make_true(first, _first_text(first, stop, limits, text + 1), noted, count)
    return count


@_kernel
def _unequal_texts(start, stop, limits, nodes, of_nodes, noted, count):  # type: ignore[no-untyped-def]
    """All atoms are true, except that of the only text, where there is just one."""
    order, low, high = of_nodes
    only = nodes[order[low], TEXT]
    for place in range(low, high):
        if nodes[order[place], TEXT] != only:
            only = -1
    if only < 0:
        return _make_true(start, stop, noted, count)
    first = _first_text(start, stop, limits, only)
    count = _make_true(start, first, noted, count)
    return _make_true(_first_text(first, stop, limits, only + 1), stop, noted, count)


@_kernel
def _equal_numbers(start, stop, limits, values, of_nodes, noted, count):  # type: ignore[no-untyped-def]
    order, low, high = of_nodes
    for place in range(low, high):
        number = values[order[place]]
        if number == number:
            first = _first_number(start, stop, limits, number, False)
            count = _make_true(first, _first_number(first, stop, limits, number, True), noted, count)
    return count


@_kernel
def _unequal_numbers(start, stop, limits, values, of_nodes, noted, count):  # type: ignore[no-untyped-def]
    """All atoms are true, except that of the only number, where there is just one."""
    order, low, high = of_nodes
    only = values[order[low]]
    for place in range(low, high):
        if values[order[place]] != only:
            only = np.nan
    if only != only:
        return _make_true(start, stop, noted, count)
    first = _first_number(start, stop, limits, only, False)
    count = _make_true(start, first, noted, count)
    return _make_true(_first_number(first, stop, limits, only, True), stop, noted, count)


@_kernel
def _in_range(op, start, stop, limits, values, of_nodes, noted, count):  # type: ignore[no-untyped-def]
    """The least and the greatest number decide all ranges."""
    order, low, high = of_nodes
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
        start = _first_number(start, stop, limits, least, op == LT)
    else:
        stop = _first_number(start, stop, limits, most, op == GE)
    return _make_true(start, stop, noted, count)
