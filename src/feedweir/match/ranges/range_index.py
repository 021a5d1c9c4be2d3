"""The intervals of a compiled set: the numbers of items on axes, and the segments that these lie in."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from feedweir.items.attributes import attribute_named
from feedweir.items.columns import Batch, distinct_values, keeps_empty, numbers_in
from feedweir.match.arrays import Array, frozen
from feedweir.match.atoms import Axis
from feedweir.match.ranges.segment_trees import SEVERAL, Segment, atoms_of_numbers, node_atoms
from feedweir.match.ranges.value_order import TextOrder, ends_of, numbers_among, rows_of_several, stored_order

_DAY_US = 86_400_000_000
_HOUR_US = 3_600_000_000
_MINUTE_US = 60_000_000


@dataclass(frozen=True, slots=True)
class SegmentTree:
    """Atoms of the nodes of a segment tree whose leaves are the slots between `cuts`; -1 where no query is found."""

    axis: Axis
    cuts: Array
    atoms: Array


@dataclass(frozen=True, slots=True)
class RangeIndex:
    axes: tuple[Axis, ...]
    """Those on which programs compare the numbers of items with bounds."""
    trees: tuple[SegmentTree, ...]
    orders: tuple[TextOrder, ...]

    def read(self, items: Batch) -> RangeReading:
        return RangeReading(self, items)

    def describe(self, atom: int) -> str:
        """The atom of a segment in words."""
        tree = next(tree for tree in self.trees if atom in tree.atoms)
        return _described(tree.axis, int(np.flatnonzero(tree.atoms == atom)[0]))

    def stored(self) -> tuple[dict[str, Array], Any]:
        arrays: dict[str, Array] = {}
        for number, order in enumerate(self.orders):
            arrays |= {f"orders.{number}.text": order.text, f"orders.{number}.starts": order.starts}
        for number, tree in enumerate(self.trees):
            arrays |= {f"segments.{number}.cuts": tree.cuts, f"segments.{number}.atoms": tree.atoms}
        return arrays, {
            "axes": [asdict(axis) for axis in self.axes],
            "orders": [order.attribute for order in self.orders],
            "segments": [asdict(tree.axis) for tree in self.trees],
        }

    @classmethod
    def loaded(cls, arrays: Mapping[str, Array], details: Mapping[str, Any]) -> RangeIndex:
        return cls(
            tuple(Axis(**axis) for axis in details["axes"]),
            tuple(
                SegmentTree(
                    Axis(**axis), arrays[f"segments.{number}.cuts"], arrays[f"segments.{number}.atoms"]
                )
                for number, axis in enumerate(details["segments"])
            ),
            tuple(
                TextOrder(attribute, arrays[f"orders.{number}.text"], arrays[f"orders.{number}.starts"])
                for number, attribute in enumerate(details["orders"])
            ),
        )


def range_index(
    axes: Iterable[Axis],
    cuts: Mapping[Axis, Array],
    segments: Mapping[Segment, int],
    texts: Mapping[str, Iterable[str]],
) -> RangeIndex:
    """`cuts` and the numbers of segments by axis; `texts` are those that each attribute is compared with."""
    return RangeIndex(
        tuple(axes),
        tuple(
            SegmentTree(axis, frozen(some), frozen(node_atoms(axis, some, segments)))
            for axis, some in cuts.items()
        ),
        tuple(stored_order(attribute, some) for attribute, some in texts.items()),
    )


class RangeReading:
    """The numbers of a batch on axes, each read once; values that compare by order are placed once for all ends."""

    def __init__(self, index: RangeIndex, items: Batch) -> None:
        self._index, self._items, self._n_rows = index, items, items.num_rows
        self._orders = {order.attribute: order for order in index.orders}
        self._on_axes: dict[Axis, tuple[Array, Array]] = {}
        self._placed: dict[tuple[str, str], tuple[Array, Array]] = {}

    def facts(self) -> Iterator[tuple[Array, Array]]:
        """(rows, atoms) of the segments in which the items' numbers lie, for each tree."""
        for tree in self._index.trees:
            yield self._several(tree) if tree.axis.end == "each" else self._single(tree)

    def on_axes(self) -> tuple[Array, Array]:
        """(number, whether there is one), an axis a row."""
        axes = self._index.axes
        numbers = np.zeros((len(axes), self._n_rows), np.int64)
        is_present = np.zeros((len(axes), self._n_rows), np.bool_)
        for number, axis in enumerate(axes):
            numbers[number], is_present[number] = self._on(axis)
        return numbers, is_present

    def _single(self, tree: SegmentTree) -> tuple[Array, Array]:
        numbers, is_present = self._on(tree.axis)
        return atoms_of_numbers(tree.cuts, tree.atoms, numbers[is_present], np.flatnonzero(is_present))

    def _several(self, tree: SegmentTree) -> tuple[Array, Array]:
        """On an axis of `each`: by every value, and by there being several."""
        rows, places = self._places(tree.axis)
        found_rows, found_atoms = atoms_of_numbers(tree.cuts, tree.atoms, places, rows)
        atom = tree.atoms[SEVERAL]
        several = rows_of_several(rows, places, self._n_rows) if atom >= 0 else rows[:0]
        return np.concatenate([found_rows, several]), np.append(found_atoms, np.full(len(several), atom))

    def _on(self, axis: Axis) -> tuple[Array, Array]:
        """(number, whether there is one) of every item."""
        if axis not in self._on_axes:
            self._on_axes[axis] = (
                ends_of(axis, *self._places(axis), self._n_rows)
                if axis.reading
                else numbers_of(self._items, axis)
            )
        return self._on_axes[axis]

    def _places(self, axis: Axis) -> tuple[Array, Array]:
        """(rows, places) of all values of an axis' attribute."""
        key = axis.attribute, axis.reading or ""
        if key not in self._placed:
            self._placed[key] = _placed_values(self._items, axis, self._orders.get(axis.attribute))
        return self._placed[key]


