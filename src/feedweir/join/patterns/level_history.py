"""The history of pattern joins as a value: immutable segments with the rows, documents and texts of batches.

Segments of similar size are merged, so that there are few; what no window in use can reach is dropped on the way.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from feedweir.join.clock import LONG_AGO
from feedweir.join.patterns.binding_rows import BindingRows, concatenated, no_rows
from feedweir.join.ragged import Ragged, ranges

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Compositions:
    """Documents, by number (ascending), that are more than the item of their number: of which items each was made."""

    number: Longs
    items: Ragged

    @staticmethod
    def of(rows: Mapping[int, Sequence[int]]) -> Compositions:
        numbers = sorted(rows)
        return Compositions(np.array(numbers, np.int64), Ragged.of(rows[number] for number in numbers))

    def __len__(self) -> int:
        return len(self.number)

    def only(self, numbers: Longs) -> Compositions:
        """Those of these documents."""
        places = np.flatnonzero(np.isin(self.number, numbers))
        return Compositions(self.number[places], self.items.take(places))

    def joined(self, later: Compositions) -> Compositions:
        return Compositions(np.concatenate([self.number, later.number]), self.items.joined(later.items))


@dataclass(frozen=True, slots=True)
class Segment:
    """Batches `first` to `last`. Documents are sorted by number, rows by value."""

    first: int
    last: int
    rows: BindingRows
    number: Longs
    seq: Longs
    sub: Longs
    time: Longs
    derived: Compositions
    member_stream: Longs
    """With `member_number`: which documents are in which streams, by the streams' stable numbers."""
    member_number: Longs
    text_number: Longs
    text_node: Ints
    texts: pa.Array
    stem: str = ""
    """The name of its files, when it lies in files."""

    @property
    def nbytes(self) -> int:
        arrays = (self.number, self.seq, self.sub, self.time, self.member_stream, self.member_number)
        return (
            self.rows.nbytes
            + sum(one.nbytes for one in arrays)
            + int(self.texts.nbytes)
            + 12 * len(self.texts)
        )

    def of_values(self, values: Longs) -> BindingRows:
        low = np.searchsorted(self.rows.value, values, "left").astype(np.int64)
        high = np.searchsorted(self.rows.value, values, "right").astype(np.int64)
        return self.rows.take(ranges(low, high))

    def kept(self, is_kept: NDArray[np.bool_]) -> Segment:
        """Only these documents."""
        numbers = self.number[is_kept]
        in_texts = np.isin(self.text_number, numbers)
        in_members = np.isin(self.member_number, numbers)
        return Segment(
            self.first,
            self.last,
            self.rows.take(np.isin(self.rows.document, numbers)),
            numbers,
            self.seq[is_kept],
            self.sub[is_kept],
            self.time[is_kept],
            self.derived.only(numbers) if len(self.derived) else self.derived,
            self.member_stream[in_members],
            self.member_number[in_members],
            self.text_number[in_texts],
            self.text_node[in_texts],
            self.texts.filter(pa.array(in_texts)),
        )


def stem_of(segment: Segment) -> str:
    """Names the content: a rewritten segment has other documents, and so another name."""
    if segment.stem:
        return segment.stem
    sizes = (len(segment.number), len(segment.rows), len(segment.member_number))
    ends = (int(segment.number[0]), int(segment.number[-1]), *sizes)
    content = (
        int(np.bitwise_xor.reduce(segment.rows.variable * 31 ^ segment.rows.value))
        if len(segment.rows)
        else 0
    )
    return "-".join(str(one) for one in (segment.first, segment.last, *ends, f"{content & (1 << 64) - 1:x}"))


def version_of(state: LevelState) -> tuple[object, ...]:
    """What tells apart the histories of a level, in memory or in files."""
    return state.next_number, state.last_batch, state.clock, *map(stem_of, state.segments)


