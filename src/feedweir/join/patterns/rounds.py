"""The pattern joins of a batch, all of a round together.

The witnesses of items come from their tasks, as columns; documents that were constructed in this batch are matched
here. After an edit, so is what windows remember.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from feedweir.items.model import Item
from feedweir.items.schema import ITEM_SCHEMA, items_of
from feedweir.items.string_keys import stable_number
from feedweir.join.clock import LONG_AGO, Clock, Times
from feedweir.join.constructed import is_whole, item_of
from feedweir.join.notices import late_notices
from feedweir.join.patterns.found import LevelResults, Match, PatternResults
from feedweir.join.patterns.level_history import LevelState
from feedweir.join.patterns.level_input import DocumentBatch
from feedweir.join.patterns.pattern_logic import PatternLogic, Sink
from feedweir.join.patterns.pattern_set import PatternSet, compile_patterns
from feedweir.join.patterns.recall import Recall
from feedweir.join.patterns.scope import Scope, ValueSlice
from feedweir.join.patterns.variables import PatternQuery, stream_name
from feedweir.join.result_bounds import ResultCounts
from feedweir.join.streams import JoinSet, Stream
from feedweir.join.task_output import WitnessRows, witnesses_in, witnesses_of
from feedweir.join.window_bounds import JoinBounds
from feedweir.join.windows.features import ReadTable
from feedweir.logs.joined_log import Construction, Place
from feedweir.match.trees import TreeSet, compile_trees
from feedweir.match.trees.witnesses import Witnesses
from feedweir.plan.nodes import Block, Feed, PatternJoin
from feedweir.plan.predicates import TreePattern

Longs = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class PatternState:
    """What pattern joins remember: a value. `parts` are the constructed documents in it, by their ids."""

    levels: Mapping[str, LevelState] = field(default_factory=dict)
    parts: Mapping[int, Construction] = field(default_factory=dict)
    clock: Clock = field(default_factory=Clock)
    """After all items so far, of whatever stream."""
    counts: ResultCounts = field(default_factory=ResultCounts)
    """How many documents its feeds have made in the hours that count."""

    def of_round(self, round: int) -> dict[str, LevelState]:
        """The levels of a round, under their names."""
        return {name: one for name, one in self.levels.items() if name.startswith(f"{round}.")}


@dataclass(frozen=True, slots=True)
class RoundResults:
    """By stream the matches of a round; plain pairs that no other stream reads are rows of `pairs`."""

    found: Mapping[int, Sequence[Match]]
    pairs: Longs
    """(key of the stream, left item, right item)."""
    states: Mapping[str, LevelState]
    failures: Mapping[int, str]
    """Per stream, the reason it gives nothing in this batch."""
    notices: Mapping[int, str]
    """Per stream, a warning."""


class PatternRounds:
    """The pattern joins of a join set, compiled: one set of templates for each round.

    Round 0 has joins that were compiled before, in any number of sets; they read what the matcher found.
    """

    def __init__(
        self,
        joins: JoinSet,
        bounds: JoinBounds | None = None,
        *,
        stored: Sequence[PatternSet] = (),
        patterns: Sequence[TreePattern] | None = None,
    ) -> None:
        """`patterns` are those that witnesses are numbered by, all of them if that is not said."""
        self._streams = [joins.patterns(round) for round in range(1, joins.rounds + 1)]
        self._sets = [compile_patterns(_queries(streams), bounds=bounds) for streams in self._streams]
        own = dict.fromkeys(pattern for one in (*stored, *self._sets) for pattern in one.patterns)
        self.patterns: tuple[TreePattern, ...] = tuple(own if patterns is None else patterns)
        self._logics = [
            PatternLogic(*stored, patterns=self.patterns, is_piecewise=True),
            *(PatternLogic(one, patterns=self.patterns) for one in self._sets),
        ]
        read = {key for stream in joins.computed.values() for key in stream.inputs} | joins.remembered
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

    def saved(self, states: Mapping[str, LevelState], mapped: Mapping[str, LevelState]) -> None:
        """The next batch may begin with the same states as they were read from disk."""
        for round, logic in enumerate(self._logics):
            logic.saved(_of_round(states, round), _of_round(mapped, round))

    def lacks(self, states: Mapping[str, LevelState]) -> bool:
        """Whether joins ask more of a stream than their states have taken in."""
        return any(logic.lacking(_of_round(states, round)) for round, logic in enumerate(self._logics))

    def recalled(self, states: Mapping[str, LevelState], recall: Recall) -> dict[str, LevelState]:
        """The states with what joins newly ask of streams that any of the known states remembers."""
        return dict(states) | {
            f"{round}.{name}": one
            for round, logic in enumerate(self._logics)
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

    def step_stored(
        self, before: Mapping[str, LevelState], batch: DocumentBatch, number: int, sink: Sink, scope: Scope
    ) -> tuple[PatternResults, dict[str, LevelState]]:
        """Evaluate the joins that were compiled before, whose matches go into the sink; the states after the batch."""
        results, after = self._logics[0].step(_of_round(before, 0), batch, number, sink, scope)
        return results, {f"0.{name}": one for name, one in after.items()}

    def divided(
        self, before: Mapping[str, LevelState], batch: DocumentBatch, number: int, part: ValueSlice
    ) -> Iterator[LevelResults]:
        """One slice's matches of those joins among them that are divided by value."""
        return self._logics[0].divided(_of_round(before, 0), batch, number, part)

    def step(
        self,
        round: int,
        before: Mapping[str, LevelState],
        batch: DocumentBatch,
        number: int,
        firsts: Longs,
    ) -> RoundResults:
        """The matches of a batch, and the states after it; `firsts` are the items of new sources."""
        results, after = self._logics[round].step(_of_round(before, round), batch, number)
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
            {streams[place].key: message for place, message in many.items()}
            for many in (results.failures, results.notices)
        )
        return RoundResults(found, pairs, states, failures, self._late(round, batch, firsts) | notices)

    def _late(self, round: int, batch: DocumentBatch, firsts: Longs) -> dict[int, str]:
        lateness_us = self._sets[round - 1].bounds.lateness_us
        is_late = (batch.time_us < batch.clocks(LONG_AGO) - lateness_us) & ~np.isin(batch.seq, firsts)
        members = {key: batch.members[stream_name(Feed(str(key)))] for key in self.inputs(round)}
        return late_notices(self._streams[round - 1], members, is_late, lateness_us)


