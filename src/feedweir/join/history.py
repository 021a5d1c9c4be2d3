"""History as a value: immutable segments of rows, each of one or more batches.

Segments of similar size are merged, so that there are few; what no window in use can reach is dropped on the way.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from feedweir.join.clock import LONG_AGO
from feedweir.join.rows import BindingRows, concatenated, no_rows
from feedweir.join.segments import Segment

Longs = NDArray[np.int64]

_MERGE = 4
"""As many segments of about one size become one: rows are rewritten a few times each, and few segments remain."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What a level takes in of documents, by stable numbers: which streams, which variables, and whose texts."""

    streams: frozenset[int] = frozenset()
    variables: frozenset[int] = frozenset()
    texts: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class JoinState:
    """The history of one level after some batch: a value, never changed."""

    segments: tuple[Segment, ...] = ()
    next_number: int = 0
    clock: int = LONG_AGO
    """At the last document."""
    last_batch: int = -1
    asked: Asked = Asked()
    """Of every document that it holds of these streams it has these variables."""
    latest: int = LONG_AGO
    """No document so far has a later time."""

    @property
    def documents(self) -> int:
        return sum(len(segment.number) for segment in self.segments)

    @property
    def nbytes(self) -> int:
        return sum(segment.nbytes for segment in self.segments)

    @property
    def oldest(self) -> int:
        return min((int(one.number[0]) for one in self.segments if len(one.number)), default=self.next_number)

    def of_values(self, values: Longs, width: int) -> BindingRows:
        """The rows of history with one of these values, sorted: slices of R_L."""
        parts = [segment.of_values(values) for segment in self.segments]
        found = concatenated([part for part in parts if len(part)], width)
        return found.sorted() if len(self.segments) > 1 else found

    def of_documents(self, numbers: Longs, variables: Longs, width: int) -> BindingRows:
        """The rows of these documents with one of these variables."""
        parts = [no_rows(width)]
        for segment in self.segments:
            held = numbers[np.isin(numbers, segment.number)]
            if len(held):
                rows = segment.rows
                parts.append(rows.take(np.isin(rows.document, held) & np.isin(rows.variable, variables)))
        return concatenated(parts, width)

    def sequence(self, numbers: Longs) -> tuple[Longs, Longs]:
        """(seq, sub) of documents by number."""
        seq, sub = np.full(len(numbers), -1, np.int64), np.zeros(len(numbers), np.int64)
        for segment in self.segments:
            if not len(segment.number):
                continue
            at = np.minimum(np.searchsorted(segment.number, numbers), len(segment.number) - 1)
            here = segment.number[at] == numbers
            seq[here], sub[here] = segment.seq[at[here]], segment.sub[at[here]]
        return seq, sub

    def seqs(self, numbers: Longs) -> Longs:
        """The places in the stream of documents, many of them over and over."""
        low = int(numbers.min(initial=self.next_number))
        is_there = np.zeros(self.next_number - low, np.bool_)
        is_there[numbers - low] = True
        distinct = np.flatnonzero(is_there)
        place = np.empty(len(is_there), np.int32)
        place[distinct] = np.arange(len(distinct), dtype=np.int32)
        return self.sequence(distinct + low)[0][place[numbers - low]]

    def times(self, numbers: Longs) -> Longs:
        """The times of documents by number; of those that are not held long ago."""
        found = np.full(len(numbers), LONG_AGO, np.int64)
        for segment in self.segments:
            if len(segment.number):
                at = np.minimum(np.searchsorted(segment.number, numbers), len(segment.number) - 1)
                here = segment.number[at] == numbers
                found[here] = segment.time[at[here]]
        return found

    def time_of(self, number: int) -> int:
        for segment in self.segments:
            at = int(np.searchsorted(segment.number, number))
            if at < len(segment.number) and segment.number[at] == number:
                return int(segment.time[at])
        raise KeyError(number)

    def items_of(self, number: int) -> tuple[int, ...]:
        """The items of a document: its own, or those it was made of."""
        for segment in self.segments:
            if number in segment.derived:
                return segment.derived[number]
        return (int(self.sequence(np.array([number]))[0][0]),)

    def text(self, number: int, node: int) -> str:
        for segment in self.segments:
            low, high = np.searchsorted(segment.text_number, [number, number + 1])
            for place in range(int(low), int(high)):
                if segment.text_node[place] == node:
                    return str(segment.texts[place])
        return ""

    def stream_documents(self, stream: int) -> Longs:
        """The numbers of a stream's documents, in order."""
        parts = [one.member_number[one.member_stream == stream] for one in self.segments]
        return np.sort(np.concatenate(parts)) if parts else np.empty(0, np.int64)


