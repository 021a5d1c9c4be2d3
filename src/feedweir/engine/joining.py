"""The join step of a batch: elements of join-free streams in, elements of feeds with joins out, with their partners.

What an element depends on came at or before it in the stream, so a batch's elements follow from the batch and from
what was published before it, however the stream is cut.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence

import numpy as np

from feedweir.engine.annotating import AnnotationStages, Late
from feedweir.engine.bindings import bindings
from feedweir.engine.constructed import Construction, constructed
from feedweir.engine.documents import BatchDocuments, JoinInput
from feedweir.engine.elements import NOTHING, Elements, merged
from feedweir.engine.join_plans import JoinSet, Stream
from feedweir.engine.joined import (
    Joined,
    JoinState,
    annotation_table,
    element_table,
    in_order,
    late_rows,
    made_table,
)
from feedweir.engine.notices import setback_notices, told_of_feeds
from feedweir.engine.pairs import pair_documents, pair_elements, pairs_of_feeds
from feedweir.engine.patterns import PatternRounds, PatternState, document_batch, id_of
from feedweir.errors import WorkError
from feedweir.join.history import JoinState as LevelState
from feedweir.join.results import Match
from feedweir.match.meaning import Reading, holds
from feedweir.plan.construct import holes_of
from feedweir.plan.nodes import Block, Filter, Union
from feedweir.plan.predicates import Predicate

_log = logging.getLogger(__name__)


def join_batch(
    joins: JoinSet, rounds: PatternRounds, stages: AnnotationStages, batch: JoinInput, state: JoinState
) -> Joined:
    """What a batch adds to feeds with joins, and what joins remember after it."""
    stages.stand_on(state.windows, batch.older_columns)
    step = _Step(joins, rounds, stages, batch, state)
    for round in range(joins.rounds + 1):
        if round:
            step.make_patterns(round)
        for depth in stages.depths(round):
            step.annotate(round, depth)
            for stream in joins.others(round, depth):
                step.make(stream)
    return step.joined()


class _Step:
    """One batch while it is being joined."""

    def __init__(
        self,
        joins: JoinSet,
        rounds: PatternRounds,
        stages: AnnotationStages,
        batch: JoinInput,
        state: JoinState,
    ) -> None:
        self._joins = joins
        self._rounds = rounds
        self._stages = stages
        self._batch = batch
        self._state = state.patterns
        self._levels: dict[str, LevelState] = {}
        self._parts = dict(state.patterns.parts)
        self._documents = BatchDocuments(batch, stages.features)
        self._failures = stages.failures()
        self._notices: dict[int, str] = {}
        self._late: list[Late] = []
        self._pairs = [np.empty((0, 3), np.int64)]
        self._results: dict[int, Elements] = {
            key: Elements(self._documents.rows(seqs)) for key, seqs in batch.found.items() if len(seqs)
        }

    def make(self, stream: Stream) -> None:
        """Make a stream, or note why it cannot be made: one bad feed is one bad feed."""
        if self._inherits_failure(stream):
            return
        try:
            elements = self._elements_of(stream)
            if len(elements):
                self._results[stream.key] = elements
        except Exception as error:
            _log.exception("a join failed; the others go on")
            self._failures[stream.key] = _told(error)

    def _inherits_failure(self, stream: Stream) -> bool:
        """A stream that reads what could not be made cannot be made."""
        if not self._failures:
            return False
        reason = next((self._failures[key] for key in stream.inputs if key in self._failures), "")
        if reason:
            self._failures.setdefault(stream.key, reason)
        return bool(reason)

    def _elements_of(self, stream: Stream) -> Elements:
        inputs = [self._results.get(key, NOTHING) for key in stream.inputs]
        match stream.node:
            case Filter(_, predicate) | Block(_, predicate, ""):
                readings = self._documents.readings(inputs[0].rows.tolist())
                held = [self._is_held(stream, predicate, one) for one in readings]
                return inputs[0].only(np.array(held, np.bool_))
            case Union():
                return merged(inputs, self._documents.in_order)
            case Block() as block:
                return self._rows(
                    [one for row in inputs[0].rows.tolist() for one in self._selected(stream, block, row)]
                )
        raise TypeError(f"a {type(stream.node).__name__} gives no elements of its own")

    def _rows(self, made: Sequence[Construction]) -> Elements:
        rows = np.array([self._documents.put(one) for one in made], np.int64)
        return Elements(self._documents.in_order(rows))

    def _is_held(self, stream: Stream, predicate: Predicate, reading: Reading) -> bool:
        """Whether an item satisfies a predicate; where that would take too much work it does not, which is noted."""
        try:
            return holds(predicate, reading.rested())
        except WorkError as error:
            self._notices[stream.key] = f"item {reading.item.identity}: {error}"
            return False

    def _selected(self, stream: Stream, block: Block, row: int) -> list[Construction]:
        """The documents that SELECT makes of one document; none where that would take too much work."""
        item = self._documents.item(row)
        try:
            ways = bindings(block.pattern, item, frozenset(holes_of(block.select)))
        except WorkError as error:
            self._notices[stream.key] = f"item {item.identity}: {error}"
            return []
        return [constructed([item], block.select, dict(way)) for way in ways]

    def annotate(self, round: int, depth: int) -> None:
        """Evaluate the annotation joins of a stage together."""
        streams = self._stages.streams(round, depth)
        if not streams:
            return
        try:
            found = self._stages.run(round, depth, self._results, self._documents)
            self._failures.update(found.failures)
            self._results.update({key: one for key, one in found.made.items() if key not in self._failures})
            self._late += [late for late in found.late if late.stream not in self._failures]
        except Exception as error:
            _log.exception("the joins of a stage failed; the other feeds go on")
            self._failures.update({stream.key: _told(error) for stream in streams})
        for stream in streams:
            if self._inherits_failure(stream):
                self._results.pop(stream.key, None)

    def make_patterns(self, round: int) -> None:
        """Evaluate the pattern joins of a round together, and construct what they give."""
        streams = self._joins.patterns(round)
        self._failures.update(self._rounds.failures())
        try:
            found = self._matches(round)
            for stream in streams:
                if found[stream.key]:
                    self._results[stream.key] = self._rows([self._built(one) for one in found[stream.key]])
        except Exception as error:
            _log.exception("the joins of a round failed; the other feeds go on")
            self._levels.update(self._state.of_round(round))
            self._failures.update({stream.key: _told(error) for stream in streams})
        for stream in streams:
            self._inherits_failure(stream)

    def _matches(self, round: int) -> Mapping[int, Sequence[Match]]:
        documents = self._documents
        members = {
            key: [documents.place(row) for row in self._results.get(key, NOTHING).rows.tolist()]
            for key in self._rounds.inputs(round)
        }
        for place in {place for many in members.values() for place in many if place[1]}:
            self._parts[id_of(place)] = documents.construction(documents.at(place))
        given = document_batch(
            members,
            self._batch.times,
            self._batch.witnesses,
            lambda place: documents.item(documents.at(place)),
            self._rounds.trees,
        )
        results = self._rounds.step(round, self._state.levels, given, self._batch.number)
        self._failures.update(results.failures)
        self._notices.update(results.notices)
        self._levels.update(results.states)
        self._pairs.append(results.pairs)
        return results.found

    def _built(self, match: Match) -> Construction:
        if all(seq >= 0 for seq in match.items):
            return Construction(match.items, match.xml, is_selected=bool(match.xml))
        parts = [self._parts[seq] if seq < 0 else seq for seq in match.items]
        made_of = tuple(
            seq for part in parts for seq in (part.made_of if isinstance(part, Construction) else (part,))
        )
        if match.xml:
            return Construction(made_of, match.xml, is_selected=True)
        return Construction(made_of, self._documents.side_by_side(parts))

    def joined(self) -> Joined:
        documents = self._documents
        feeds = {feed: self._results[key] for feed, key in sorted(self._joins.roots) if key in self._results}
        pairs = pairs_of_feeds(np.concatenate(self._pairs), self._joins.roots)
        late = late_rows(self._joins, self._late)
        patterns = self._patterns_after()
        told = self._setback() | self._notices | self._stages.notices(patterns.clock.now) | self._failures
        return Joined(
            elements=in_order(element_table(feeds, documents), pair_elements(pairs)),
            annotations=annotation_table(feeds, late, documents, self._stages.names),
            made=in_order(made_table(feeds, documents), pair_documents(pairs)),
            state=JoinState(patterns, self._stages.after(self._results, documents, patterns.clock.now)),
            failures=tuple(told_of_feeds(self._joins, told)),
        )

    def _setback(self) -> dict[int, str]:
        times, lateness_us = self._batch.times, self._stages.logic.joins.bounds.lateness_us
        return setback_notices(self._joins, self._state.clock, times.peaks, times.clock_us, lateness_us)

    def _patterns_after(self) -> PatternState:
        used = {
            id_
            for level in self._levels.values()
            for segment in level.segments
            for ids in segment.derived.values()
            for id_ in ids
            if id_ < 0
        }
        parts = {id_: self._parts[id_] for id_ in sorted(used)}
        return PatternState(self._levels, parts, self._batch.times.clock)


def _told(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"