def _placed_values(items: Batch, axis: Axis, order: TextOrder | None) -> tuple[Array, Array]:
    """(rows, places) of the values that read as a number, or of all texts; each distinct value is read once."""
    attribute = attribute_named(axis.attribute)
    assert attribute is not None, axis
    rows, texts, indices = distinct_values(items, attribute)
    if axis.reading == "number":
        places, is_there = numbers_among(texts)
    else:
        assert order is not None, axis
        places = order.places(texts)
        is_there = np.array([bool(text) or keeps_empty(attribute) for text in texts], np.bool_)
    is_kept = is_there[indices]
    return rows[is_kept], places[indices[is_kept]]


def numbers_of(items: Batch, axis: Axis) -> tuple[Array, Array]:
    """(number, whether there is one) of every item on an axis."""
    attribute = attribute_named(axis.attribute)
    assert attribute is not None, axis
    numbers, is_present = numbers_in(items, attribute.column)
    if axis.is_relative:
        numbers = numbers - numbers_in(items, "arrived")[0]
    return (_part(numbers, axis.part) if axis.part else numbers), is_present


def _part(numbers: Array, part: str) -> Array:
    """A part of times in microseconds."""
    match part:
        case "date":
            return numbers // _DAY_US * _DAY_US
        case "hour":
            return numbers % _DAY_US // _HOUR_US
        case "minute":
            return numbers % _HOUR_US // _MINUTE_US
        case "weekday":
            return (numbers // _DAY_US + 3) % 7  # the epoch was a Thursday
    days: Array = (numbers // _DAY_US).astype("datetime64[D]")
    months: Array = days.astype("datetime64[M]")
    match part:
        case "year":
            return months.astype(np.int64) // 12 + 1970
        case "month":
            return months.astype(np.int64) % 12 + 1
        case _:
            of_month: Array = (days - months).astype(np.int64) + 1
            return of_month


def _described(axis: Axis, node: int) -> str:
    if axis.end == "each" and node == SEVERAL:
        return f"several values of {axis.attribute}"
    reading = f"as {axis.reading}" if axis.reading else ""
    return " ".join(filter(None, (axis.part, axis.attribute, reading, "within bounds")))
