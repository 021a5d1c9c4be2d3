"""The pattern joins of a batch, all of a round at once, by the templates of the join room.

What item tasks wrote down as witnesses comes in as columns; documents that were constructed on the way are matched
here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from feedweir.engine.constructed import Construction, Place
from feedweir.engine.join_plans import JoinSet, Stream
from feedweir.engine.notices import late_notices
from feedweir.engine.witnessing import WitnessRows, witnesses_of
from feedweir.items.model import Item
from feedweir.join.batch import DocumentBatch
from feedweir.join.clock import LONG_AGO, Clock, clocks_of
from feedweir.join.compiled import compile_joins
from feedweir.join.history import JoinState
from feedweir.join.process import JoinLogic
from feedweir.join.query import JoinQuery, stream_name
from feedweir.join.recall import Recall
from feedweir.join.results import Match
from feedweir.join.values import stable_number
from feedweir.join.windows import JoinBounds
from feedweir.match.trees import TreeSet, compile_trees
from feedweir.plan.nodes import Block, Feed, PatternJoin
from feedweir.plan.predicates import TreePattern

Longs = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class PatternState:
    """What pattern joins remember: a value. `parts` are the constructed documents in it, by the ids they have there."""

    levels: Mapping[str, JoinState] = field(default_factory=dict)
    parts: Mapping[int, Construction] = field(default_factory=dict)
    clock: Clock = field(default_factory=Clock)
    """After all items so far, of whatever stream."""

    def of_round(self, round: int) -> dict[str, JoinState]:
        """The levels of a round, under their names."""
        return {name: one for name, one in self.levels.items() if name.startswith(f"{round}.")}


@dataclass(frozen=True, slots=True)
class Times:
    """The times of all items of a batch, by number, and the clock at each."""

    seq: Longs
    time_us: Longs
    clock_us: Longs
    peaks: Longs
    """Where the clock went back, in the batch or before: rows (item, clock at it)."""
    clock: Clock
    """After the batch."""

    def at(self, seqs: Longs) -> tuple[Longs, Longs]:
        places = np.searchsorted(self.seq, seqs)
        return self.time_us[places], self.clock_us[places]


def times_of(items: pa.Table | pa.RecordBatch, clock: Clock) -> Times:
    """Of items with `seq`, `published` and `arrived`; the clock was so before them."""
    seq, arrived = items.column("seq").to_numpy(), _microseconds(items.column("arrived"), None)
    time = np.minimum(_microseconds(items.column("published"), arrived), arrived)
    order = np.argsort(seq, kind="stable")
    clocks = clocks_of(clock, seq[order], time[order], arrived[order])
    return Times(seq[order], time[order], clocks.clock_us, clocks.peaks, clocks.after)


def _microseconds(column: Any, missing: Longs | None) -> Longs:
    flat = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    numbers = flat.cast(pa.int64())
    found: Longs = numbers.fill_null(0).to_numpy(zero_copy_only=False)
    if missing is not None and numbers.null_count:
        found = np.where(numbers.is_null().to_numpy(zero_copy_only=False), missing, found)
    return found


@dataclass(frozen=True, slots=True)
class RoundResults:
    """By stream the matches of a round; those that nobody reads on and that construct nothing are rows of `pairs`."""

    found: Mapping[int, Sequence[Match]]
    pairs: Longs
    """(key of the stream, left item, right item)."""
    states: Mapping[str, JoinState]
    failures: Mapping[int, str]
    """By stream why it gives nothing in this batch."""
    notices: Mapping[int, str]
    """By stream what should be known of it."""


class PatternRounds:
    """The pattern joins of a join set, compiled: one set of templates for each round."""

    def __init__(self, joins: JoinSet, bounds: JoinBounds | None = None) -> None:
        self._streams = [joins.patterns(round) for round in range(1, joins.rounds + 1)]
        self._sets = [compile_joins(_queries(streams), bounds=bounds) for streams in self._streams]
        self.patterns: tuple[TreePattern, ...] = tuple(
            dict.fromkeys(pattern for one in self._sets for pattern in one.patterns)
        )
        self._logics = [JoinLogic(one, patterns=self.patterns) for one in self._sets]
        read = {key for stream in joins.made.values() for key in stream.inputs} | joins.kept
        self._bulk = [
            frozenset(place for place, stream in enumerate(streams) if _is_bulk(stream, read))
            for streams in self._streams
        ]
        self._trees: TreeSet | None = None

    @property
    def trees(self) -> TreeSet:
        if self._trees is None:
            self._trees = compile_trees(self.patterns)
        return self._trees

    def saved(self, states: Mapping[str, JoinState], mapped: Mapping[str, JoinState]) -> None:
        """The next batch may begin with the same states, now on disk."""
        for round, logic in enumerate(self._logics, 1):
            logic.saved(_of_round(states, round), _of_round(mapped, round))

    def lacks(self, states: Mapping[str, JoinState]) -> bool:
        """Whether joins ask for more of a stream than their states have taken in."""
        return any(logic.lacking(_of_round(states, round)) for round, logic in enumerate(self._logics, 1))

    def recalled(self, states: Mapping[str, JoinState], recall: Recall) -> dict[str, JoinState]:
        """The states with what joins newly ask of streams that any of the known states remembers."""
        return dict(states) | {
            f"{round}.{name}": one
            for round, logic in enumerate(self._logics, 1)
            for name, one in logic.recalled(_of_round(states, round), recall).items()
        }

    def failures(self) -> dict[int, str]:
        """By key of a stream why it cannot be evaluated."""
        return {
            streams[place].key: str(error)
            for streams, one in zip(self._streams, self._sets, strict=True)
            for place, error in one.failures.items()
        }

    def inputs(self, round: int) -> list[int]:
        """The streams that a round reads."""
        return sorted({key for stream in self._streams[round - 1] for key in stream.inputs})

    def step(
        self, round: int, before: Mapping[str, JoinState], batch: DocumentBatch, number: int
    ) -> RoundResults:
        """What a batch completes, and the states after it."""
        results, after = self._logics[round - 1].step(_of_round(before, round), batch, number)
        streams = self._streams[round - 1]
        bulk = frozenset() if any(level.has_derived for level in results.levels) else self._bulk[round - 1]
        found: dict[int, list[Match]] = {stream.key: [] for stream in streams}
        for match in results.matches(bulk):
            found[streams[match.key].key].append(match)
        rows = [level.pairs(bulk) for level in results.levels] if bulk else []
        pairs = np.concatenate([np.empty((0, 3), np.int64), *rows])
        pairs[:, 0] = np.array([stream.key for stream in streams], np.int64)[pairs[:, 0]]
        states = {f"{round}.{name}": one for name, one in after.items()}
        failures, notices = (
            {streams[place].key: told for place, told in many.items()}
            for many in (results.failures, results.notices)
        )
        return RoundResults(found, pairs, states, failures, self._late(round, batch) | notices)

    def _late(self, round: int, batch: DocumentBatch) -> dict[int, str]:
        lateness_us = self._sets[round - 1].bounds.lateness_us
        is_late = batch.time_us < batch.clocks(LONG_AGO) - lateness_us
        members = {key: batch.members[stream_name(Feed(str(key)))] for key in self.inputs(round)}
        return late_notices(self._streams[round - 1], members, is_late, lateness_us)


def _of_round(states: Mapping[str, JoinState], round: int) -> dict[str, JoinState]:
    prefix = f"{round}."
    return {name.removeprefix(prefix): one for name, one in states.items() if name.startswith(prefix)}


def _is_bulk(stream: Stream, read: set[int]) -> bool:
    """Whether its matches are pairs of items that only readers will see."""
    node = stream.node
    is_pair = isinstance(node, PatternJoin) and isinstance(node.left, Block) and not node.select
    return is_pair and stream.key not in read


def _queries(streams: Sequence[Stream]) -> list[JoinQuery]:
    return [
        JoinQuery(place, stream.node)
        for place, stream in enumerate(streams)
        if isinstance(stream.node, PatternJoin)
    ]


def id_of(place: Place) -> int:
    """What a document is called in the state: an item by its number, a constructed one below zero."""
    return -1 - stable_number(repr(place)) if place[1] else place[0]


def document_batch(
    members: Mapping[int, Sequence[Place]],
    times: Times,
    base: WitnessRows,
    item_of: Callable[[Place], Item],
    trees: TreeSet,
) -> DocumentBatch:
    """The documents of streams in the order of the stream, with their witnesses."""
    places = sorted({place for stream in members.values() for place in stream})
    row_of = {place: row for row, place in enumerate(places)}
    seq = np.array([place[0] for place in places], np.int64)
    time, clock = times.at(seq)
    made = [row for row, place in enumerate(places) if place[1]]
    if made:
        time = time.copy()
        for row in made:
            time[row] = int(item_of(places[row]).time.timestamp() * 1_000_000)
    ranks = [rank for _, group in groupby(places, key=lambda place: place[0]) for rank, _ in enumerate(group)]
    own = WitnessRows.none()
    if made:
        roots = [item_of(places[row]).raw for row in made]
        own = witnesses_of(trees, roots, np.array(made, np.int64))
    plain = np.array([row for row, place in enumerate(places) if not place[1]], np.int64)
    return DocumentBatch(
        seq,
        time,
        {
            stream_name(Feed(str(key))): np.array([row_of[place] for place in stream], np.int32)
            for key, stream in members.items()
        },
        base.of(seq[plain]).renamed(seq[plain], plain).joined(own).tables(),
        sub=np.array(ranks, np.int64),
        ids=np.array([id_of(place) for place in places], np.int64),
        clock_us=clock,
        peaks=times.peaks,
    )
