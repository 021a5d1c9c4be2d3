"""The items under windows at hand: a state's segments as growing columns, with the indexes that joins look into."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from feedweir.join.annotation import AnnotationSet, Horizon
from feedweir.join.annotation_index import FinderIndex
from feedweir.join.annotation_kernels import Far
from feedweir.join.annotation_state import NEVER, Reach, WindowSegment
from feedweir.join.features import Feature, Ragged, empty

Longs = NDArray[np.int64]


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


class WindowHistory:
    """Items by place: how they came in the stream. Streams go by their places in the set."""

    def __init__(self, joins: AnnotationSet) -> None:
        self._joins = joins
        self._seq, self._time, self._ordinal = (Growing(np.empty(0, np.int64)) for _ in range(3))
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
        return Far(streams.ptr, streams.data.view(np.int64), self._ordinal.longs, self._time.longs)

    def append(self, segment: WindowSegment) -> None:
        """Items that came after all those here; streams that no join reads are left out."""
        numbers = np.arange(len(self), len(self) + len(segment), dtype=np.int64)
        columns = {feature: segment.column(feature) for feature in self._joins.features}
        streams = places_of(self._joins.streams, segment.streams)
        self._seq.extend(segment.seq)
        self._time.extend(segment.time)
        self._streams.extend(streams)
        self._ordinal.extend(self._numbered(streams.data.astype(np.int64)))
        for feature, column in columns.items():
            self._columns[feature].extend(column)
        self.index.add(columns, numbers)

    def _numbered(self, streams: Longs) -> Longs:
        """The how many-th of its stream each is."""
        ordinals = self.members[streams] + rank_in_group(streams)
        self.members = self.members + np.bincount(streams, minlength=len(self.members))
        return np.asarray(ordinals)

    def reach(self, clock: int) -> Reach:
        """What windows reach when the clock stands so."""
        streams = self._joins.streams
        horizons = [self._joins.horizons.get(stream, Horizon()) for stream in streams.tolist()]
        times = np.array([horizon.time_us for horizon in horizons], np.int64)
        items = np.array([horizon.items for horizon in horizons], np.int64)
        later = np.where(times >= 0, clock - self._joins.bounds.lateness_us - times, NEVER)
        most = np.full(len(streams), self._joins.bounds.max_documents, np.int64)
        return Reach(streams, later, self._last(np.minimum(items, most)), self._last(most))

    def cut(self, most: int) -> dict[int, int]:
        """Streams that have more than so many items, and the time of the first of their last so many."""
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
        """By stream the number of the first of its last so many items."""
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


def rank_in_group(groups: Longs) -> Longs:
    """How often each value was there before."""
    order = np.argsort(groups, kind="stable")
    ordered = groups[order]
    starts = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1])[: len(ordered)])
    sizes = np.diff(np.append(starts, len(ordered)))
    ranks = np.empty(len(groups), np.int64)
    ranks[order] = np.arange(len(groups)) - np.repeat(starts, sizes)
    return ranks