def _of_round(states: Mapping[str, LevelState], round: int) -> dict[str, LevelState]:
    prefix = f"{round}."
    return {name.removeprefix(prefix): one for name, one in states.items() if name.startswith(prefix)}


def _is_bulk(stream: Stream, read: set[int]) -> bool:
    """Whether its matches are pairs of items that no other stream reads."""
    node = stream.node
    is_pair = isinstance(node, PatternJoin) and isinstance(node.left, Block) and not node.select
    return is_pair and stream.key not in read


def _queries(streams: Sequence[Stream]) -> list[PatternQuery]:
    return [
        PatternQuery(place, stream.node)
        for place, stream in enumerate(streams)
        if isinstance(stream.node, PatternJoin)
    ]


def id_of(place: Place) -> int:
    """The id of a document in the state: the number of an item, a negative number for a constructed document."""
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


_AT_ONCE = 5_000
"""How many documents are read from the log at once: there may be as many as windows hold."""


def with_recalled(
    rounds: PatternRounds,
    state: PatternState,
    others: Callable[[], Sequence[PatternState]],
    read: ReadTable,
    after: int,
) -> PatternState:
    """The state after a batch with all that the joins of now ask of the streams that it, or another shard's, remembers.

    An edit may ask for other paths, or move a feed to another shard. All of it comes from what was published before, so
    a repeated batch finds the same.
    """
    if not rounds.lacks(state.levels):
        return state
    known = [state, *others()]
    parts = {id_: one for other in reversed(known) for id_, one in other.parts.items()}
    # All shards read one stream: the one that has read the furthest knows best.
    clock = max((one.clock for one in known), key=lambda one: one.passed)
    recall = Recall(
        [level for one in known for _, level in sorted(one.levels.items())],
        clock.now,
        lambda ids: _witnesses(rounds.trees, ids, parts, read),
        after,
    )
    return replace(state, levels=rounds.recalled(state.levels, recall), parts=parts, clock=clock)


def _witnesses(trees: TreeSet, ids: Longs, parts: Mapping[int, Construction], read: ReadTable) -> Witnesses:
    """The witnesses of documents, given their ids in the state."""
    found = WitnessRows.none()
    for first in range(0, len(ids), _AT_ONCE):
        places = np.arange(first, min(first + _AT_ONCE, len(ids)))
        is_made = ids[places] < 0
        found = found.joined(_of_items(trees, ids, places[~is_made], read))
        found = found.joined(_of_constructions(trees, ids, places[is_made], parts, read))
    return found.tables()


def _of_items(trees: TreeSet, ids: Longs, places: Longs, read: ReadTable) -> WitnessRows:
    if not len(places):
        return WitnessRows.none()
    seqs = ids[places]
    return witnesses_in(trees, read(seqs.tolist(), ITEM_SCHEMA.names), seqs).renamed(seqs, places)


def _of_constructions(
    trees: TreeSet, ids: Longs, places: Longs, parts: Mapping[int, Construction], read: ReadTable
) -> WitnessRows:
    made = {place: parts[id_] for place, id_ in zip(places.tolist(), ids[places].tolist(), strict=True)}
    if not made:
        return WitnessRows.none()
    seqs = sorted({seq for one in made.values() for seq in one.made_of})
    items = {item.seq: item for item in items_of(read(seqs, ITEM_SCHEMA.names))}
    # An item in a damaged file cannot be matched again; the rest can.
    documents = {place: item_of(one, items).raw for place, one in made.items() if is_whole(one, items)}
    return witnesses_of(trees, list(documents.values()), np.array(list(documents), np.int64))
