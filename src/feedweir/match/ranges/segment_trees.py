"""Intervals found without trying each: an interval is a few nodes of a segment tree, a number is the path above it.

The leaves are the slots between cuts; node n has the children 2n and 2n + 1, as in a heap.

 cuts         3     7           slots   below 3 | 3 to 6 | 7 and more |
 tree           1               the interval 3 … is the nodes 5 and 3,
             2     3            the number 4 lies in the nodes 5, 2 and 1
            4 5   6 7
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from feedweir.match.arrays import Array
from feedweir.match.atoms import LONG_MAX, LONG_MIN, Atom, Axis, Within

SEVERAL = 0
"""The node, above the root, of items that have more than one place on an axis of `each`."""


@dataclass(frozen=True, slots=True)
class Segment(Atom):
    """The number lies in one node of the segment tree over the bounds that queries name on its axis."""

    axis: Axis
    node: int


def cuts_of(intervals: Iterable[Within]) -> Array:
    """The sorted numbers at which an interval begins or has just ended."""
    bounds = set()
    for interval in intervals:
        if interval.low > interval.high:
            continue
        if interval.low > LONG_MIN:
            bounds.add(interval.low)
        if interval.high < LONG_MAX:
            bounds.add(interval.high + 1)
    return np.array(sorted(bounds), np.int64)


def tree_size(cuts: Array) -> int:
    """The number of leaves: a power of two with room for every slot between cuts."""
    return 1 << len(cuts).bit_length()


def segments_of(interval: Within, cuts: Array) -> Iterator[Segment]:
    """The nodes that an interval is made of: at most two on each level."""
    size = tree_size(cuts)
    low = slot_of(cuts, interval.low) + size
    high = slot_of(cuts, interval.high) + size + 1
    while low < high:
        if low & 1:
            yield Segment(interval.axis, low)
            low += 1
        if high & 1:
            high -= 1
            yield Segment(interval.axis, high)
        low >>= 1
        high >>= 1


def range_between(intervals: Iterable[Within]) -> Within | None:
    """The places that lie within a lower and an upper bound of one attribute's values, on the axis of each of them.

    One value between the bounds satisfies both, or several of which none need lie between: the range may be empty.
    """
    lows: dict[Axis, int] = {}
    highs: dict[Axis, int] = {}
    for interval in intervals:
        axis = replace(interval.axis, end="each")
        if interval.axis.end == "greatest" and interval.high == LONG_MAX:
            lows[axis] = interval.low
        elif interval.axis.end == "least" and interval.low == LONG_MIN:
            highs[axis] = interval.high
    both = next((axis for axis in lows if axis in highs), None)
    return None if both is None else Within(both, lows[both], highs[both])


def segments_of_range(between: Within, cuts: Array) -> Iterator[Segment]:
    """The nodes that find the items within both bounds of a range; the candidates are still to be verified."""
    yield Segment(between.axis, SEVERAL)
    if between.low <= between.high:
        yield from segments_of(between, cuts)


def slot_of(cuts: Array, number: int) -> int:
    return int(np.searchsorted(cuts, number, side="right"))


def node_atoms(axis: Axis, cuts: Array, atom_ids: Mapping[Segment, int]) -> Array:
    """The atom of every node of an axis' tree, -1 where there is none."""
    atoms = np.full(2 * tree_size(cuts), -1, np.int32)
    for segment, atom in atom_ids.items():
        if segment.axis == axis:
            atoms[segment.node] = atom
    return atoms


def atoms_of_numbers(cuts: Array, atoms: Array, numbers: Array, rows: Array) -> tuple[Array, Array]:
    """(rows, atoms): the nodes above each row's number that queries are found by."""
    node = np.searchsorted(cuts, numbers, side="right") + tree_size(cuts)
    found_rows, found_atoms = [np.empty(0, np.int64)], [np.empty(0, np.int32)]
    while node.size and node[0] > 0:
        is_used = atoms[node] >= 0
        found_rows.append(rows[is_used])
        found_atoms.append(atoms[node[is_used]])
        node = node >> 1
    return np.concatenate(found_rows), np.concatenate(found_atoms)
