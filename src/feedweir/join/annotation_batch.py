"""A batch as annotation joins are given it, and what they find in it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from feedweir.join.features import Feature, Ragged

Longs = NDArray[np.int64]
Columns = Mapping[Feature, Ragged]


@dataclass(frozen=True, slots=True)
class Documents:
    """Items of a batch, or documents that were constructed of some, in the order of the stream."""

    seq: Longs
    time_us: Longs
    arrived_us: Longs
    clock_us: Longs
    is_made: NDArray[np.bool_]
    columns: Columns
    members: Mapping[int, Longs]
    """By stream its rows, ascending."""
    peaks: Longs = field(default_factory=lambda: np.empty((0, 2), np.int64))
    """Where the clock went back: rows (item, clock at it)."""

    def __len__(self) -> int:
        return len(self.seq)


@dataclass(frozen=True, slots=True)
class Annotations:
    """Rows (key of the join, row of the batch, number of the partner), each once, by key, row and partner."""

    key: Longs
    row: Longs
    partner: Longs

    def __len__(self) -> int:
        return len(self.key)


@dataclass(frozen=True, slots=True)
class Told:
    """Pairs of story joins: (key, row, item that told it before), by key, row and the order of the earlier ones."""

    key: Longs
    row: Longs
    earlier: Longs
    """The row of an item of the same batch, of which it is yet to be decided whether it is let through; else -1."""
    partner: Longs
    """Its number."""
    back: Longs
    """Of an item from before the batch: how many items back it is in what was let through before."""
    is_revision: NDArray[np.bool_]
    """Whether the two are wordings of one item."""
    partner_item: Longs
    """Which item the earlier one is a wording of (`features.IDENTITY`)."""


@dataclass(frozen=True, slots=True)
class StageResults:
    """What the joins of a stage find in a batch."""

    annotations: Annotations
    told: Told
    struck: tuple[int, ...] = ()
    """The keys of joins that would find too much; they find nothing in this batch."""


def stage_results(
    annotations: Sequence[Longs], told: Sequence[Longs], struck: Sequence[int] = ()
) -> StageResults:
    """From rows as joins find them: (key, row, partner), of stories also what `Told` has more, and their order."""
    return StageResults(_annotations(annotations), _told(told), tuple(sorted(struck)))


def _annotations(parts: Sequence[Longs]) -> Annotations:
    rows = np.concatenate([np.empty((0, 3), np.int64), *parts])
    rows = rows[np.lexsort((rows[:, 2], rows[:, 1], rows[:, 0]))]
    return Annotations(*(np.ascontiguousarray(rows[:, place]) for place in range(3)))


def _told(parts: Sequence[Longs]) -> Told:
    rows = np.concatenate([np.empty((0, 8), np.int64), *parts])
    rows = rows[np.lexsort((rows[:, 7], rows[:, 1], rows[:, 0]))]
    key, row, partner, earlier, back, is_same, item = (
        np.ascontiguousarray(rows[:, place]) for place in range(7)
    )
    return Told(key, row, earlier, partner, back, is_same.astype(np.bool_), item)
