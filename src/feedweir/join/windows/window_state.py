"""What annotation joins remember: the items under windows, as immutable segments of one or more batches.

A segment is a table: of each item its number, its times, the streams under windows that it is in, and the features that
joins compare (`windows.features`), never the item itself. Segments of similar size are merged, so that there are few;
what no window in use can reach is dropped.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from itertools import pairwise

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from feedweir.join.clock import LONG_AGO
from feedweir.join.ragged import Ragged, from_arrow, to_arrow
from feedweir.join.windows.features import Feature

Bools = NDArray[np.bool_]
Longs = NDArray[np.int64]


NEVER = 1 << 62


_MERGE = 4
"""As many segments of about one size become one: rows are rewritten a few times each, and few segments remain."""


_PLAIN = ("seq", "time", "arrived", "is_made")


@dataclass(frozen=True)
class WindowSegment:
    """Items in the order of the stream."""

    table: pa.Table

    def __len__(self) -> int:
        return int(self.table.num_rows)

    @cached_property
    def name(self) -> str:
        """It follows from the content: a rewritten segment has another name."""
        digest = blake2b(digest_size=8)
        for column in (self.seq, self.streams.ptr, self.streams.data):
            digest.update(np.ascontiguousarray(column).tobytes())
        digest.update(repr(self.table.column_names).encode())
        return f"{self.seq[0]}-{self.seq[-1]}-{len(self)}-{digest.hexdigest()}"

    @cached_property
    def seq(self) -> Longs:
        return np.asarray(self.table["seq"].to_numpy())

    @cached_property
    def time(self) -> Longs:
        return np.asarray(self.table["time"].to_numpy())

    @cached_property
    def arrived(self) -> Longs:
        """Older states do not have it; an item arrives no earlier than its time."""
        is_told = "arrived" in self.table.column_names
        return np.asarray(self.table["arrived"].to_numpy()) if is_told else self.time

    @cached_property
    def is_made(self) -> Bools:
        """Which are documents that were constructed."""
        return np.asarray(self.table["is_made"].to_numpy())

    @cached_property
    def streams(self) -> Ragged:
        return from_arrow(self.table["streams"])

    def column(self, feature: Feature) -> Ragged:
        return from_arrow(self.table[feature.name])

    def has(self, features: Sequence[Feature]) -> bool:
        """Whether it holds these columns and no others."""
        return set(self.table.column_names) == {*_PLAIN, "streams", *(one.name for one in features)}

    def with_columns(self, columns: Mapping[Feature, Ragged]) -> WindowSegment:
        """With these columns for the features."""
        return segment_of(self.seq, self.time, self.arrived, self.is_made, self.streams, columns)

    def within(self, reach: WindowReach) -> WindowSegment:
        """Without what is out of reach, when that is at least a quarter: less is not worth rewriting."""
        owner = np.repeat(np.arange(len(self)), np.diff(self.streams.ptr))
        inside = reach.includes(self.streams.data.astype(np.int64), self.arrived[owner], self.seq[owner])
        rows = np.unique(owner[inside])
        return self if 4 * len(rows) > 3 * len(self) else self._of_members(owner, inside)

    def of_streams(self, streams: Iterable[int]) -> WindowSegment:
        """Only the members of some streams, as such."""
        owner = np.repeat(np.arange(len(self)), np.diff(self.streams.ptr))
        return self._of_members(owner, np.isin(self.streams.data, np.array(sorted(streams), np.int64)))

    def _of_members(self, owner: Longs, inside: Bools) -> WindowSegment:
        rows = np.unique(owner[inside])
        ptr = np.searchsorted(owner[inside], np.append(rows, len(self))).astype(np.int64)
        kept = self.table.take(pa.array(rows))
        streams = to_arrow(Ragged(ptr, self.streams.data[inside]))
        return WindowSegment(kept.set_column(kept.column_names.index("streams"), "streams", streams))


def segment_of(
    seq: Longs,
    time: Longs,
    arrived: Longs,
    is_made: Bools,
    streams: Ragged,
    columns: Mapping[Feature, Ragged],
) -> WindowSegment:
    plain = zip(_PLAIN, (seq, time, arrived, is_made), strict=True)
    table = {name: pa.array(column) for name, column in plain}
    table["streams"] = to_arrow(streams)
    table |= {feature.name: to_arrow(column) for feature, column in columns.items()}
    return WindowSegment(pa.table(table))


@dataclass(frozen=True, slots=True)
class WindowState:
    """The state after some batch: a value, never changed."""

    segments: tuple[WindowSegment, ...] = ()
    clock: int = LONG_AGO
    """At the last item so far, in microseconds (`join.clock`)."""
    streams: tuple[int, ...] = ()
    """Those that were under windows; nothing is known of any other."""

    def adopting(self, others: Iterable[WindowState], wanted: Iterable[int]) -> WindowState:
        """The state with what others know of streams that this one does not know."""
        missing = {*wanted} - {*self.streams}
        segments: list[WindowSegment] = []
        for other in others:
            known = missing & {*other.streams}
            parts = [segment.of_streams(known) for segment in other.segments] if known else []
            segments += [part for part in parts if len(part)]
            missing -= known
        return WindowState((*self.segments, *segments), self.clock, self.streams) if segments else self

    @property
    def items(self) -> int:
        return sum(map(len, self.segments))

    @property
    def nbytes(self) -> int:
        return sum(int(segment.table.nbytes) for segment in self.segments)


@dataclass(frozen=True, slots=True)
class WindowReach:
    """What windows in use can still reach: of each stream what arrived later than a time and not before a number (no
    item is published after it arrived), and whatever comes from another number on."""

    streams: Longs
    """Ascending."""
    later_than: Longs
    from_number: Longs
    not_before: Longs

    def includes(self, stream: Longs, arrived: Longs, seq: Longs) -> Bools:
        if not len(self.streams):
            return np.zeros(len(stream), np.bool_)
        at = np.minimum(np.searchsorted(self.streams, stream), len(self.streams) - 1)
        is_recent = (arrived > self.later_than[at]) & (seq >= self.not_before[at])
        is_near = is_recent | (seq >= self.from_number[at])
        return np.asarray((self.streams[at] == stream) & is_near)


def swept(segments: Iterable[WindowSegment], reach: WindowReach) -> tuple[WindowSegment, ...]:
    """The segments without what is out of reach."""
    return tuple(kept for segment in segments if len(kept := segment.within(reach)))


def in_order(segments: Sequence[WindowSegment]) -> tuple[WindowSegment, ...]:
    """Segments with the same columns, those that overlap made one."""
    if all(one.seq[-1] <= other.seq[0] for one, other in pairwise(segments)):
        return tuple(segments)
    joined = _joined(segments)
    order = np.argsort(joined.seq, kind="stable")
    return (WindowSegment(joined.table.take(pa.array(order)).combine_chunks()),)


def merged(segments: Sequence[WindowSegment]) -> tuple[WindowSegment, ...]:
    """The same in fewer segments."""
    found: list[WindowSegment] = []
    for segment in segments:
        found.append(segment)
        while len(found) >= _MERGE and _is_run(found[-_MERGE:]):
            found[-_MERGE:] = [_joined(found[-_MERGE:])]
    return tuple(found)


def _is_run(segments: Sequence[WindowSegment]) -> bool:
    sizes = [len(segment) for segment in segments]
    return max(sizes) <= _MERGE * min(sizes)


def _joined(segments: Sequence[WindowSegment]) -> WindowSegment:
    names = segments[0].table.column_names
    return WindowSegment(pa.concat_tables([one.table.select(names) for one in segments]).combine_chunks())