@dataclass(frozen=True, slots=True)
class Reach:
    """What windows in use can still reach: by time (microseconds since the epoch), or by stream the first number."""

    time: int
    number: int
    """Nothing before this number, whatever the windows."""
    streams: Mapping[int, int]


def extended(state: JoinState, segment: Segment, clock: int, asked: Asked) -> JoinState:
    """The state with the segment of one more batch, of which this was taken in."""
    count = len(segment.number)
    segments = (*state.segments, segment) if count else state.segments
    latest = max(state.latest, int(segment.time.max(initial=LONG_AGO)))
    return JoinState(segments, state.next_number + count, clock, segment.last, asked, latest)


def compacted(state: JoinState, reach: Reach) -> JoinState:
    """The same state with fewer segments, without what is out of reach. The newest segment stays as it is: until the
    batch after it begins, its batch may be repeated and must find the state before it."""
    if len(state.segments) < 2:
        return state
    *older, newest = state.segments
    merged: list[Segment] = []
    for segment in older:
        merged.append(segment)
        while len(merged) >= _MERGE and _is_run(merged[-_MERGE:]):
            merged[-_MERGE:] = [_merged(merged[-_MERGE:], reach)]
    swept = [_swept(segment, reach) for segment in merged]
    kept = [segment for segment in swept if len(segment.number)]
    return replace(state, segments=(*kept, newest))


def _is_run(segments: list[Segment]) -> bool:
    sizes = [max(len(segment.rows), 1) for segment in segments]
    return max(sizes) <= _MERGE * min(sizes)


def _in_reach(segment: Segment, reach: Reach) -> NDArray[np.bool_]:
    kept = segment.time >= reach.time
    for stream, first in reach.streams.items():
        counted = segment.member_number[segment.member_stream == stream]
        kept |= np.isin(segment.number, counted[counted >= first])
    return np.asarray(kept & (segment.number >= reach.number))


def _swept(segment: Segment, reach: Reach) -> Segment:
    """Without what is out of reach, when that is at least a quarter: less is not worth rewriting."""
    kept = _in_reach(segment, reach)
    return segment.kept(kept) if 4 * int(kept.sum()) <= 3 * len(kept) else segment


def _merged(segments: list[Segment], reach: Reach) -> Segment:
    parts = [segment.kept(_in_reach(segment, reach)) for segment in segments]

    def column(name: str) -> NDArray[np.int64]:
        return np.concatenate([getattr(part, name) for part in parts])

    return Segment(
        segments[0].first,
        segments[-1].last,
        concatenated([part.rows for part in parts], 1).sorted(),
        column("number"),
        column("seq"),
        column("sub"),
        column("time"),
        {number: items for part in parts for number, items in part.derived.items()},
        column("member_stream"),
        column("member_number"),
        column("text_number"),
        np.concatenate([part.text_node for part in parts]),
        pa.concat_arrays([part.texts for part in parts]),
    )


def states_named(states: Iterable[JoinState]) -> dict[str, JoinState]:
    """Levels under the names they are stored by."""
    return {f"level{number}": state for number, state in enumerate(states)}
