"""After an edit, what joins newly ask of documents that are remembered already.

A level knows for which streams and variables it took in all documents that it holds. When a compiled level asks for
more of a stream, what any level remembers of the stream is taken in again under new numbers: only documents of later
batches join with it, so its place among older documents of other streams does not matter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from feedweir.items.string_keys import stable_number
from feedweir.join.patterns.level_history import Asked, LevelState, Segment
from feedweir.join.patterns.level_input import DocumentBatch
from feedweir.join.patterns.pattern_set import Level
from feedweir.join.patterns.variables import is_inner
from feedweir.join.window_bounds import JoinBounds
from feedweir.match.trees.witnesses import Witnesses

Longs = NDArray[np.int64]
Witness = Callable[[Longs], Witnesses]
"""The witnesses of documents, given their ids in the state; in the tables they are numbered by place."""


@dataclass(frozen=True, slots=True)
class Recall:
    """What can be taken in again after batch `number`: all that is remembered, and the clock at that time."""

    known: Sequence[LevelState]
    clock: int
    witness: Witness
    number: int


@dataclass(frozen=True, slots=True)
class Remembered:
    """Documents in the order of the stream, with the ids that matches report."""

    id: Longs
    seq: Longs
    sub: Longs
    time: Longs

    def take(self, chosen: NDArray[np.bool_] | Longs | slice) -> Remembered:
        return Remembered(self.id[chosen], self.seq[chosen], self.sub[chosen], self.time[chosen])


def asked_by(level: Level) -> Asked:
    return Asked(
        frozenset(stable_number(stream) for stream in level.streams),
        frozenset(variable.number for variable in level.variables),
        frozenset(level.variables[dense].number for dense in level.text_variables),
    )


def lacking(level: Level, asked: Asked, state: LevelState) -> list[str]:
    """The streams, apart from those of inner joins, of which more is asked than the state has taken in."""
    held = state.asked
    if asked == held:
        return []
    missing = (asked.variables - held.variables) | (asked.texts - held.texts)
    newly = {one.stream for one in level.variables if one.number in missing}
    unknown = {stream for stream in level.streams if stable_number(stream) not in held.streams}
    return sorted(stream for stream in newly | unknown if not is_inner(stream))


def remembered(
    level: Level, streams: Iterable[str], states: Sequence[LevelState], clock: int, bounds: JoinBounds
) -> dict[str, Remembered]:
    """By stream that any of the states knows, its documents there, as far back as the level's windows reach."""
    found: dict[str, Remembered] = {}
    for stream in streams:
        number = stable_number(stream)
        parts = [
            _members(segment, number)
            for state in states
            if number in state.asked.streams
            for segment in state.segments
        ]
        if parts:
            found[stream] = _reached(level, stream, _each_once(parts), clock, bounds)
    return found


def _members(segment: Segment, stream: int) -> Remembered:
    at = np.searchsorted(segment.number, segment.member_number[segment.member_stream == stream])
    ids = segment.seq[at].copy()
    if len(segment.derived):
        own = np.minimum(
            np.searchsorted(segment.derived.number, segment.number[at]), len(segment.derived) - 1
        )
        is_made = segment.derived.number[own] == segment.number[at]
        ids[is_made] = segment.derived.items.longs[segment.derived.items.ptr[own[is_made]]]
    return Remembered(ids, segment.seq[at], segment.sub[at], segment.time[at])


def _each_once(parts: Sequence[Remembered]) -> Remembered:
    together = Remembered(
        *(np.concatenate([getattr(one, name) for one in parts]) for name in ("id", "seq", "sub", "time"))
    )
    distinct = together.take(np.unique(together.id, return_index=True)[1])
    return distinct.take(np.lexsort((distinct.id, distinct.sub, distinct.seq)))


def _reached(level: Level, stream: str, documents: Remembered, clock: int, bounds: JoinBounds) -> Remembered:
    count = len(documents.id)
    back = count - np.arange(count)
    is_timed = level.horizon_us >= 0
    kept = (documents.time >= clock - level.horizon_us - bounds.lateness_us) & is_timed
    kept |= back <= level.horizon_documents.get(stream, 0)
    return documents.take(np.asarray(kept & (back <= bounds.max_documents)))


def recalled_batch(found: Mapping[str, Remembered], witness: Witness) -> DocumentBatch:
    """Remembered documents as a batch."""
    documents = _each_once(list(found.values()))
    row_of = {id_: row for row, id_ in enumerate(documents.id.tolist())}
    members = {
        stream: np.array([row_of[id_] for id_ in own.id.tolist()], np.int32) for stream, own in found.items()
    }
    return DocumentBatch(
        documents.seq, documents.time, members, witness(documents.id), documents.sub, documents.id
    )


def forgetting(state: LevelState, level: Level, streams: Iterable[str]) -> LevelState:
    """The state without these streams and the level's variables of them; everything else stays."""
    chosen = set(streams)
    numbers = np.array(sorted(stable_number(stream) for stream in chosen), np.int64)
    variables = np.array([one.number for one in level.variables if one.stream in chosen], np.int64)
    segments = (_without(segment, numbers, variables) for segment in state.segments)
    return replace(state, segments=tuple(segment for segment in segments if len(segment.number)))


def _without(segment: Segment, streams: Longs, variables: Longs) -> Segment:
    is_gone = np.isin(segment.member_stream, streams)
    if not is_gone.any():
        return segment
    rows = segment.rows
    documents = segment.member_number[is_gone]
    left = replace(
        segment,
        rows=rows.take(~(np.isin(rows.document, documents) & np.isin(rows.variable, variables))),
        member_stream=segment.member_stream[~is_gone],
        member_number=segment.member_number[~is_gone],
        stem="",
    )
    is_used = np.isin(left.number, left.rows.document) | np.isin(left.number, left.member_number)
    return left.kept(is_used)
