"""The parts of branching patterns: a step with its comparison and all that hangs below it, equal ones being one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from feedweir.match.trees.rows import PatternRows, offsets

Ints = NDArray[np.int32]
_Key = tuple[int, int, int, float, tuple[tuple[int, int], ...]]


@dataclass(frozen=True, slots=True)
class Parts:
    """Part p has the branches ptr[p] to ptr[p + 1], each on an axis; branches have smaller numbers."""

    label: Ints
    op: NDArray[np.int8]
    text: Ints
    number: NDArray[np.float64]
    ptr: NDArray[np.int64]
    axis: NDArray[np.int8]
    branch: Ints
    root: Ints
    """Of each pattern the part that it is as a whole; -1 for those that do not branch."""
    root_axis: NDArray[np.int8]

    @property
    def columns(self) -> tuple[NDArray[np.generic], ...]:
        return self.label, self.op, self.text, self.number, self.ptr, self.axis, self.branch


def parts_of(rows: PatternRows, chosen: Iterable[int]) -> Parts:
    """The parts of the chosen patterns."""
    numbers: dict[_Key, int] = {}
    root = np.full(len(rows.ptr) - 1, -1, np.int32)
    ptr, axis, up = rows.ptr.tolist(), rows.axis.tolist(), rows.up.tolist()
    compared = list(
        zip(rows.label.tolist(), rows.op.tolist(), rows.text.tolist(), rows.number.tolist(), strict=True)
    )
    for pattern in chosen:
        first, last = ptr[pattern], ptr[pattern + 1]
        branches: list[set[tuple[int, int]]] = [set() for _ in range(last - first)]
        for row in range(last - 1, first - 1, -1):
            key = (*compared[row], tuple(sorted(branches[row - first])))
            number = numbers.setdefault(key, len(numbers))
            if row > first:
                branches[up[row]].add((axis[row], number))
            else:
                root[pattern] = number
    held = [branch for key in numbers for branch in key[4]]
    return Parts(
        np.array([key[0] for key in numbers], np.int32),
        np.array([key[1] for key in numbers], np.int8),
        np.array([key[2] for key in numbers], np.int32),
        np.array([key[3] for key in numbers], np.float64),
        offsets([len(key[4]) for key in numbers]),
        np.array([branch_axis for branch_axis, _ in held], np.int8),
        np.array([branch for _, branch in held], np.int32),
        root,
        rows.axis[rows.ptr[:-1]],
    )


class PartMemory:
    """Where each part fits in the document at hand: room that every document uses again."""

    def __init__(self, count: int) -> None:
        self._when = np.zeros(count, np.int64)
        self._first = np.zeros(count, np.int32)
        self._last = np.zeros(count, np.int32)
        self._clock = np.zeros(1, np.int64)

    @property
    def columns(self) -> tuple[NDArray[np.generic], ...]:
        return self._when, self._first, self._last, self._clock
