"""The annotation joins of a stage over a batch, group by group.

Candidates come from one index for each finding atom, over all streams. Which joins want a pair follows from the streams
of its two items and from the windows; the predicate then decides the few pairs that any join wants.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from feedweir.join.clock import highest
from feedweir.join.ragged import rank_in_group
from feedweir.join.window_bounds import drop_largest
from feedweir.join.windows import annotation_kernels as kernels
from feedweir.join.windows.annotation_batch import AnnotationBatch, Columns, StageResults, stage_results
from feedweir.join.windows.annotation_kernels import Far, Near
from feedweir.join.windows.annotation_set import AnnotationSet, Group
from feedweir.join.windows.features import IDENTITY, Feature
from feedweir.join.windows.relations import degrees, finding_sides, holds, is_graded
from feedweir.join.windows.similarity import Pairs
from feedweir.join.windows.window_history import FinderIndex, WindowHistory, joined_pairs
from feedweir.plan.predicates import Relates

Longs = NDArray[np.int64]

_AT_ONCE = 1_000_000
"""Pairs that are evaluated together."""
_HELD = 4 * _AT_ONCE
"""Similar pairs that are held for all groups; if there are more, each group finds its own, piece by piece."""


@dataclass(slots=True)
class _Side:
    """The items that those of a batch are compared with: older ones, or those of the batch itself."""

    far: Far
    seq: Longs
    columns: Columns
    index: FinderIndex
    is_own: bool
    similar: dict[tuple[Feature, Feature], Pairs | None] = field(default_factory=dict)
    """Similar pairs by the features compared; None if they are too many to be held."""

    def candidates(
        self, group: Group, own: Columns, everyone: Longs, rows: Longs
    ) -> Iterator[tuple[Longs, Longs]]:
        """Pairs (row, place here) of these rows, which are some of everyone's, each once, in pieces."""
        if group.finders is None:
            yield from self._whole(group, rows)
            return
        alike = [atom for atom in group.finders if is_graded(atom)]
        held = [(atom, self._similar(atom, own, everyone)) for atom in alike]
        equal = {finding_sides(atom): None for atom in group.finders if not is_graded(atom)}
        most = len(self.seq) if any(pairs is None for _, pairs in held) else 0
        for some in self._pieces(list(equal), own, rows, most):
            is_asked = np.zeros(int(everyone[-1]) + 1, np.bool_)
            is_asked[some] = True
            found = [self._similar_of(atom, pairs, own, some, is_asked) for atom, pairs in held]
            found += [self._found(sides, own, some) for sides in equal]
            yield _each_once(found, len(self.seq))

    def _similar(self, atom: Relates, own: Columns, everyone: Longs) -> Pairs | None:
        """The pairs of all thresholds, found once for all groups; None if they are too many."""
        sides = finding_sides(atom)
        if sides not in self.similar:
            self.similar[sides] = self._all_similar(sides, own, everyone)
        return self.similar[sides]

    def _all_similar(self, sides: tuple[Feature, Feature], own: Columns, everyone: Longs) -> Pairs | None:
        parts: list[Pairs] = []
        # Usually few are similar: very small pieces would cost more than they save.
        for some in self._pieces([], own, everyone, len(self.seq) // 16):
            parts.append(self._found(sides, own, some))
            if sum(len(part.row) for part in parts) > _HELD:
                return None
        return joined_pairs(parts)

    def _similar_of(
        self, atom: Relates, pairs: Pairs | None, own: Columns, some: Longs, is_asked: NDArray[np.bool_]
    ) -> Pairs:
        """The similar pairs of some rows: of those that are held, or found again."""
        if pairs is None:
            found = self._found(finding_sides(atom), own, some)
            return found.only(found.similarity >= atom.threshold)
        return pairs.only(is_asked[pairs.row] & (pairs.similarity >= atom.threshold))

    def _found(self, sides: tuple[Feature, Feature], own: Columns, rows: Longs) -> Pairs:
        return self.index.pairs(sides, own[sides[0]].take(rows), rows, rows if self.is_own else None)

    def _pieces(
        self, equal: Sequence[tuple[Feature, Feature]], own: Columns, rows: Longs, most: int = 0
    ) -> Iterator[Longs]:
        """Rows in pieces of bounded numbers of pairs: equal ones, and at most `most` more for each row."""
        counts = np.full(len(rows), most, np.int64)
        for sides in equal:
            counts += self.index.counts(sides, own[sides[0]].take(rows))
        stops = np.flatnonzero(np.diff(np.cumsum(counts) // _AT_ONCE)) + 1
        yield from np.split(rows, stops)

    def _whole(self, group: Group, rows: Longs) -> Iterator[tuple[Longs, Longs]]:
        """Every item under the windows of a group."""
        owner = np.repeat(np.arange(len(self.seq), dtype=np.int64), np.diff(self.far.ptr))
        held = np.unique(owner[np.isin(self.far.stream, group.windows)])
        size = max(1, _AT_ONCE // max(len(held), 1))
        for start in range(0, len(rows), size):
            some = rows[start : start + size]
            row, place = np.repeat(some, len(held)), np.tile(held, len(some))
            earlier = place < row if self.is_own else np.ones(len(row), np.bool_)
            yield row[earlier], place[earlier]


def _each_once(found: Sequence[Pairs], size: int) -> tuple[Longs, Longs]:
    none = np.empty(0, np.int64)
    # Sorting millions of numbers is ten times as fast as `unique`, which hashes them.
    codes = np.sort(np.concatenate([none, *(pairs.row * size + pairs.number for pairs in found)]))
    codes = codes[np.append(True, codes[1:] != codes[:-1])[: len(codes)]]
    return codes // max(size, 1), codes % max(size, 1)


class Stage:
    """The joins of a stage over one batch; `documents` has the members of every stream that they read."""

    def __init__(
        self, number: int, joins: AnnotationSet, documents: AnnotationBatch, history: WindowHistory
    ) -> None:
        self._joins = joins
        self._groups = joins.stages[number]
        self._documents = documents
        self._history = history
        primaries, windows = (np.searchsorted(joins.streams, side) for side in joins.inputs(number))
        self._near = self._near_items(primaries, windows)
        self._everyone = np.flatnonzero(np.diff(self._near.ptr)).astype(np.int64)
        older = _Side(history.far, history.seq, history.columns, history.index, is_own=False)
        self._sides = (older, self._own_items(windows))

    def results(self) -> StageResults:
        """What is found. If it is too much, the joins that find the most find nothing."""
        parts: tuple[list[Longs], list[Longs]] = ([], [])
        dropped: set[int] = set()
        room = self._joins.bounds.max_found
        for group in self._groups:
            found, gone = self._of_group(group, room)
            dropped.update(group.keys[gone].tolist())
            room -= sum(map(len, found))
            parts[group.is_story].extend(found)
        return stage_results(*parts, sorted(dropped))

    def _of_group(self, group: Group, room: int) -> tuple[list[Longs], NDArray[np.bool_]]:
        """The rows that the joins of a group find, and which of its joins are dropped because they find too much."""
        dropped = np.zeros(len(group.keys), np.bool_)
        found: list[Longs] = []
        rows = self._rows_of(group)
        tried = 0
        for side in self._sides:
            if not len(rows) or not len(side.seq):
                continue
            for row, place in side.candidates(group, self._documents.columns, self._everyone, rows):
                tried += len(row)
                # All joins of a group try the same pairs, so no single one can be dropped for it.
                if tried > self._joins.bounds.max_steps:
                    return [], np.ones(len(group.keys), np.bool_)
                row, place = self._related(group, side, row, place)
                left = room - sum(map(len, found))
                pairs, counts = self._wanted(group, side, row, place, dropped, left)
                while counts.sum() > left:
                    # What dropped joins have found before gives room to the others.
                    drop_largest(dropped, counts + _counted(found, group), room)
                    found = [part[~dropped[_join_of(part, group)]] for part in found]
                    left = room - sum(map(len, found))
                    pairs, counts = self._wanted(group, side, row, place, dropped, left)
                found.append(self._rows_found(group, side, row, place, pairs))
                if dropped.all():
                    return found, dropped
        return found, dropped

    def _rows_of(self, group: Group) -> Longs:
        """The rows that are primary for a group."""
        owner = np.repeat(np.arange(len(self._documents), dtype=np.int64), np.diff(self._near.ptr))
        return np.unique(owner[np.isin(self._near.stream, group.primaries)])

    def _related(self, group: Group, side: _Side, row: Longs, place: Longs) -> tuple[Longs, Longs]:
        """The pairs that satisfy the predicate, of those that are in the window of any join."""
        if group.is_decided:
            return row, place
        bounds = self._joins.bounds
        near = kernels.is_wanted(
            row, place, group.joins, self._near, side.far, bounds.lateness_us, bounds.max_documents
        )
        row, place = row[near], place[near]
        is_true = holds(group.predicate, row, place, self._documents.columns, side.columns)
        return row[is_true], place[is_true]

    def _wanted(
        self,
        group: Group,
        side: _Side,
        row: Longs,
        place: Longs,
        dropped: NDArray[np.bool_],
        room: int,
    ) -> tuple[Longs, Longs]:
        bounds = self._joins.bounds
        found, counts = kernels.wanted(
            row,
            place,
            group.joins,
            self._near,
            side.far,
            bounds.lateness_us,
            bounds.max_documents,
            dropped,
            room,
        )
        peaks = self._documents.peaks
        if not len(peaks) or not len(found):
            return found, counts
        kept = found[self._is_remembered(group, side, row[found[:, 1]], place[found[:, 1]], found[:, 0])]
        is_whole = len(found) == counts.sum()
        return kept, np.bincount(kept[:, 0], minlength=len(counts)) if is_whole else counts

    def _is_remembered(
        self, group: Group, side: _Side, row: Longs, place: Longs, join: Longs
    ) -> NDArray[np.bool_]:
        """Which pairs were not forgotten before the clock went back: kernels know the clock of the row only."""
        documents, joins = self._documents, group.joins
        kind = joins.kind[np.searchsorted(joins.start, join, "right") - 1]
        clock = highest(documents.clock_us[row], documents.peaks, side.seq[place], documents.seq[row])
        since = clock - self._joins.bounds.lateness_us - joins.length[join]
        last = np.where(kind == kernels.STORY_TIME, side.far.arrived[place], side.far.time[place])
        return np.asarray((kind == kernels.COUNT) | (kind == kernels.STORY_COUNT) | (last > since))

    def _rows_found(self, group: Group, side: _Side, rows: Longs, places: Longs, pairs: Longs) -> Longs:
        """(key, row, partner) of what joins want; for stories, also the other columns of `StoryPairs`."""
        row, place = rows[pairs[:, 1]], places[pairs[:, 1]]
        columns = [group.keys[pairs[:, 0]], row, side.seq[place]]
        if group.is_story:
            earlier = place if side.is_own else np.full(len(pairs), -1, np.int64)
            mine, theirs = self._documents.columns[IDENTITY], side.columns[IDENTITY]
            item = theirs.data[theirs.ptr[place]]
            is_same = mine.data[mine.ptr[row]] == item
            order = place + (len(self._history) if side.is_own else 0)
            columns += [earlier, pairs[:, 2], is_same.astype(np.int64), item.astype(np.int64), order]
            columns.append(
                degrees(group.predicate, row, place, self._documents.columns, side.columns).view(np.int64)
            )
        return np.column_stack(columns)

    def _near_items(self, primaries: Longs, windows: Longs) -> Near:
        documents = self._documents
        row, stream = self._members(primaries)
        member, under = self._members(windows)
        by_stream = np.lexsort((member, under))
        places = np.arange(len(self._joins.streams) + 1)
        return Near(
            np.searchsorted(row, np.arange(len(documents) + 1)).astype(np.int64),
            stream,
            documents.time_us,
            documents.arrived_us,
            documents.clock_us,
            self._history.members,
            np.searchsorted(under[by_stream], places).astype(np.int64),
            member[by_stream],
        )

    def _own_items(self, windows: Longs) -> _Side:
        documents = self._documents
        row, stream = self._members(windows)
        ptr = np.searchsorted(row, np.arange(len(documents) + 1)).astype(np.int64)
        ordinal = self._history.members[stream] + rank_in_group(stream)
        far = Far(ptr, stream, ordinal, documents.time_us, documents.arrived_us)
        index = FinderIndex(self._joins, [atom for group in self._groups for atom in group.finders or ()])
        members = np.unique(row)
        index.add({one: column.take(members) for one, column in documents.columns.items()}, members)
        return _Side(far, documents.seq, documents.columns, index, is_own=True)

    def _members(self, streams: Longs) -> tuple[Longs, Longs]:
        """(row, place of the stream), by row and stream."""
        members = self._documents.members
        parts = [members.get(key, ()) for key in self._joins.streams[streams].tolist()]
        row = np.concatenate([np.empty(0, np.int64), *parts]).astype(np.int64)
        stream = np.repeat(streams, [len(part) for part in parts]).astype(np.int64)
        order = np.lexsort((stream, row))
        return row[order], stream[order]


def _join_of(part: Longs, group: Group) -> Longs:
    """The places of joins by their keys."""
    order = np.argsort(group.keys)
    return np.asarray(order[np.searchsorted(group.keys[order], part[:, 0])])


def _counted(found: Sequence[Longs], group: Group) -> Longs:
    counts = np.zeros(len(group.keys), np.int64)
    for part in found:
        counts += np.bincount(_join_of(part, group), minlength=len(counts))
    return counts
