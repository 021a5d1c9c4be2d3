"""The join step of a batch: from the streams that the matcher filled to the elements of feeds with joins.

An element depends only on what came at or before it in the stream. So the elements of a batch follow from the batch and
from what was published before it, however the stream is cut into batches.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from feedweir.errors import WorkError
from feedweir.join.batch_documents import NOTHING, BatchDocuments, Elements, JoinInput, merged
from feedweir.join.clock import LONG_AGO
from feedweir.join.constructed import constructed
from feedweir.join.notices import messages_by_feed, setback_message, setback_notices
from feedweir.join.patterns.bindings import bindings
from feedweir.join.patterns.found import LevelResults, Match
from feedweir.join.patterns.level_history import LevelState
from feedweir.join.patterns.level_input import DocumentBatch
from feedweir.join.patterns.rounds import PatternRounds, PatternState, document_batch, id_of
from feedweir.join.patterns.scope import EVERYTHING, UNDIVIDED, ValueSlice
from feedweir.join.result_bounds import MOST_PER_HOUR, FeedBounds, Limits, limits_of
from feedweir.join.result_tables import (
    Joined,
    JoinObservation,
    JoinState,
    annotation_table,
    element_table,
    in_order,
    late_rows,
    made_table,
    pair_documents,
    pair_elements,
    pairs_of_feeds,
)
from feedweir.join.stored.compiled_joins import CompiledPart, named_stream
from feedweir.join.stored_results import StoredRuns, StoredSet
from feedweir.join.streams import JoinSet, Stream
from feedweir.join.windows.annotation_stages import AnnotationStages, LatePartner
from feedweir.logs.joined_log import Construction, Place
from feedweir.match.meaning.item_meaning import Reading, holds
from feedweir.plan.construction import holes_of
from feedweir.plan.nodes import Block, Filter, Union
from feedweir.plan.predicates import Predicate, TreePattern

_log = logging.getLogger(__name__)

Longs = NDArray[np.int64]


class CompiledJoins:
    """The joins of a set, compiled: pattern joins by rounds, annotation joins by stages."""

    def __init__(
        self,
        joins: JoinSet,
        parts: Sequence[CompiledPart] = (),
        roots: tuple[Longs, Longs] | None = None,
        patterns: Sequence[TreePattern] | None = None,
        limits: Limits | None = None,
        most_per_hour: int = MOST_PER_HOUR,
    ) -> None:
        """`parts` were compiled before, and are shown by feeds as `roots` (feeds, keys) says; `patterns` are those that
        witnesses are numbered by; `limits` are those of feeds that do not make do with `most_per_hour`."""
        self.joins = joins
        self.limits = limits or limits_of(joins.feeds)
        self.most_per_hour = most_per_hour
        none = np.empty(0, np.int64)
        self.stored = StoredSet(parts, *(roots or (none, none)))
        self.patterns = PatternRounds(joins, stored=[part.patterns for part in parts], patterns=patterns)
        self.windows = AnnotationStages(joins)

    @cached_property
    def matched(self) -> frozenset[int]:
        """The streams that they read and that the matcher fills."""
        return self.stored.inputs | self.joins.matched.keys()

    @property
    def witness_streams(self) -> frozenset[int]:
        """Those whose documents pattern joins read."""
        return self.stored.inputs | self.joins.witness_streams()


def join_batch(compiled: CompiledJoins, batch: JoinInput, state: JoinState) -> Joined:
    """What a batch adds to feeds with joins, and what joins remember after it."""
    compiled.windows.resume(state.windows, batch.older_columns)
    step = _Step(compiled, batch, state)
    step.join_stored()
    for round in range(compiled.joins.rounds + 1):
        if round:
            step.join_patterns(round)
        for depth in compiled.windows.depths(round):
            step.annotate(round, depth)
            for stream in compiled.joins.others(round, depth):
                step.compute(stream)
    return step.joined()


def divided_matches(
    compiled: CompiledJoins, batch: JoinInput, state: JoinState, part: ValueSlice
) -> list[Longs] | None:
    """One slice's part of the joins that are divided by value, for `JoinInput.divided`; None when bounds may be struck,
    which only the whole can decide."""
    bounds = compiled.stored.parts[0].patterns.bounds
    found: list[Longs] = []
    for one in _Step(compiled, batch, state).divided(part):
        rows = compiled.stored.coded(one)
        later = np.maximum(rows[1], rows[2])
        of_one = np.bincount(later - later.min(initial=one.state.next_number)).max(initial=0)
        if one.dropped or one.steps > bounds.max_steps // part.of or of_one > bounds.max_found // part.of:
            return None
        found.append(rows)
    return found


class _Step:
    """One batch while it is being joined."""

    def __init__(self, compiled: CompiledJoins, batch: JoinInput, state: JoinState) -> None:
        self._joins = compiled.joins
        self._stored = compiled.stored
        self._bounds = FeedBounds(state.patterns.counts, compiled.limits, compiled.most_per_hour)
        self._runs = StoredRuns(compiled.stored, batch.times, self._bounds, batch.emit)
        self._messages: dict[int, str] = {}
        self._rounds = compiled.patterns
        self._stages = compiled.windows
        self._batch = batch
        self._state = state.patterns
        self._levels: dict[str, LevelState] = {}
        self._parts = dict(state.patterns.parts)
        self._documents = BatchDocuments(batch, compiled.windows.features)
        self._failures = compiled.windows.failures()
        self._notices: dict[int, str] = {}
        self._late: list[LatePartner] = []
        self._pairs = [np.empty((0, 3), np.int64)]
        self._results: dict[int, Elements] = {
            key: Elements(self._documents.rows(seqs)) for key, seqs in batch.found.items() if len(seqs)
        }

    def compute(self, stream: Stream) -> None:
        """Compute the elements of a stream, or note why that fails: the others go on."""
        if self._inherits_failure(stream):
            return
        try:
            elements = self._elements_of(stream)
            if len(elements):
                self._results[stream.key] = elements
        except Exception as error:
            _log.exception("a join failed; the others go on")
            self._failures[stream.key] = _message(error)

    def _inherits_failure(self, stream: Stream) -> bool:
        """A stream that reads one that failed fails for the same reason."""
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
        """Whether an item satisfies a predicate. Too much work counts as no, with a warning."""
        try:
            return holds(predicate, reading.for_next_query())
        except WorkError as error:
            self._notices[stream.key] = f"item {reading.item.identity}: {error}"
            return False

    def _selected(self, stream: Stream, block: Block, row: int) -> list[Construction]:
        """The documents that SELECT constructs from one document; none where that would take too much work."""
        item = self._documents.item(row)
        try:
            found = bindings(block.pattern, item, frozenset(holes_of(block.select)))
        except WorkError as error:
            self._notices[stream.key] = f"item {item.identity}: {error}"
            return []
        return [constructed([item], block.select, dict(embedding)) for embedding in found]

    def annotate(self, round: int, depth: int) -> None:
        """Evaluate the annotation joins of a stage together."""
        streams = self._stages.streams(round, depth)
        if not streams:
            return
        try:
            found = self._stages.run(round, depth, self._results, self._documents)
            self._failures.update(found.failures)
            self._results.update(
                {key: one for key, one in found.elements.items() if key not in self._failures}
            )
            self._late += [late for late in found.late if late.stream not in self._failures]
        except Exception as error:
            _log.exception("the joins of a stage failed; the other feeds go on")
            self._failures.update({stream.key: _message(error) for stream in streams})
        for stream in streams:
            if self._inherits_failure(stream):
                self._results.pop(stream.key, None)

    def join_stored(self) -> None:
        """Evaluate the joins that were compiled before, all of them together."""
        if not self._stored.parts:
            return
        self._messages |= self._stored.failures()
        try:
            members, given = self._stored_input()
            divided = self._batch.divided
            scope = EVERYTHING if divided is None else UNDIVIDED
            results, states = self._rounds.step_stored(
                self._state.levels, given, self._batch.number, self._runs.take, scope
            )
            self._levels.update(states)
            if divided:
                self._runs.take_divided(divided, states["0.level0"])
            self._messages |= {**self._late_stored(given, members), **results.notices, **results.failures}
        except Exception as error:
            _log.exception("the joins of a shard failed; the other feeds go on")
            self._levels.update(self._state.of_round(0))
            self._messages |= dict.fromkeys(self._stored.keys.tolist(), _message(error))

    def divided(self, part: ValueSlice) -> Iterator[LevelResults]:
        """The matches of joins that are divided by value, as far as they are one slice's."""
        _, given = self._stored_input()
        return self._rounds.divided(self._state.levels, given, self._batch.number, part)

    def _stored_input(self) -> tuple[dict[int, list[Place]], DocumentBatch]:
        members = self._members(self._stored.inputs & self._batch.found.keys())
        return members, self._given(members)

    def _late_stored(self, given: DocumentBatch, members: Mapping[int, Sequence[Place]]) -> dict[int, str]:
        lateness_us = self._stored.parts[0].patterns.bounds.lateness_us
        is_late = (given.time_us < given.clocks(LONG_AGO) - lateness_us) & ~np.isin(
            given.seq, self._batch.firsts
        )
        if not is_late.any():
            return {}
        rows = {key: given.members[named_stream(key)] for key in members}
        late = {key: given.seq[own[is_late[own]]] for key, own in rows.items()}
        return self._stored.late({key: own for key, own in late.items() if len(own)}, lateness_us)

    def join_patterns(self, round: int) -> None:
        """Evaluate the pattern joins of a round together, and construct their documents."""
        streams = self._joins.patterns(round)
        self._failures.update(self._rounds.failures())
        try:
            found = self._matches(round)
            for stream in streams:
                if found[stream.key]:
                    self._results[stream.key] = self._rows(
                        [self._construction_of(one) for one in found[stream.key]]
                    )
        except Exception as error:
            _log.exception("the joins of a round failed; the other feeds go on")
            self._levels.update(self._state.of_round(round))
            self._failures.update({stream.key: _message(error) for stream in streams})
        for stream in streams:
            self._inherits_failure(stream)

    def _matches(self, round: int) -> Mapping[int, Sequence[Match]]:
        given = self._given(self._members(self._rounds.inputs(round)))
        results = self._rounds.step(round, self._state.levels, given, self._batch.number, self._batch.firsts)
        self._failures.update(results.failures)
        self._notices.update(results.notices)
        self._levels.update(results.states)
        self._pairs.append(results.pairs)
        return results.found

    def _members(self, keys: Iterable[int]) -> dict[int, list[Place]]:
        """The places of the documents of these streams."""
        place = self._documents.place
        return {key: [place(row) for row in self._results.get(key, NOTHING).rows.tolist()] for key in keys}

    def _given(self, members: Mapping[int, Sequence[Place]]) -> DocumentBatch:
        documents = self._documents
        for place in {place for many in members.values() for place in many if place[1]}:
            self._parts[id_of(place)] = documents.construction(documents.at(place))
        return document_batch(
            members,
            self._batch.times,
            self._batch.witnesses,
            lambda place: documents.item(documents.at(place)),
            self._rounds.trees,
        )

    def _construction_of(self, match: Match) -> Construction:
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
        stored = self._runs.finish()
        elements, made = self._bounds.applied(
            in_order(element_table(feeds, documents), pair_elements(pairs)),
            in_order(made_table(feeds, documents), pair_documents(pairs)),
            self._batch.times,
        )
        patterns = self._patterns_after()
        messages = (
            self._setback_notices()
            | self._notices
            | self._stages.notices(patterns.clock.now)
            | self._failures
        )
        return Joined(
            elements=in_order(elements, stored[0]),
            annotations=annotation_table(feeds, late, documents, self._stages.names),
            made=in_order(made, stored[1]),
            state=JoinState(patterns, self._stages.after(self._results, documents, patterns.clock.now)),
            failures=(
                *messages_by_feed(self._joins, messages),
                *self._stored_messages(),
                *self._bounds.messages(),
            ),
            observed=tuple(self._observed()),
        )

    def _stored_messages(self) -> list[tuple[int, str]]:
        """(feed, message) about the joins that were compiled before."""
        times, lateness_us = self._batch.times, self._stages.logic.joins.bounds.lateness_us
        setback = setback_message(self._state.clock, times.peaks, times.clock_us, lateness_us)
        messages = dict.fromkeys(self._stored.timed() if setback else (), setback) | self._messages
        return [(feed, messages[key]) for feed, key in self._stored.feeds_of(messages)]

    def _observed(self) -> Iterator[JoinObservation]:
        """How many items each annotation join was given and let through: joins are ordered by it."""
        for key, name in sorted(self._joins.names.items()):
            stream = self._joins.computed[key]
            tried = self._results.get(stream.inputs[0], NOTHING)
            if not len(tried) or key in self._failures:
                continue
            joined = self._results.get(key, NOTHING)
            pairs = self._stages.pairs_of(stream, joined)
            yield JoinObservation(self._joins.owners[key], name, len(tried), len(joined), pairs)

    def _setback_notices(self) -> dict[int, str]:
        times, lateness_us = self._batch.times, self._stages.logic.joins.bounds.lateness_us
        return setback_notices(self._joins, self._state.clock, times.peaks, times.clock_us, lateness_us)

    def _patterns_after(self) -> PatternState:
        used = {
            id_
            for level in self._levels.values()
            for segment in level.segments
            for id_ in segment.derived.items.longs.tolist()
            if id_ < 0
        }
        parts = {id_: self._parts[id_] for id_ in sorted(used)}
        return PatternState(self._levels, parts, self._batch.times.clock, self._bounds.counts)


def _message(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"
