"""All annotation joins of a stage over a batch at once.

Candidates come from one index for each finding atom, over all streams; which joins want a pair then follows from the
streams of its two items and from their windows; the few pairs that are left are decided by the predicate.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from feedweir.join import annotation_kernels as kernels
from feedweir.join.annotation import AnnotationSet, Group
from feedweir.join.annotation_history import WindowHistory, rank_in_group
from feedweir.join.annotation_index import FinderIndex, Pairs
from feedweir.join.annotation_kernels import Far, Near
from feedweir.join.annotation_state import WindowSegment, WindowState, merged, segment_of, swept
from feedweir.join.features import IDENTITY, Feature, Ragged
from feedweir.join.relations import holds, sides_of
from feedweir.plan.predicates import Relates

Longs = NDArray[np.int64]
Columns = Mapping[Feature, Ragged]
Complete = Callable[[Longs, tuple[Feature, ...]], Columns]
"""Reads of items, by their numbers, what joins have come to compare since the items were remembered."""

_AT_ONCE = 1_000_000
_SWEPT_AFTER = 8


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


@dataclass(slots=True)
class _Side:
    """What the items of a batch are compared with: those from before it, or those of the batch itself."""

    far: Far
    seq: Longs
    columns: Columns
    index: FinderIndex
    is_own: bool
    known: dict[tuple[Feature, Feature], Pairs] = field(default_factory=dict)

    def found(self, atom: Relates, own: Columns, rows: Longs) -> Pairs:
        """All pairs of these rows of the batch that satisfy an atom; those of all thresholds are found together."""
        sides = sides_of(atom)
        if sides not in self.known:
            self.known[sides] = self.index.pairs(
                sides, own[sides[0]].take(rows), rows, rows if self.is_own else None
            )
        pairs = self.known[sides]
        return pairs.only(pairs.similarity >= atom.threshold) if atom.op == "similar" else pairs

    def whole(self, group: Group, rows: Longs) -> Iterator[tuple[Longs, Longs]]:
        """Every item under the windows of a group, with a few rows of the batch at a time."""
        owner = np.repeat(np.arange(len(self.seq), dtype=np.int64), np.diff(self.far.ptr))
        held = np.unique(owner[np.isin(self.far.stream, group.windows)])
        size = max(1, _AT_ONCE // max(len(held), 1))
        for start in range(0, len(rows), size):
            some = rows[start : start + size]
            row, place = np.repeat(some, len(held)), np.tile(held, len(some))
            earlier = place < row if self.is_own else np.ones(len(row), np.bool_)
            yield row[earlier], place[earlier]


class AnnotationLogic:
    """The logic of a compiled set; its indexes reflect one state and are made anew for any other."""

    def __init__(self, joins: AnnotationSet) -> None:
        self.joins = joins
        self._state = WindowState()
        self._history = WindowHistory(joins)
        self._swept_at = 0

    def stand_on(self, state: WindowState, complete: Complete) -> None:
        """Go on from a state; of what it does not hold, because joins were edited, the items are read again."""
        if state is not self._state:
            segments = tuple(self._completed(segment, complete) for segment in state.segments)
            self._restore(WindowState(segments, state.clock))
            self._state = state if segments == state.segments else self._state

    def stage(self, number: int, documents: Documents) -> tuple[Annotations, Told]:
        """What the joins of a stage find; `documents` has the members of every stream that they read."""
        groups = self.joins.stages[number]
        if not len(documents) or not groups:
            return _annotations([]), _told([])
        primaries, windows = (np.searchsorted(self.joins.streams, side) for side in self.joins.inputs(number))
        near, own = self._near(documents, primaries, windows), self._own(documents, windows, groups)
        history = self._history
        older = _Side(history.far, history.seq, history.columns, history.index, is_own=False)
        annotations: list[Longs] = []
        told: list[Longs] = []
        for group in groups:
            for side in (older, own):
                for found in self._joined(group, side, documents, near):
                    (told if group.is_story else annotations).append(found)
        return _annotations(annotations), _told(told)

    def after(self, documents: Documents, clock: int) -> WindowState:
        """The state after a batch; `documents` has the members of all streams under windows."""
        segment = self._segment(documents)
        segments = self._state.segments
        if segment is not None:
            segments = merged((*segments, segment))
            self._history.append(segment)
        self._state = WindowState(segments, clock)
        if len(self._history) > self._swept_at + max(_SWEPT_AFTER, self._swept_at // 4):
            self._sweep()
        return self._state

    def saved(self, before: WindowState, after: WindowState) -> None:
        """A state was written down: the same, as it is read from the files, is gone on from."""
        if before is self._state:
            self._state = after

    def _sweep(self) -> None:
        state = self._state
        segments = swept(state.segments, self._history.reach(state.clock))
        if segments != state.segments:
            self._restore(WindowState(segments, state.clock))
        self._swept_at = len(self._history)

    def _restore(self, state: WindowState) -> None:
        self._state, self._history = state, WindowHistory(self.joins)
        for segment in state.segments:
            self._history.append(segment)
        self._swept_at = len(self._history)

    def _completed(self, segment: WindowSegment, complete: Complete) -> WindowSegment:
        if segment.has(self.joins.features):
            return segment
        named = segment.table.column_names
        missing = tuple(feature for feature in self.joins.features if feature.name not in named)
        columns = complete(segment.seq[~segment.is_made], missing) if missing else {}
        # Of a constructed document nothing but what was compared is remembered.
        rows = np.cumsum(~segment.is_made)
        places = np.where(segment.is_made, len(segment), rows - 1)
        known = {
            feature: columns[feature].take_known(places) if feature in columns else segment.column(feature)
            for feature in self.joins.features
        }
        return segment.with_columns(known)

    def _segment(self, documents: Documents) -> WindowSegment | None:
        """Those documents of a batch that are under windows."""
        keys = [key for key in self.joins.horizons if len(documents.members.get(key, ()))]
        if not keys:
            return None
        rows = np.concatenate([documents.members[key] for key in keys]).astype(np.int64)
        stream = np.repeat(np.array(keys, np.int64), [len(documents.members[key]) for key in keys])
        order = np.lexsort((stream, rows))
        rows, stream = rows[order], stream[order]
        kept = np.unique(rows)
        ptr = np.searchsorted(rows, np.append(kept, len(documents))).astype(np.int64)
        columns = {feature: documents.columns[feature].take(kept) for feature in self.joins.features}
        return segment_of(
            documents.seq[kept],
            documents.time_us[kept],
            documents.is_made[kept],
            Ragged(ptr, stream),
            columns,
        )

    def _near(self, documents: Documents, primaries: Longs, windows: Longs) -> Near:
        row, stream = self._members(documents, primaries)
        member, under = self._members(documents, windows)
        by_stream = np.lexsort((member, under))
        places = np.arange(len(self.joins.streams) + 1)
        return Near(
            np.searchsorted(row, np.arange(len(documents) + 1)).astype(np.int64),
            stream,
            documents.arrived_us,
            documents.clock_us,
            self._history.members,
            np.searchsorted(under[by_stream], places).astype(np.int64),
            member[by_stream],
        )

    def _own(self, documents: Documents, windows: Longs, groups: tuple[Group, ...]) -> _Side:
        row, stream = self._members(documents, windows)
        ptr = np.searchsorted(row, np.arange(len(documents) + 1)).astype(np.int64)
        far = Far(ptr, stream, self._history.members[stream] + rank_in_group(stream), documents.time_us)
        index = FinderIndex(self.joins, [atom for group in groups for atom in group.finders or ()])
        members = np.unique(row)
        index.add({one: column.take(members) for one, column in documents.columns.items()}, members)
        return _Side(far, documents.seq, documents.columns, index, is_own=True)

    def _members(self, documents: Documents, streams: Longs) -> tuple[Longs, Longs]:
        """(row, place of the stream), by row and stream."""
        parts = [documents.members.get(key, ()) for key in self.joins.streams[streams].tolist()]
        row = np.concatenate([np.empty(0, np.int64), *parts]).astype(np.int64)
        stream = np.repeat(streams, [len(part) for part in parts]).astype(np.int64)
        order = np.lexsort((stream, row))
        return row[order], stream[order]

    def _joined(self, group: Group, side: _Side, documents: Documents, near: Near) -> Iterator[Longs]:
        """(key, row, partner) of what a group finds on one side, in pieces; of stories also what `Told` says more."""
        bounds = self.joins.bounds
        for row, place in _candidates(group, side, documents.columns, near):
            found = kernels.wanted(
                row, place, group.joins, near, side.far, bounds.lateness_us, bounds.max_documents
            )
            if not group.is_decided and len(found):
                pairs, inverse = np.unique(found[:, 1], return_inverse=True)
                is_true = holds(group.predicate, row[pairs], place[pairs], documents.columns, side.columns)
                found = found[is_true[inverse]]
            near_row, far_place = row[found[:, 1]], place[found[:, 1]]
            columns = [group.keys[found[:, 0]], near_row, side.seq[far_place]]
            if group.is_story:
                earlier = far_place if side.is_own else np.full(len(found), -1, np.int64)
                mine, theirs = documents.columns[IDENTITY], side.columns[IDENTITY]
                is_same = mine.data[mine.ptr[near_row]] == theirs.data[theirs.ptr[far_place]]
                order = far_place + (len(self._history) if side.is_own else 0)
                columns += [earlier, found[:, 2], is_same.astype(np.int64), order]
            yield np.column_stack(columns)


def _candidates(group: Group, side: _Side, own: Columns, near: Near) -> Iterator[tuple[Longs, Longs]]:
    """Pairs (row of the batch, place on the other side), each once, in pieces."""
    everyone = np.flatnonzero(np.diff(near.ptr)).astype(np.int64)
    if not len(everyone) or not len(side.seq) or group.finders == ():
        return
    is_primary = np.zeros(len(near.ptr) - 1, np.bool_)
    owner = np.repeat(np.arange(len(is_primary)), np.diff(near.ptr))
    is_primary[owner[np.isin(near.stream, group.primaries)]] = True
    if group.finders is None:
        yield from side.whole(group, np.flatnonzero(is_primary).astype(np.int64))
        return
    found = [side.found(atom, own, everyone) for atom in group.finders]
    found = [pairs.only(is_primary[pairs.row]) for pairs in found]
    if len(found) == 1 and group.finders[0].op == "similar":
        yield found[0].row, found[0].number
        return
    size = len(side.seq)
    codes = np.unique(np.concatenate([pairs.row * size + pairs.number for pairs in found]))
    yield codes // size, codes % size


def _annotations(parts: list[Longs]) -> Annotations:
    rows = np.concatenate([np.empty((0, 3), np.int64), *parts])
    rows = rows[np.lexsort((rows[:, 2], rows[:, 1], rows[:, 0]))]
    return Annotations(*(np.ascontiguousarray(rows[:, place]) for place in range(3)))


def _told(parts: list[Longs]) -> Told:
    rows = np.concatenate([np.empty((0, 7), np.int64), *parts])
    rows = rows[np.lexsort((rows[:, 6], rows[:, 1], rows[:, 0]))]
    key, row, partner, earlier, back, is_same = (np.ascontiguousarray(rows[:, place]) for place in range(6))
    return Told(key, row, earlier, partner, back, is_same.astype(np.bool_))
