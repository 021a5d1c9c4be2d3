"""The items under windows in memory: a state's segments as growing columns, with the indexes that find candidates.

The indexes find items by equal keys, similar words, or similar story vectors.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from feedweir.join.ragged import Growing, GrowingRagged, Ragged, ranges, rank_in_group
from feedweir.join.windows.annotation_kernels import Far
from feedweir.join.windows.annotation_set import AnnotationSet, Horizon
from feedweir.join.windows.features import Feature, empty
from feedweir.join.windows.relations import finding_sides
from feedweir.join.windows.similarity import Pairs, SimilarityIndex
from feedweir.join.windows.story_vectors import StoryIndex
from feedweir.join.windows.window_state import NEVER, WindowReach, WindowSegment
from feedweir.plan.predicates import Relates

Longs = NDArray[np.int64]


def joined_pairs(parts: Sequence[Pairs]) -> Pairs:
    none = Pairs(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0))
    columns = ([getattr(one, name) for one in (none, *parts)] for name in ("row", "number", "similarity"))
    return Pairs(*(np.concatenate(column) for column in columns))


class EqualityIndex:
    """Numbers of items by key: sorted runs that are merged as they grow."""

    def __init__(self) -> None:
        self._runs: list[tuple[Longs, Longs]] = []

    def add(self, keys: Longs, numbers: Longs) -> None:
        """Keys of items, whose numbers ascend and come after those already here."""
        if not len(keys):
            return
        self._runs.append(_by_key(keys, numbers))
        while len(self._runs) > 1 and len(self._runs[-2][0]) <= 2 * len(self._runs[-1][0]):
            (one, some), (other, more) = self._runs[-2:]
            self._runs[-2:] = [_by_key(np.concatenate([one, other]), np.concatenate([some, more]))]

    def counts(self, keys: Longs) -> Longs:
        """How many items have each key."""
        found = np.zeros(len(keys), np.int64)
        for held, _ in self._runs:
            found += np.searchsorted(held, keys, "right") - np.searchsorted(held, keys, "left")
        return found

    def pairs(self, owner: Longs, keys: Longs) -> tuple[Longs, Longs]:
        """(owner, number) for every item that has one of the owner's keys; may repeat."""
        owners, found = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
        for held, numbers in self._runs:
            low = np.searchsorted(held, keys, "left").astype(np.int64)
            high = np.searchsorted(held, keys, "right").astype(np.int64)
            owners.append(np.repeat(owner, high - low))
            found.append(numbers[ranges(low, high)])
        return np.concatenate(owners), np.concatenate(found)


def _by_key(keys: Longs, numbers: Longs) -> tuple[Longs, Longs]:
    order = np.argsort(keys, kind="stable")
    return keys[order], numbers[order]


class FinderIndex:
    """The indexes for all finding atoms of a set of joins, over items numbered from 0 on."""

    def __init__(self, joins: AnnotationSet, atoms: Iterable[Relates] | None = None) -> None:
        """For all finding atoms of a set, or for some."""
        sides = None if atoms is None else {finding_sides(atom) for atom in atoms}
        equal = joins.equal if sides is None else [one for one in joins.equal if one in {b for _, b in sides}]
        self._equal = {feature: EqualityIndex() for feature in equal}
        longest = joins.longest_us
        self._similar = {
            one: StoryIndex(least, longest) if one[0].kind == "story" else SimilarityIndex(least)
            for one, least in joins.thresholds.items()
            if sides is None or one in sides
        }
        self._count = 0

    def add(self, columns: Mapping[Feature, Ragged], numbers: Longs) -> None:
        """Rows of columns under these ascending numbers, after all those already here."""
        if not len(numbers):
            return
        for feature, equal in self._equal.items():
            column = columns[feature]
            equal.add(column.data.astype(np.int64), np.repeat(numbers, np.diff(column.ptr)))
        for (_, theirs), similar in self._similar.items():
            similar.add(columns[theirs], numbers)
        self._count = int(numbers[-1]) + 1

    def counts(self, sides: tuple[Feature, Feature], own: Ragged) -> Longs:
        """For each row, about how many items have an equal feature."""
        found = self._equal[sides[1]].counts(own.data.astype(np.int64))
        sums = np.concatenate([[0], np.cumsum(found)])
        return np.asarray(sums[own.ptr[1:]] - sums[own.ptr[:-1]])

    def pairs(
        self, sides: tuple[Feature, Feature], own: Ragged, rows: Longs, below: Longs | None = None
    ) -> Pairs:
        """All items, numbered below a row's bound, whose feature is equal to, or has enough in common with, that row's
        (`own` has those of the rows); may repeat."""
        if sides in self._similar:
            bound = np.full(len(rows), self._count, np.int64) if below is None else below
            found = self._similar[sides].probe(own, bound, np.zeros(len(rows), np.int64))
            return Pairs(rows[found.row], found.number, found.similarity)
        places = np.repeat(np.arange(len(rows), dtype=np.int64), np.diff(own.ptr))
        place, number = self._equal[sides[1]].pairs(places, own.data.astype(np.int64))
        if below is not None:
            earlier = number < below[place]
            place, number = place[earlier], number[earlier]
        return Pairs(rows[place], number, np.ones(len(place)))


