"""Intervals as nodes of a segment tree: a number lies in one exactly when a node above it is one of the interval's."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from feedweir.match.atoms import LONG_MAX, LONG_MIN, Axis, Within
from feedweir.match.ranges.segment_trees import (
    SEVERAL,
    Segment,
    atoms_of_numbers,
    cuts_of,
    node_atoms,
    range_between,
    segments_of,
    segments_of_range,
    slot_of,
    tree_size,
)

AXIS = Axis("published")
GREATEST = Axis("category", reading="number", end="greatest")
LEAST = Axis("category", reading="number", end="least")
EACH = Axis("category", reading="number", end="each")

bounds = st.integers(-8, 8) | st.sampled_from((LONG_MIN, LONG_MAX, LONG_MIN + 1, LONG_MAX - 1))
intervals = st.tuples(bounds, bounds).map(lambda two: Within(AXIS, min(two), max(two)))
numbers = st.integers(-10, 10) | st.sampled_from((LONG_MIN, LONG_MAX, LONG_MIN + 1, LONG_MAX - 1))


def nodes_above(number: int, cuts: np.ndarray) -> set[int]:
    node = slot_of(cuts, number) + tree_size(cuts)
    found = set()
    while node > 0:
        found.add(node)
        node >>= 1
    return found


def test_cuts_are_where_an_interval_begins_or_has_just_ended() -> None:
    some = [Within(AXIS, 1, 4), Within(AXIS, 4, 9), Within(AXIS, LONG_MIN, 6), Within(AXIS, 9, LONG_MAX)]
    assert cuts_of(some).tolist() == [1, 4, 5, 7, 9, 10]


def test_an_interval_of_everything_or_of_nothing_cuts_nowhere() -> None:
    assert cuts_of([Within(AXIS), Within(AXIS, 5, 4)]).tolist() == []
    assert [segment.node for segment in segments_of(Within(AXIS), cuts_of([]))] == [1]


@pytest.mark.parametrize(("n_cuts", "size"), [(0, 1), (1, 2), (2, 4), (3, 4), (4, 8), (7, 8), (8, 16)])
def test_a_tree_has_a_leaf_for_every_slot_between_cuts(n_cuts: int, size: int) -> None:
    assert tree_size(np.arange(n_cuts)) == size > n_cuts


@settings(max_examples=200, deadline=None)
@given(st.lists(intervals, min_size=1, max_size=6), numbers)
def test_a_number_lies_in_an_interval_exactly_when_one_of_its_nodes_is_above_it(
    some: list[Within], number: int
) -> None:
    cuts = cuts_of(some)
    above = nodes_above(number, cuts)
    for interval in some:
        nodes = [segment.node for segment in segments_of(interval, cuts)]
        assert bool(above.intersection(nodes)) == (interval.low <= number <= interval.high)
        assert len(above.intersection(nodes)) <= 1


@settings(max_examples=100, deadline=None)
@given(st.lists(intervals, min_size=1, max_size=12))
def test_an_interval_has_two_nodes_at_most_on_each_level(some: list[Within]) -> None:
    cuts = cuts_of(some)
    for interval in some:
        levels = [segment.node.bit_length() for segment in segments_of(interval, cuts)]
        assert all(levels.count(level) <= 2 for level in levels)


@settings(max_examples=100, deadline=None)
@given(st.lists(intervals, min_size=1, max_size=6), st.lists(numbers, max_size=8))
def test_rows_get_the_atoms_of_the_intervals_that_their_numbers_lie_in(
    some: list[Within], chosen: list[int]
) -> None:
    cuts = cuts_of(some)
    atom_ids: dict[Segment, int] = {}
    for interval in some:
        for segment in segments_of(interval, cuts):
            atom_ids.setdefault(segment, 100 + len(atom_ids))
    atoms = node_atoms(AXIS, cuts, atom_ids)
    rows, found = atoms_of_numbers(
        cuts, atoms, np.array(chosen, np.int64), np.arange(len(chosen), dtype=np.int64)
    )
    of_rows = {row: {int(atom) for atom in found[rows == row]} for row in range(len(chosen))}
    for row, number in enumerate(chosen):
        wanted = {
            atom_ids[segment]
            for interval in some
            if interval.low <= number <= interval.high
            for segment in segments_of(interval, cuts)
            if segment.node in nodes_above(number, cuts)
        }
        assert of_rows[row] == wanted


def test_nodes_of_other_axes_have_no_atom_here() -> None:
    other = Axis("updated")
    atoms = node_atoms(AXIS, cuts_of([Within(AXIS, 0, 1)]), {Segment(AXIS, 5): 7, Segment(other, 6): 8})
    assert atoms.tolist() == [-1, -1, -1, -1, -1, 7, -1, -1]


def test_a_lower_and_an_upper_bound_of_several_values_are_one_range() -> None:
    low, high = Within(GREATEST, 3, LONG_MAX), Within(LEAST, LONG_MIN, 9)
    assert range_between([low, high]) == Within(EACH, 3, 9)
    assert range_between([high, low]) == Within(EACH, 3, 9)


@pytest.mark.parametrize(
    "one_sided",
    [
        [Within(GREATEST, 3, LONG_MAX)],
        [Within(LEAST, LONG_MIN, 9)],
        [Within(GREATEST, 3, LONG_MAX), Within(Axis("m:x", reading="number", end="least"), LONG_MIN, 9)],
        [Within(AXIS, 3, 9)],
        [],
    ],
)
def test_one_bound_alone_is_no_range(one_sided: list[Within]) -> None:
    assert range_between(one_sided) is None


def test_an_empty_range_is_kept_by_items_of_several_values_only() -> None:
    empty = Within(EACH, 9, 3)
    assert list(segments_of_range(empty, cuts_of([empty]))) == [Segment(EACH, SEVERAL)]


def test_a_range_is_found_by_one_value_in_it_or_by_several_values() -> None:
    between = Within(EACH, 3, 9)
    nodes = [segment.node for segment in segments_of_range(between, cuts_of([between]))]
    assert nodes[0] == SEVERAL
    assert nodes[1:] == [segment.node for segment in segments_of(between, cuts_of([between]))]


@given(st.lists(intervals, min_size=1, max_size=6))
def test_slots_are_numbered_in_order(some: list[Within]) -> None:
    cuts = cuts_of(some)
    ordered = sorted({*cuts.tolist(), LONG_MIN, LONG_MAX})
    slots = [slot_of(cuts, number) for number in ordered]
    assert all(low <= high for low, high in pairwise(slots))
    assert 0 <= slots[0] <= slots[-1] < tree_size(cuts)
