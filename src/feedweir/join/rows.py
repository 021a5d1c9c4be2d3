"""Rows of R_L and R_R: an end of a query with its string value, and the path nodes above it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class BindingRows:
    """Columns. `variable` is a stable number, `document` the number in the stream; path is -1 after its last node."""

    value: Longs
    check: Longs
    variable: Longs
    document: Longs
    time: Longs
    path: Ints

    def __len__(self) -> int:
        return len(self.value)

    @property
    def nbytes(self) -> int:
        return sum(getattr(self, name).nbytes for name in self.__slots__)

    def take(self, places: NDArray[np.generic]) -> BindingRows:
        return BindingRows(*(getattr(self, name)[places] for name in self.__slots__))

    def sorted(self) -> BindingRows:
        """By value, then variable, then document: how slices lie in segments and in memory."""
        order = np.lexsort((self.document, self.variable, self.value))
        return self.take(order)

    def widened(self, width: int) -> BindingRows:
        """With at least `width` path columns."""
        missing = width - self.path.shape[1]
        if missing <= 0:
            return self
        path = np.hstack([self.path, np.full((len(self), missing), -1, np.int32)])
        return BindingRows(self.value, self.check, self.variable, self.document, self.time, path)


def no_rows(width: int) -> BindingRows:
    none = np.empty(0, np.int64)
    return BindingRows(none, none, none, none, none, np.empty((0, width), np.int32))


def concatenated(parts: Sequence[BindingRows], width: int) -> BindingRows:
    wide = [part.widened(width) for part in parts]
    if not wide:
        return no_rows(width)
    width = max(part.path.shape[1] for part in wide)
    wide = [part.widened(width) for part in wide]
    return BindingRows(
        *(np.concatenate([getattr(part, name) for part in wide]) for name in BindingRows.__slots__)
    )


def ranges(starts: Longs, stops: Longs) -> Longs:
    """The places start..stop of all ranges, one after the other."""
    sizes = stops - starts
    total = int(sizes.sum())
    if not total:
        return np.empty(0, np.int64)
    shift = np.repeat(starts - (np.cumsum(sizes) - sizes), sizes)
    return np.asarray(np.arange(total, dtype=np.int64) + shift)