class WindowHistory:
    """Items by place, in the order of the stream. Streams go by their places in the set."""

    def __init__(self, joins: AnnotationSet) -> None:
        self._joins = joins
        self._seq, self._time, self._arrived, self._ordinal = (
            Growing(np.empty(0, np.int64)) for _ in range(4)
        )
        self._streams = GrowingRagged(Ragged(np.zeros(1, np.int64), np.empty(0, np.int64)))
        self._columns = {feature: GrowingRagged(empty(feature)) for feature in joins.features}
        self.members = np.zeros(len(joins.streams), np.int64)
        """How many of each stream there are."""
        self.index = FinderIndex(joins)

    def __len__(self) -> int:
        return len(self._seq)

    @property
    def seq(self) -> Longs:
        return self._seq.longs

    @property
    def columns(self) -> Mapping[Feature, Ragged]:
        return {feature: column.view for feature, column in self._columns.items()}

    @property
    def streams(self) -> Ragged:
        return self._streams.view

    @property
    def far(self) -> Far:
        streams = self.streams
        return Far(
            streams.ptr,
            streams.data.view(np.int64),
            self._ordinal.longs,
            self._time.longs,
            self._arrived.longs,
        )

    def append(self, segment: WindowSegment) -> None:
        """Items that came after all those here; streams that no join reads are left out."""
        numbers = np.arange(len(self), len(self) + len(segment), dtype=np.int64)
        columns = {feature: segment.column(feature) for feature in self._joins.features}
        streams = places_of(self._joins.streams, segment.streams)
        self._seq.extend(segment.seq)
        self._time.extend(segment.time)
        self._arrived.extend(segment.arrived)
        self._streams.extend(streams)
        self._ordinal.extend(self._numbered(streams.data.astype(np.int64)))
        for feature, column in columns.items():
            self._columns[feature].extend(column)
        self.index.add(columns, numbers)

    def _numbered(self, streams: Longs) -> Longs:
        """The ordinal of each in its stream."""
        ordinals = self.members[streams] + rank_in_group(streams)
        self.members = self.members + np.bincount(streams, minlength=len(self.members))
        return np.asarray(ordinals)

    def reach(self, clock: int) -> WindowReach:
        """What windows reach, given the clock."""
        streams = self._joins.streams
        horizons = [self._joins.horizons.get(stream, Horizon()) for stream in streams.tolist()]
        times = np.array([horizon.time_us for horizon in horizons], np.int64)
        items = np.array([horizon.items for horizon in horizons], np.int64)
        later = np.where(times >= 0, clock - self._joins.bounds.lateness_us - times, NEVER)
        most = np.full(len(streams), self._joins.bounds.max_documents, np.int64)
        return WindowReach(streams, later, self._last(np.minimum(items, most)), self._last(most))

    def cut(self, most: int) -> dict[int, int]:
        """Streams with more than `most` items, and the time of the first of their last `most`."""
        over = np.flatnonzero(self.members > most)
        if not len(over):
            return {}
        held = self.streams
        at = held.data.astype(np.int64)
        owner = np.repeat(np.arange(len(self)), np.diff(held.ptr))
        first = np.isin(at, over) & (self._ordinal.longs == (self.members - most)[at])
        times = self._time.longs[owner[first]]
        return dict(zip(self._joins.streams[at[first]].tolist(), times.tolist(), strict=True))

    def _last(self, counts: Longs) -> Longs:
        """By stream the number of the first of its last `counts` items."""
        held = self.streams
        at = held.data.astype(np.int64)
        is_near = self._ordinal.longs >= (self.members - counts)[at]
        owner = np.repeat(np.arange(len(self)), np.diff(held.ptr))
        first = np.full(len(counts), NEVER, np.int64)
        np.minimum.at(first, at[is_near], self.seq[owner[is_near]])
        return first


def places_of(known: Longs, streams: Ragged) -> Ragged:
    """Streams by their places among known ones; others are left out."""
    if not len(known):
        return Ragged(np.zeros(len(streams.ptr), np.int64), np.empty(0, np.int64))
    at = np.minimum(np.searchsorted(known, streams.data), len(known) - 1).astype(np.int64)
    is_known = known[at] == streams.data
    ptr = np.concatenate([[0], np.cumsum(is_known)])[streams.ptr].astype(np.int64)
    return Ragged(ptr, at[is_known])
