"""What the matches of a level's queries become, in columns: a hundred thousand queries are a few arrays."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]

NO_KEY = -(1 << 63)


@dataclass(frozen=True, slots=True)
class Result:
    """One query's matches: they are reported by `key`, or, for an inner join, are documents of `stream`."""

    key: int | None
    stream: str
    """The hidden stream its results are documents of; empty for none."""
    outputs: tuple[str, ...]
    """Variables in the order of the template's output columns."""
    select: str
    reads: str = ""
    """The hidden stream on its left, for a chain."""


@dataclass(frozen=True, slots=True)
class Results:
    """Results by place. Of streams, outputs and selections each that occurs is kept once; the columns are places."""

    keys: Longs
    """`NO_KEY` for an inner join."""
    stream: Ints
    outputs: Ints
    select: Ints
    reads: Ints
    names: tuple[str, ...] = ("",)
    """Of hidden streams; the first is none."""
    lists: tuple[tuple[str, ...], ...] = ((),)
    selects: tuple[str, ...] = ("",)

    @staticmethod
    def of(results: Iterable[Result]) -> Results:
        names: dict[str, int] = {"": 0}
        lists: dict[tuple[str, ...], int] = {(): 0}
        selects: dict[str, int] = {"": 0}
        rows = [
            (
                NO_KEY if one.key is None else one.key,
                names.setdefault(one.stream, len(names)),
                lists.setdefault(one.outputs, len(lists)),
                selects.setdefault(one.select, len(selects)),
                names.setdefault(one.reads, len(names)),
            )
            for one in results
        ]
        columns = np.array(rows, np.int64).reshape(-1, 5).T
        stream, outputs, select, reads = (column.astype(np.int32) for column in columns[1:])
        keys = np.ascontiguousarray(columns[0])
        return Results(keys, stream, outputs, select, reads, tuple(names), tuple(lists), tuple(selects))

    def __len__(self) -> int:
        return len(self.keys)

    def __iter__(self) -> Iterator[Result]:
        return (self[place] for place in range(len(self)))

    def __getitem__(self, place: int) -> Result:
        key = int(self.keys[place])
        return Result(
            None if key == NO_KEY else key,
            self.names[self.stream[place]],
            self.lists[self.outputs[place]],
            self.selects[self.select[place]],
            self.names[self.reads[place]],
        )

    @property
    def is_inner(self) -> NDArray[np.bool_]:
        """Which are documents of a hidden stream."""
        return np.asarray(self.stream > 0)

    def readers_of(self, stream: str) -> list[int]:
        """Those that read a hidden stream."""
        if not stream or stream not in self.names:
            return []
        found: list[int] = np.flatnonzero(self.reads == self.names.index(stream)).tolist()
        return found
