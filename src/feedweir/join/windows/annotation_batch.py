"""A batch as annotation joins are given it, what they find in it, and which items report a story first."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from feedweir.join.ragged import Ragged
from feedweir.join.windows.features import Feature

Longs = NDArray[np.int64]


Columns = Mapping[Feature, Ragged]


@dataclass(frozen=True, slots=True)
class AnnotationBatch:
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
class StoryPairs:
    """Pairs of story joins: (key, row, earlier report), by key, row and the order of the earlier ones."""

    key: Longs
    row: Longs
    earlier: Longs
    """The row of an item of the same batch, for which it is yet to be decided whether it is let through; else -1."""
    partner: Longs
    """Its number."""
    back: Longs
    """For an item from before the batch: how many items back it is in what was let through before."""
    is_revision: NDArray[np.bool_]
    """Whether the two are revisions of one item."""
    partner_item: Longs
    """The key of the item that the earlier one is a revision of (`features.IDENTITY`)."""
    degree: NDArray[np.float64]
    """How similar they are."""


@dataclass(frozen=True, slots=True)
class StageResults:
    """What the joins of a stage find in a batch."""

    annotations: Annotations
    stories: StoryPairs
    dropped: tuple[int, ...] = ()
    """The keys of joins that would find too much; they find nothing in this batch."""


def stage_results(
    annotations: Sequence[Longs], stories: Sequence[Longs], dropped: Sequence[int] = ()
) -> StageResults:
    """From rows (key, row, partner) as joins find them; rows of stories have what else
    `StoryPairs` says, and their order."""
    return StageResults(_annotations(annotations), _story_pairs(stories), tuple(sorted(dropped)))


def _annotations(parts: Sequence[Longs]) -> Annotations:
    rows = np.concatenate([np.empty((0, 3), np.int64), *parts])
    rows = rows[np.lexsort((rows[:, 2], rows[:, 1], rows[:, 0]))]
    return Annotations(*(np.ascontiguousarray(rows[:, place]) for place in range(3)))


def _story_pairs(parts: Sequence[Longs]) -> StoryPairs:
    rows = np.concatenate([np.empty((0, 9), np.int64), *parts])
    rows = rows[np.lexsort((rows[:, 7], rows[:, 1], rows[:, 0]))]
    key, row, partner, earlier, back, is_same, item, _, degree = map(np.ascontiguousarray, rows.T)
    return StoryPairs(
        key, row, earlier, partner, back, is_same.astype(np.bool_), item, degree.view(np.float64)
    )


@dataclass(frozen=True, slots=True)
class FirstReports:
    """The decision on the elements of a batch."""

    is_first: NDArray[np.bool_]
    """For each element whether it comes out."""
    again: list[tuple[int, int]]
    """(first, later), both of the batch."""
    late: list[tuple[int, int, int]]
    """(number of the first, from before the batch, the key of its item, later)."""


def first_reports(elements: Longs, found: StoryPairs, pairs: slice, most: int) -> FirstReports:
    """Which elements are the first reports of their stories: compared with the last `most` that came out.

    Pairs are of one stream, by element and then by the order of the earlier ones. A new revision of a report that came
    out comes out, too. Any other later report is noted with the element that it is most similar to, the earliest of
    several.
    """
    is_first = np.ones(len(elements), np.bool_)
    dropped: list[int] = []
    again: list[tuple[int, int]] = []
    late: list[tuple[int, int, int]] = []

    def count_before(row: int) -> int:
        """How many elements of the batch came out before this one."""
        return int(np.searchsorted(elements, row)) - bisect_left(dropped, row)

    def is_in_window(pair: int, row: int) -> bool:
        """Whether the earlier one of a pair came out, and is among the last `most` that did."""
        earlier = int(found.earlier[pair])
        if earlier < 0:
            return count_before(row) + int(found.back[pair]) <= most
        came_out = bool(is_first[np.searchsorted(elements, earlier)])
        return came_out and count_before(row) - count_before(earlier) <= most

    for row, of_row in _by_row(found, pairs):
        known = [pair for pair in of_row if is_in_window(pair, row)]
        if not known or found.is_revision[known].any():
            continue
        is_first[np.searchsorted(elements, row)] = False
        dropped.append(row)
        first = max(known, key=lambda pair: found.degree[pair])
        if found.earlier[first] < 0:
            late.append((int(found.partner[first]), int(found.partner_item[first]), row))
        else:
            again.append((int(found.earlier[first]), row))
    return FirstReports(is_first, again, late)


def _by_row(found: StoryPairs, pairs: slice) -> Iterator[tuple[int, list[int]]]:
    rows = found.row[pairs]
    starts = np.flatnonzero(np.append(True, rows[1:] != rows[:-1]))
    stops = np.append(starts[1:], len(rows))
    for start, stop in zip(starts.tolist(), stops.tolist(), strict=True):
        yield int(rows[start]), list(range(pairs.start + start, pairs.start + stop))
