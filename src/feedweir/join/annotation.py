"""Annotation joins: the items of a primary stream with partners in a window over another stream, and those partners.

A partner p of an item c comes before c in sequence. In a window of time d it was published later than d before c
arrived (p.time > c.arrived - d); in a window of n items it is one of the last n of the window's stream when c has come,
c itself included when it is one of them. Items without a date count from their arrival. What no window can reach any
more, unless the clock of arrivals goes back by more than the lateness allowed, is dropped.

Joins with the same predicate are evaluated together: candidates come from one index for each finding atom, over all
streams; which joins want a pair then follows from the streams of its two items.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from feedweir.errors import FeedweirError, LanguageError
from feedweir.join import annotation_kernels as kernels
from feedweir.join.cache import ViewCache
from feedweir.join.features import Feature, Ragged, empty, extract
from feedweir.join.query import stream_name
from feedweir.join.relations import atoms_of, finders, holds, sides_of
from feedweir.join.rows import BindingRows, ranges
from feedweir.join.similarity import SimilarityIndex, TokenSets
from feedweir.join.values import stable_number
from feedweir.join.windows import FOREVER, JoinBounds, microseconds
from feedweir.plan.nodes import AnnotationJoin, LastItems, TimeSpan
from feedweir.plan.predicates import JoinPredicate, Relates

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class AnnotationQuery:
    """`key` is what results report: a feed's join."""

    key: int
    join: AnnotationJoin


@dataclass(frozen=True, slots=True)
class _Group:
    """Joins of one predicate; streams by number. `length` is in microseconds, or items when `is_count`."""

    predicate: JoinPredicate
    finders: tuple[Relates, ...] | None
    keys: Longs
    pair: Longs
    """primary stream · 2³² + window stream, ascending."""
    is_count: NDArray[np.bool_]
    length: Longs


@dataclass(frozen=True, slots=True)
class AnnotationSet:
    """All annotation joins as one value."""

    groups: tuple[_Group, ...]
    streams: tuple[str, ...]
    """By name, in the order of their stable numbers: groups refer to them by place."""
    features: tuple[Feature, ...]
    """What is kept of the items in windows."""
    thresholds: Mapping[tuple[Feature, Feature], float]
    """By the features of `similar` atoms that find candidates, the lowest threshold."""
    horizon_us: int
    horizon_items: Mapping[int, int]
    """By window stream the longest window in items."""
    failures: Mapping[int, FeedweirError]
    bounds: JoinBounds


@dataclass(frozen=True, slots=True)
class ItemBatch:
    """Items in sequence order (`ITEM_SCHEMA`) with their times, and which rows are in which stream."""

    items: pa.RecordBatch
    seq: Longs
    time_us: Longs
    members: Mapping[str, Ints]


@dataclass(frozen=True, slots=True)
class AnnotationState:
    """The items that windows can reach, as columns: item `first + r` is row r."""

    first: int = 0
    clock: int = -(1 << 62)
    seq: Longs = field(default_factory=lambda: np.empty(0, np.int64))
    time: Longs = field(default_factory=lambda: np.empty(0, np.int64))
    columns: Mapping[Feature, Ragged] = field(default_factory=dict)
    streams: Ragged = field(default_factory=lambda: Ragged(np.zeros(1, np.int64), np.empty(0, np.int64)))
    """Of each item the streams it is in, by their stable numbers."""

    @property
    def next_number(self) -> int:
        return self.first + len(self.seq)

    def members(self, stream: int) -> Longs:
        """The numbers of a stream's items."""
        owner = np.repeat(np.arange(len(self.seq)), np.diff(self.streams.ptr))
        return np.asarray(self.first + owner[self.streams.data == stream])


@dataclass(frozen=True, slots=True)
class Annotations:
    """Rows (key, item, partner), by sequence number of the item, then key, then partner."""

    key: Longs
    item: Longs
    partner: Longs

    def __len__(self) -> int:
        return len(self.key)


