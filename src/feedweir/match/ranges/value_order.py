"""Numbers and texts as whole numbers that compare alike.

A number's place is its bits, turned so that they sort. A text's place is found among the sorted texts that queries name
for its attribute: text n of them is at 2n + 1, and what lies before it and after the one before at 2n.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import inf, isfinite

import numpy as np

from feedweir.match.arrays import Array, frozen
from feedweir.match.atoms import LONG_MAX, LONG_MIN, Axis, Ordered, Within
from feedweir.match.meaning.item_meaning import number_in
from feedweir.match.ranges.order_kernels import places_among
from feedweir.match.words.dictionary import packed
from feedweir.text.analyser import fold

_FLOAT_BITS = np.int64(LONG_MAX)


# Numbers


def places_of_numbers(numbers: Sequence[float]) -> Array:
    """Whole numbers that compare as these do; both zeros are one."""
    bits = (np.array(numbers, np.float64) + 0.0).view(np.int64)
    return np.where(bits >= 0, bits, bits ^ _FLOAT_BITS)


def number_bounds(op: str, value: float) -> tuple[int, int]:
    """(lowest, highest) place of the numbers that compare so with a value, which need not be one of them."""
    nearest = _nearest(value)
    place = int(places_of_numbers([nearest])[0])
    match op:
        case "<":
            return LONG_MIN, place - (not nearest < value)
        case "<=":
            return LONG_MIN, place - (not nearest <= value)
        case ">":
            return place + (not nearest > value), LONG_MAX
        case _:
            return place + (not nearest >= value), LONG_MAX


def exact_number(value: float) -> float | None:
    """The number that a text must read as to equal a value; None when no text can."""
    nearest = _nearest(value)
    return nearest + 0.0 if isfinite(nearest) and nearest == value else None


def _nearest(value: float) -> float:
    try:
        return float(value)
    except OverflowError:  # a whole number beyond all floats
        return inf if value > 0 else -inf


def numbers_among(values: Iterable[str]) -> tuple[Array, Array]:
    """(place, whether there is one) of the number that each value reads as."""
    numbers = [number_in(value) for value in values]
    places = places_of_numbers([0.0 if number is None else number for number in numbers])
    return places, np.array([number is not None for number in numbers], np.bool_)


# Texts


@dataclass(frozen=True, slots=True)
class TextOrder:
    """The sorted texts that queries compare an attribute with, as bytes one after the other."""

    attribute: str
    text: Array
    starts: Array

    def places(self, values: Iterable[str]) -> Array:
        """The places of an item's values."""
        text, starts, lengths = packed([_as_compared(value) for value in values])
        ends = np.append(starts, int(lengths.sum()))
        found: Array = places_among(self.text, self.starts, frozen(text), frozen(ends))
        return found


def text_orders(leaves: Iterable[Ordered]) -> dict[str, dict[str, int]]:
    """For each attribute the texts that leaves compare it with, in order, and the number of each."""
    named: dict[str, set[str]] = {}
    for leaf in leaves:
        named.setdefault(leaf.axis.attribute, set()).add(leaf.text)
    return {
        attribute: {text: number for number, text in enumerate(sorted(named[attribute]))}
        for attribute in sorted(named)
    }


def stored_order(attribute: str, texts: Iterable[str]) -> TextOrder:
    text, starts, lengths = packed([_bytes(one) for one in texts])
    return TextOrder(attribute, frozen(text), frozen(np.append(starts, int(lengths.sum()))))


def bounds_of(leaf: Ordered, orders: Mapping[str, Mapping[str, int]]) -> Within:
    """The interval that a comparison of texts is, once the numbers of all texts are known."""
    place = 2 * orders[leaf.axis.attribute][leaf.text] + 1
    match leaf.op:
        case "<":
            return Within(leaf.axis, LONG_MIN, place - 1)
        case "<=":
            return Within(leaf.axis, LONG_MIN, place)
        case ">":
            return Within(leaf.axis, place + 1, LONG_MAX)
        case _:
            return Within(leaf.axis, place, LONG_MAX)


@lru_cache(maxsize=16384)
def _as_compared(value: str) -> bytes:
    """Remembered, since several indexes place the same values."""
    return _bytes(fold(value))


def _bytes(text: str) -> bytes:
    """Bytes that sort as the characters do."""
    return text.encode("utf-8", "surrogatepass")


# Items


def ends_of(axis: Axis, rows: Array, places: Array, n_rows: int) -> tuple[Array, Array]:
    """(least or greatest place, whether there is one) of every row."""
    is_least = axis.end == "least"
    numbers = np.full(n_rows, LONG_MAX if is_least else LONG_MIN, np.int64)
    (np.minimum if is_least else np.maximum).at(numbers, rows, places)
    return numbers, np.bincount(rows, minlength=n_rows) > 0


def rows_of_several(rows: Array, places: Array, n_rows: int) -> Array:
    """The rows that have values at more than one place."""
    low, is_present = ends_of(Axis("", end="least"), rows, places, n_rows)
    high, _ = ends_of(Axis("", end="greatest"), rows, places, n_rows)
    return np.flatnonzero(is_present & (low < high))