_MERGE = 4
"""As many segments of about one size become one: rows are rewritten a few times each, and few segments remain."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What a level asks of documents, by stable numbers: their streams, their variables, and the texts of some."""

    streams: frozenset[int] = frozenset()
    variables: frozenset[int] = frozenset()
    texts: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class LevelState:
    """The history of one level after some batch: a value, never changed."""

    segments: tuple[Segment, ...] = ()
    next_number: int = 0
    clock: int = LONG_AGO
    """At the last document."""
    last_batch: int = -1
    asked: Asked = Asked()
    """For every document of these streams that it holds, it has these variables."""
    latest: int = LONG_AGO
    """The latest time of any document so far."""

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
        """The sequence numbers of documents; fast when most of them repeat."""
        low = int(numbers.min(initial=self.next_number))
        is_there = np.zeros(self.next_number - low, np.bool_)
        is_there[numbers - low] = True
        distinct = np.flatnonzero(is_there)
        place = np.empty(len(is_there), np.int32)
        place[distinct] = np.arange(len(distinct), dtype=np.int32)
        return self.sequence(distinct + low)[0][place[numbers - low]]

    def times(self, numbers: Longs) -> Longs:
        """The times of documents by number; `LONG_AGO` for those that are not held."""
        found = np.full(len(numbers), LONG_AGO, np.int64)
        for segment in self.segments:
            if len(segment.number):
                at = np.minimum(np.searchsorted(segment.number, numbers), len(segment.number) - 1)
                here = segment.number[at] == numbers
                found[here] = segment.time[at[here]]
        return found

    @property
    def has_derived(self) -> bool:
        """Whether any document is more than the item of its number."""
        return any(len(segment.derived) for segment in self.segments)

    def items_of(self, numbers: Longs) -> Ragged:
        """The items of documents: each itself, or those that it was made of."""
        parts = []
        sizes = np.ones(len(numbers), np.int64)
        for derived in (segment.derived for segment in self.segments if len(segment.derived)):
            at = np.minimum(np.searchsorted(derived.number, numbers), len(derived) - 1)
            here = np.flatnonzero(derived.number[at] == numbers)
            own = derived.items.take(at[here])
            sizes[here] = np.diff(own.ptr)
            parts.append((here, own))
        ptr = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        # What is made of one item has that one's number written over by the parts below.
        data = np.repeat(self.sequence(numbers)[0], sizes)
        for here, own in parts:
            data[ranges(ptr[here], ptr[here + 1])] = own.data
        return Ragged(ptr, data)

    def texts(self, numbers: Longs, nodes: Ints) -> NDArray[np.object_]:
        """The string values of nodes that constructions need, by documents' numbers."""
        found = np.full(len(numbers), "", object)
        for segment in self.segments:
            low, high = (np.searchsorted(segment.text_number, numbers, side) for side in ("left", "right"))
            places = ranges(low.astype(np.int64), high.astype(np.int64))
            asked = np.repeat(np.arange(len(numbers)), high - low)
            is_it = segment.text_node[places] == nodes[asked]
            if is_it.any():
                taken = segment.texts.take(pa.array(places[is_it]))
                found[asked[is_it]] = taken.to_numpy(zero_copy_only=False)
        return found

    def stream_documents(self, stream: int) -> Longs:
        """The numbers of a stream's documents, in order."""
        parts = [one.member_number[one.member_stream == stream] for one in self.segments]
        return np.sort(np.concatenate(parts)) if parts else np.empty(0, np.int64)


@dataclass(frozen=True, slots=True)
class Reach:
    """What windows in use can still reach: from a time on (in microseconds), or by stream from a number on."""

    time: int
    number: int
    """Nothing before this number, whatever the windows."""
    streams: Mapping[int, int]


def with_segment(state: LevelState, segment: Segment, clock: int, asked: Asked) -> LevelState:
    """The state with the segment of one more batch, in which `asked` was taken in."""
    count = len(segment.number)
    segments = (*state.segments, segment) if count else state.segments
    latest = max(state.latest, int(segment.time.max(initial=LONG_AGO)))
    return LevelState(segments, state.next_number + count, clock, segment.last, asked, latest)


def compacted(state: LevelState, reach: Reach) -> LevelState:
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
        reduce(Compositions.joined, (part.derived for part in parts)),
        column("member_stream"),
        column("member_number"),
        column("text_number"),
        np.concatenate([part.text_node for part in parts]),
        pa.concat_arrays([part.texts for part in parts]),
    )


def states_named(states: Iterable[LevelState]) -> dict[str, LevelState]:
    """Levels under the names they are stored by."""
    return {f"level{number}": state for number, state in enumerate(states)}