def compile_annotations(
    queries: Iterable[AnnotationQuery], *, bounds: JoinBounds | None = None
) -> AnnotationSet:
    """The compiled set; a join that cannot be used is a failure by its key, and the rest is compiled."""
    chosen = bounds or JoinBounds()
    failures: dict[int, FeedweirError] = {}
    grouped: dict[JoinPredicate, list[AnnotationQuery]] = {}
    for query in queries:
        try:
            _check(query.join)
            grouped.setdefault(query.join.predicate, []).append(query)
        except FeedweirError as error:
            failures[query.key] = error
    accepted = [query for group in grouped.values() for query in group]
    names = {stream_name(query.join.primary) for query in accepted}
    names |= {stream_name(query.join.window.input) for query in accepted}
    streams = sorted(names, key=stable_number)
    number = {name: place for place, name in enumerate(streams)}
    groups = tuple(_group(predicate, group, number) for predicate, group in grouped.items())
    atoms = [atom for group in groups for atom in atoms_of(group.predicate)]
    features = sorted({side for atom in atoms for side in sides_of(atom)}, key=repr)
    thresholds: dict[tuple[Feature, Feature], float] = {}
    for atom in (atom for group in groups for atom in group.finders or () if atom.op == "similar"):
        sides = sides_of(atom)
        thresholds[sides] = min(thresholds.get(sides, 1.0), atom.threshold)
    times = [int(group.length[~group.is_count].max(initial=-1)) for group in groups]
    items: dict[int, int] = {}
    for group in groups:
        for pair, length in zip(group.pair[group.is_count], group.length[group.is_count], strict=True):
            stream = int(pair) & 0xFFFFFFFF
            items[stream] = max(items.get(stream, 0), int(length))
    return AnnotationSet(
        groups, tuple(streams), tuple(features), thresholds, max(times, default=-1), items, failures, chosen
    )


def _check(join: AnnotationJoin) -> None:
    for atom in atoms_of(join.predicate):
        sides_of(atom)
    spec = getattr(join.window, "spec", None)
    if spec is None:
        raise LanguageError("a join needs a window", hint="for example `join last 3 days of …`")
    if _length(spec) <= 0:
        raise LanguageError("a window must be longer than nothing", hint="for example `last 3 days`")


def _length(spec: TimeSpan | LastItems) -> int:
    return microseconds(spec.length) if isinstance(spec, TimeSpan) else min(spec.count, FOREVER)


def _group(predicate: JoinPredicate, queries: Sequence[AnnotationQuery], number: Mapping[str, int]) -> _Group:
    rows = sorted(
        (
            number[stream_name(query.join.primary)] << 32 | number[stream_name(query.join.window.input)],
            isinstance(query.join.window.spec, LastItems),
            _length(query.join.window.spec),
            query.key,
        )
        for query in queries
    )
    pair, is_count, length, keys = (np.array(column) for column in zip(*rows, strict=True))
    return _Group(
        predicate,
        finders(predicate),
        keys.astype(np.int64),
        pair.astype(np.int64),
        is_count.astype(np.bool_),
        length.astype(np.int64),
    )


