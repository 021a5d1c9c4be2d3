"""Columns that joins are made of: ranges of rows, ragged columns, arrays that grow at their end."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

Longs = NDArray[np.int64]


def ranges(starts: Longs, stops: Longs) -> Longs:
    """The places start..stop of all ranges, one after the other."""
    sizes = stops - starts
    total = int(sizes.sum())
    if not total:
        return np.empty(0, np.int64)
    shift = np.repeat(starts - (np.cumsum(sizes) - sizes), sizes)
    return np.asarray(np.arange(total, dtype=np.int64) + shift)


class Growing:
    """An array that is added to at its end."""

    def __init__(self, start: NDArray[np.generic]) -> None:
        self._data, self._size = start, len(start)

    def extend(self, values: NDArray[np.generic]) -> None:
        needed = self._size + len(values)
        if needed > len(self._data):
            grown = np.empty(max(2 * len(self._data), needed, 64), self._data.dtype)
            grown[: self._size] = self._data[: self._size]
            self._data = grown
        self._data[self._size : needed] = values
        self._size = needed

    @property
    def view(self) -> NDArray[np.generic]:
        return self._data[: self._size]

    @property
    def longs(self) -> Longs:
        return self.view.view(np.int64)

    def __len__(self) -> int:
        return self._size


@dataclass(frozen=True, slots=True)
class Ragged:
    """Row r has data[ptr[r]:ptr[r + 1]]; what annotation joins compare is sorted, each once. Ordered text is an object
    array, all else numbers."""

    ptr: Longs
    data: NDArray[np.generic]

    @property
    def longs(self) -> Longs:
        """Keys and other numbers as such."""
        return self.data.view(np.int64)

    def __len__(self) -> int:
        return len(self.ptr) - 1

    @staticmethod
    def of(rows: Iterable[Sequence[int]]) -> Ragged:
        """Rows of numbers."""
        given = list(rows)
        ptr = np.cumsum([0, *map(len, given)]).astype(np.int64)
        return Ragged(ptr, np.array([one for row in given for one in row], np.int64))

    def beside(self, other: Ragged) -> Ragged:
        """Each row followed by the other's."""
        ptr = self.ptr + other.ptr
        data = np.empty(int(ptr[-1]), self.data.dtype)
        middle = ptr[:-1] + np.diff(self.ptr)
        data[ranges(ptr[:-1], middle)] = self.data
        data[ranges(middle, ptr[1:])] = other.data
        return Ragged(ptr, data)

    def padded(self, fill: int) -> Longs:
        """Rows of numbers as a matrix, as wide as the longest."""
        sizes = np.diff(self.ptr)
        found = np.full((len(self), int(sizes.max(initial=0))), fill, np.int64)
        found[np.repeat(np.arange(len(self)), sizes), ranges(np.zeros_like(sizes), sizes)] = self.data
        return found

    def joined(self, other: Ragged) -> Ragged:
        return Ragged(
            np.concatenate([self.ptr, other.ptr[1:] + self.ptr[-1]]), np.concatenate([self.data, other.data])
        )

    def take(self, rows: Longs) -> Ragged:
        sizes = self.ptr[rows + 1] - self.ptr[rows]
        ptr = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        return Ragged(ptr, self.data[ranges(self.ptr[rows], self.ptr[rows + 1])])

    def take_known(self, rows: Longs) -> Ragged:
        """Those rows; nothing for a row that is not here."""
        last = max(len(self) - 1, 0)
        is_here = rows < len(self)
        places = np.minimum(rows, last)
        sizes = np.where(is_here, np.diff(self.ptr)[places] if len(self) else 0, 0)
        ptr = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        starts = self.ptr[places]
        return Ragged(ptr, self.data[ranges(starts, starts + sizes)])


def to_arrow(column: Ragged) -> pa.Array:
    """As a list column."""
    values = pa.array(column.data, pa.string()) if column.data.dtype == object else pa.array(column.data)
    return pa.ListArray.from_arrays(pa.array(column.ptr.astype(np.int32)), values)


def from_arrow(column: pa.ChunkedArray) -> Ragged:
    """What `to_arrow` was given."""
    flat = column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)
    offsets = flat.offsets.to_numpy().astype(np.int64)
    values = flat.values[int(offsets[0]) : int(offsets[-1])]
    data = values.to_numpy(zero_copy_only=False)
    return Ragged(offsets - offsets[0], data)


class GrowingRagged:
    """Rows of values that are added to at their end."""

    def __init__(self, start: Ragged) -> None:
        self._ptr, self._data = Growing(start.ptr), Growing(start.data)

    def extend(self, more: Ragged) -> None:
        self._ptr.extend(more.ptr[1:] + len(self._data))
        self._data.extend(more.data)

    @property
    def view(self) -> Ragged:
        return Ragged(self._ptr.longs, self._data.view)


def rank_in_group(groups: Longs) -> Longs:
    """How often each value was there before."""
    order = np.argsort(groups, kind="stable")
    ordered = groups[order]
    starts = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1])[: len(ordered)])
    sizes = np.diff(np.append(starts, len(ordered)))
    ranks = np.empty(len(groups), np.int64)
    ranks[order] = np.arange(len(groups)) - np.repeat(starts, sizes)
    return ranks