class AnnotationLogic:
    """The logic of a compiled set; its indexes reflect one state and are made anew for any other."""

    def __init__(self, joins: AnnotationSet) -> None:
        self.joins = joins
        self._state: AnnotationState | None = None
        self._stream_numbers = np.array([stable_number(name) for name in joins.streams], np.int64)
        self._equal = ViewCache(max_rows=FOREVER)
        self._similar: dict[tuple[Feature, Feature], SimilarityIndex] = {}

    def start(self) -> AnnotationState:
        return AnnotationState(columns={feature: empty(feature) for feature in self.joins.features})

    def step(self, before: AnnotationState, batch: ItemBatch) -> tuple[Annotations, AnnotationState]:
        if self._state is not before:
            before = _completed(before, self.joins.features)
            self._restore(before)
        own = {feature: extract(feature, batch.items) for feature in self.joins.features}
        arrived = batch.items.column("arrived").cast(pa.int64()).to_numpy()
        clock = int(max(before.clock, arrived.max(initial=before.clock)))
        state = _appended(before, batch, own, clock)
        self._index(own, np.arange(before.next_number, state.next_number, dtype=np.int64))
        found = [self._matches(group, state, batch, own, arrived) for group in self.joins.groups]
        rows = np.concatenate([np.empty((0, 3), np.int64), *found])
        rows = rows[np.lexsort((rows[:, 2], rows[:, 0], rows[:, 1]))]
        self._state = self._expired(state)
        return Annotations(rows[:, 0], rows[:, 1], rows[:, 2]), self._state

    def _matches(
        self,
        group: _Group,
        state: AnnotationState,
        batch: ItemBatch,
        own: Mapping[Feature, Ragged],
        arrived: Longs,
    ) -> Longs:
        """(key, item, partner) of one group, by sequence number."""
        first = state.next_number - len(batch.seq)
        result = [np.empty((0, 3), np.int64)]
        for row, number in self._candidates(group, state, batch, own, first):
            decided = holds(group.predicate, row, number - state.first, own, state.columns)
            row, number = row[decided], number[decided]
            at, join = self._wanted(group, state, first + row, number)
            near, far = row[at], number[at]
            needed = arrived[near] - state.time[far - state.first]
            inside = np.where(group.is_count[join], False, needed < group.length[join])
            inside |= group.is_count[join] & (
                self._back(group, state, join, first + near, far) <= group.length[join]
            )
            at, join = at[inside], join[inside]
            seqs = state.seq[number[at] - state.first]
            result.append(np.column_stack([group.keys[join], batch.seq[row[at]], seqs]))
        return np.concatenate(result)

    def _back(self, group: _Group, state: AnnotationState, join: Longs, near: Longs, far: Longs) -> Longs:
        """How many items of its stream a partner is back; only for windows in items."""
        back = np.full(len(join), FOREVER, np.int64)
        streams = group.pair[join] & 0xFFFFFFFF
        for stream in np.unique(streams[group.is_count[join]]).tolist():
            chosen = streams == stream
            numbers = state.members(int(self._stream_numbers[stream]))
            come = np.searchsorted(numbers, near[chosen], "right")
            back[chosen] = come - np.searchsorted(numbers, far[chosen])
        return back

    def _wanted(self, group: _Group, state: AnnotationState, near: Longs, far: Longs) -> tuple[Longs, Longs]:
        """(pair, join) for every join whose primary and window streams have the two items of a pair."""
        mine, theirs = state.streams.take(near - state.first), state.streams.take(far - state.first)
        counts = np.diff(mine.ptr) * np.diff(theirs.ptr)
        pair = np.repeat(np.arange(len(near)), counts)
        place = np.arange(len(pair)) - np.repeat(np.cumsum(counts) - counts, counts)
        width = np.diff(theirs.ptr)[pair]
        one = mine.data[mine.ptr[pair] + place // np.maximum(width, 1)]
        other = theirs.data[theirs.ptr[pair] + place % np.maximum(width, 1)]
        left, left_known = self._place(one)
        right, right_known = self._place(other)
        wanted = np.where(left_known & right_known, left << 32 | right, -1)
        low = np.searchsorted(group.pair, wanted, "left").astype(np.int64)
        high = np.searchsorted(group.pair, wanted, "right").astype(np.int64)
        return np.repeat(pair, high - low), ranges(low, high)

    def _place(self, streams: NDArray[np.generic]) -> tuple[Longs, NDArray[np.bool_]]:
        """The places of streams by stable number, and whether joins know them."""
        last = max(len(self._stream_numbers) - 1, 0)
        at = np.minimum(np.searchsorted(self._stream_numbers, streams), last).astype(np.int64)
        return at, np.asarray(self._stream_numbers[at] == streams)

    def _candidates(
        self,
        group: _Group,
        state: AnnotationState,
        batch: ItemBatch,
        own: Mapping[Feature, Ragged],
        first: int,
    ) -> Iterator[tuple[Longs, Longs]]:
        """Pairs (row of the batch, number of an earlier item), each once, in pieces."""
        numbers = np.arange(first, first + len(batch.seq), dtype=np.int64)
        rows = np.flatnonzero(self._in_streams(group, state, numbers, 32))
        if group.finders is None:
            yield from self._whole_window(group, state, rows, first)
            return
        found = [np.empty((0, 2), np.int64)]
        for atom in group.finders:
            mine, theirs = sides_of(atom)
            if atom.op == "similar":
                sets = own[mine]
                asked = TokenSets(sets.ptr, sets.data.view(np.int64))
                oldest = np.full(len(numbers), state.first, np.int64)
                similar = self._similar[mine, theirs].probe(asked, numbers, oldest)
                enough = similar.similarity >= atom.threshold
                found.append(np.column_stack([similar.row, similar.number])[enough])
            else:
                keys = own[mine]
                owner = np.repeat(np.arange(len(numbers), dtype=np.int64), np.diff(keys.ptr))
                variable = _variable(theirs)
                cache = self._equal
                found.append(
                    kernels.equal_pairs(
                        owner,
                        keys.data,
                        variable,
                        numbers,
                        state.first,
                        cache.table,
                        cache.slices,
                        cache.arena,
                    )
                )
        pairs = np.unique(np.concatenate(found), axis=0)
        pairs = pairs[np.isin(pairs[:, 0], rows)]
        yield np.ascontiguousarray(pairs[:, 0]), np.ascontiguousarray(pairs[:, 1])

    def _whole_window(
        self, group: _Group, state: AnnotationState, rows: Longs, first: int
    ) -> Iterator[tuple[Longs, Longs]]:
        """Every earlier item of the window streams, a few items of the batch at a time."""
        everyone = np.arange(state.first, state.next_number, dtype=np.int64)
        held = everyone[self._in_streams(group, state, everyone, 0)]
        size = max(1, 1_000_000 // max(len(held), 1))
        for start in range(0, len(rows), size):
            some = rows[start : start + size]
            row, number = np.repeat(some, len(held)), np.tile(held, len(some))
            earlier = number < first + row
            yield row[earlier], number[earlier]

    def _in_streams(
        self, group: _Group, state: AnnotationState, numbers: Longs, shift: int
    ) -> NDArray[np.bool_]:
        streams = np.unique(group.pair >> shift & 0xFFFFFFFF).tolist()
        marks = np.zeros(len(numbers), np.bool_)
        held = state.streams.take(numbers - state.first)
        wanted = np.isin(held.data, self._stream_numbers[streams])
        marks[np.repeat(np.arange(len(numbers)), np.diff(held.ptr))[wanted]] = True
        return marks

    def _index(self, own: Mapping[Feature, Ragged], numbers: Longs) -> None:
        """Add a batch's items to the indexes that finding atoms read."""
        equal = {
            sides_of(atom)[1]
            for group in self.joins.groups
            for atom in group.finders or ()
            if atom.op != "similar"
        }
        for feature in sorted(equal, key=repr):
            column = own[feature]
            document = np.repeat(numbers, np.diff(column.ptr))
            zeros = np.zeros(len(document), np.int64)
            variable = np.full(len(document), _variable(feature), np.int64)
            path = np.zeros((len(document), 1), np.int32)
            keys = column.data.astype(np.int64)
            self._equal.append(BindingRows(keys, zeros, variable, document, zeros, path).sorted())
        for sides, threshold in sorted(self.joins.thresholds.items(), key=repr):
            index = self._similar.setdefault(sides, SimilarityIndex(threshold))
            column = own[sides[1]]
            index.add(TokenSets(column.ptr, column.data.view(np.int64)), numbers)

    def _restore(self, state: AnnotationState) -> None:
        """Indexes for a state that was read back, or stepped elsewhere."""
        self._equal = ViewCache(max_rows=FOREVER)
        self._similar = {}
        self._index(state.columns, np.arange(state.first, state.next_number, dtype=np.int64))

    def _expired(self, state: AnnotationState) -> AnnotationState:
        """Without the oldest items that no window reaches, once they are a quarter of what is held."""
        reach = state.clock - self.joins.horizon_us - self.joins.bounds.lateness_us
        kept = state.time > reach if self.joins.horizon_us >= 0 else np.zeros(len(state.seq), np.bool_)
        first = state.first + (int(np.argmax(kept)) if kept.any() else len(kept))
        for stream, count in self.joins.horizon_items.items():
            numbers = state.members(int(self._stream_numbers[stream]))
            if len(numbers):
                first = min(first, int(numbers[max(0, len(numbers) - count)]))
        first = max(first, state.next_number - self.joins.bounds.max_documents)
        if 4 * (first - state.first) < len(state.seq):
            return state
        rows = np.arange(first - state.first, len(state.seq), dtype=np.int64)
        expired = AnnotationState(
            first,
            state.clock,
            state.seq[rows],
            state.time[rows],
            {feature: column.take(rows) for feature, column in state.columns.items()},
            state.streams.take(rows),
        )
        self._restore_equal(expired)
        for index in self._similar.values():
            index.expire(first)
        return expired

    def _restore_equal(self, state: AnnotationState) -> None:
        similar, self._similar = self._similar, {}
        self._restore(state)
        self._similar = similar


def _variable(feature: Feature) -> int:
    return stable_number(repr(feature))


def _completed(state: AnnotationState, features: Sequence[Feature]) -> AnnotationState:
    """The state with a column for every feature: of items kept before a join asked for it nothing is known."""
    rows = len(state.seq)
    columns = {
        feature: state.columns.get(feature, Ragged(np.zeros(rows + 1, np.int64), empty(feature).data))
        for feature in features
    }
    return AnnotationState(state.first, state.clock, state.seq, state.time, columns, state.streams)


def _appended(
    state: AnnotationState, batch: ItemBatch, own: Mapping[Feature, Ragged], clock: int
) -> AnnotationState:
    count = len(batch.seq)
    owner = np.concatenate(
        [np.empty(0, np.int64), *(rows.astype(np.int64) for rows in batch.members.values())]
    )
    numbers = [np.full(len(rows), stable_number(stream), np.int64) for stream, rows in batch.members.items()]
    stream = np.concatenate([np.empty(0, np.int64), *numbers])
    order = np.lexsort((stream, owner))
    ptr = np.searchsorted(owner[order], np.arange(count + 1)).astype(np.int64)
    return AnnotationState(
        state.first,
        clock,
        np.concatenate([state.seq, batch.seq]),
        np.concatenate([state.time, batch.time_us]),
        {feature: state.columns[feature].joined(column) for feature, column in own.items()},
        state.streams.joined(Ragged(ptr, stream[order])),
    )
