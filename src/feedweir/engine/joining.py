"""The join step of a batch: elements of join-free streams in, elements of feeds with joins out, with their partners.

What an element depends on came at or before it in the stream, so a batch's elements follow from the batch and from
what was published before it, however the stream is cut.
"""

from __future__ import annotations

import logging
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from feedweir.engine.bindings import bindings
from feedweir.engine.constructed import Construction, constructed, item_of, under_a_root
from feedweir.engine.join_plans import JoinSet, Stream
from feedweir.engine.pairs import pair_documents, pair_elements, pairs_of_feeds
from feedweir.engine.patterns import PatternRounds, PatternState, Times, document_batch, id_of
from feedweir.engine.relating import relates
from feedweir.engine.store import ANNOTATION_SCHEMA, ELEMENT_SCHEMA, MADE_SCHEMA
from feedweir.engine.window_index import WindowIndex
from feedweir.engine.windows import EARLIEST, History, Members, Place, before
from feedweir.engine.witnessing import WitnessRows
from feedweir.items.model import Item
from feedweir.join.process import Match
from feedweir.match.meaning import Reading, holds
from feedweir.plan.construct import holes_of
from feedweir.plan.nodes import (
    AnnotationJoin,
    Block,
    Distinct,
    Filter,
    LastItems,
    Node,
    PatternJoin,
    Union,
    WindowSpec,
)

_log = logging.getLogger(__name__)

Annotation: TypeAlias = dict[str, frozenset[int]]
"""By join identifier the numbers of the partners."""
Elements: TypeAlias = dict[Place, Annotation]
"""The elements of a batch by place, in the order of the stream."""


@dataclass(frozen=True, slots=True)
class Joined:
    """What the join step adds to a batch."""

    elements: pa.Table
    annotations: pa.Table
    made: pa.Table
    members: Members
    """The batch's elements of all streams that later batches read."""
    state: PatternState
    failures: tuple[tuple[int, str], ...] = ()
    """(feed, reason) of those that could not be joined; for this batch they are empty, and the others go on."""


@dataclass(frozen=True, slots=True)
class JoinInput:
    """A batch as the join step is given it."""

    number: int
    """The batch's name."""
    found: Mapping[int, Sequence[int]]
    """By stream the numbers that the matcher found, ascending."""
    times: Times
    witnesses: WitnessRows
    items: Callable[[Sequence[int]], Mapping[int, Item]]
    """Reads items of the batch by their numbers."""


def join_batch(
    joins: JoinSet, rounds: PatternRounds, batch: JoinInput, history: History, state: PatternState
) -> Joined:
    """What a batch adds to feeds with joins, and what pattern joins remember after it."""
    step = _Step(joins, rounds, batch, history, state)
    for round in range(joins.rounds + 1):
        if round:
            step.make_patterns(round)
        for stream in joins.made.values():
            if stream.round == round and not isinstance(stream.node, PatternJoin):
                step.make(stream)
    return step.joined()


class _Step:
    """One batch while it is being joined."""

    def __init__(
        self,
        joins: JoinSet,
        rounds: PatternRounds,
        batch: JoinInput,
        history: History,
        state: PatternState,
    ) -> None:
        self._joins = joins
        self._rounds = rounds
        self._batch = batch
        self._history = history
        self._state = state
        self._levels = dict(state.levels)
        self._parts = dict(state.parts)
        self._readings: dict[Place, Reading] = {}
        self._items: dict[int, Item] = {}
        self._failures: dict[int, str] = {}
        self._made: dict[Place, Construction] = {}
        self._late: list[tuple[int, int, str, int]] = []
        self._pairs = [np.empty((0, 3), np.int64)]
        self.results: dict[int, Elements] = {
            key: {(seq, (), ""): {} for seq in batch.found.get(key, ())} for key in joins.found
        }

    def make(self, stream: Stream) -> None:
        """Make a stream, or note why it cannot be made: one bad feed is one bad feed."""
        reason = next((self._failures[key] for key in stream.inputs if key in self._failures), "")
        self.results[stream.key] = {}
        try:
            if not reason:
                self.results[stream.key] = self.elements_of(stream)
        except Exception as error:
            _log.exception("a join failed; the others go on")
            reason = f"{type(error).__name__}: {error}"
        if reason:
            self._failures[stream.key] = reason

    def elements_of(self, stream: Stream) -> Elements:
        inputs = [self.results.get(key, {}) for key in stream.inputs]
        match stream.node:
            case Filter(_, predicate) | Block(_, predicate, ""):
                return {at: kept for at, kept in inputs[0].items() if holds(predicate, self._reading(at))}
            case Union():
                return merged(inputs)
            case AnnotationJoin() as join:
                return self._annotated(join, inputs[0], stream.inputs[1])
            case Distinct() as distinct:
                return self._first_of_stories(distinct, stream.key, inputs[0])
            case Block() as block:
                return merged(self._selected(block, self._reading(at)) for at in inputs[0])
        raise TypeError(f"a {type(stream.node).__name__} gives no elements of its own")

    def members(self, key: int) -> list[Reading]:
        """The batch's elements of a stream."""
        return [self._reading(place) for place in self.results[key]]

    def make_patterns(self, round: int) -> None:
        """Evaluate the pattern joins of a round together, and construct what they give."""
        streams = self._joins.patterns(round)
        self._failures.update(self._rounds.failures())
        self.results.update({stream.key: {} for stream in streams})
        try:
            found = self._matches(round)
            for stream in streams:
                self.results[stream.key] = merged(self._put(self._built(one)) for one in found[stream.key])
        except Exception as error:
            _log.exception("the joins of a round failed; the other feeds go on")
            reason = f"{type(error).__name__}: {error}"
            self._failures.update({stream.key: reason for stream in streams})
        for stream in streams:
            for key in stream.inputs:
                if key in self._failures:
                    self._failures.setdefault(stream.key, self._failures[key])

    def _matches(self, round: int) -> Mapping[int, Sequence[Match]]:
        members = {key: list(self.results[key]) for key in self._rounds.inputs(round)}
        for place in {place for many in members.values() for place in many if place[1]}:
            self._parts[id_of(place)] = self._made[place]
        documents = document_batch(
            members,
            self._batch.times,
            self._batch.witnesses,
            lambda place: self._reading(place).item,
            self._rounds.trees,
        )
        results = self._rounds.step(round, self._levels, documents, self._batch.number)
        for notice in results.notices:
            _log.warning("%s", notice)
        self._levels.update(results.states)
        self._pairs.append(results.pairs)
        return results.found

    def _built(self, match: Match) -> Construction:
        if all(seq >= 0 for seq in match.items):
            return Construction(match.items, match.xml, is_selected=bool(match.xml))
        parts = [self._parts[seq] if seq < 0 else Construction((seq,)) for seq in match.items]
        made_of = tuple(seq for part in parts for seq in part.made_of)
        if match.xml:
            return Construction(made_of, match.xml, is_selected=True)
        self._fetch(made_of)
        documents = [
            item_of(part, self._items) if seq < 0 else self._items[seq]
            for seq, part in zip(match.items, parts, strict=True)
        ]
        return Construction(made_of, under_a_root(documents))

    def _fetch(self, seqs: Iterable[int]) -> None:
        """Have these items at hand."""
        missing = sorted({seq for seq in seqs if seq not in self._items})
        if not missing:
            return
        own = [seq for seq in missing if seq in self._own]
        self._items.update(self._batch.items(own) if own else {})
        older = [seq for seq in missing if seq not in self._items]
        self._items.update(self._history.items(older) if older else {})

    @cached_property
    def _own(self) -> frozenset[int]:
        return frozenset(self._batch.times.seq.tolist())

    def _reading(self, place: Place) -> Reading:
        if place not in self._readings:
            if not place[1] and place[0] not in self._items:
                self._fetch(
                    seq for elements in self.results.values() for seq, parts, _ in elements if not parts
                )
            self._fetch(self._made[place].made_of if place[1] else [place[0]])
            item = item_of(self._made[place], self._items) if place[1] else self._items[place[0]]
            self._readings[place] = Reading(item)
        return self._readings[place]

    def _put(self, construction: Construction) -> Elements:
        self._made[construction.place] = construction
        return {construction.place: {}}

    def _selected(self, block: Block, reading: Reading) -> Elements:
        """The documents that SELECT makes of one document."""
        wanted = frozenset(holes_of(block.select))
        ways = bindings(block.pattern, reading.item, wanted)
        return merged(self._put(constructed([reading.item], block.select, dict(way))) for way in ways)

    def _annotated(self, join: AnnotationJoin, primary: Elements, key: int) -> Elements:
        if not primary:
            return {}
        spec = join.window.spec
        old = self._history.window(key, spec, self._since(primary, spec))
        new = WindowIndex(self.members(key))
        kept: Elements = {}
        for place, annotation in primary.items():
            partners = partners_of(self._reading(place), join, old, new)
            if partners:
                kept[place] = with_partners(annotation, join.identifier, partners)
        return kept

    def _first_of_stories(self, distinct: Distinct, key: int, input: Elements) -> Elements:
        """The elements that tell a new story. A later one is noted with the first, in this batch or an earlier one."""
        if not input:
            return {}
        old = self._history.window(key, distinct.spec, self._since(input, distinct.spec))
        new = WindowIndex()
        kept: Elements = {}
        for place, annotation in input.items():
            reading = self._reading(place)
            first = first_of(reading, distinct, old, new)
            if first is None or is_revision(reading, first):
                kept[place] = annotation
                new.extend([reading])
            elif first.item.place in kept:
                told = kept[first.item.place]
                kept[first.item.place] = with_partners(told, distinct.identifier, [place[0]])
            else:
                self._late.append((key, first.item.seq, distinct.identifier, place[0]))
        return kept

    def _late_rows(self) -> Iterator[tuple[int, int, str, int]]:
        """Partners that elements of earlier batches have found only now."""
        for feed, root in self._joins.roots:
            told = set(shown_streams(self._joins, root))
            yield from ((feed, *row) for key, *row in self._late if key in told)  # type: ignore[misc]

    def _since(self, primary: Elements, spec: WindowSpec) -> datetime:
        if isinstance(spec, LastItems):
            return EARLIEST
        return before(min(self._reading(place).item.arrived for place in primary), spec.length)

    def joined(self) -> Joined:
        windows = {key for stream in self._joins.made.values() for key in _windows_of(stream)}
        kept = {key: self.results[key] for key in sorted(windows)}
        feeds = {feed: self.results[key] for feed, key in self._joins.roots}
        made = {**feeds, **{key: self.results[key] for key in self._joins.kept}}
        pairs = pairs_of_feeds(np.concatenate(self._pairs), self._joins.roots)
        return Joined(
            elements=_sorted(_table(_pairs(made), ELEMENT_SCHEMA), pair_elements(pairs)),
            annotations=_table(sorted({*_partner_rows(feeds), *self._late_rows()}), ANNOTATION_SCHEMA),
            made=_sorted(_table(list(self._made_rows(made)), MADE_SCHEMA), pair_documents(pairs)),
            members={key: [self._reading(place) for place in elements] for key, elements in kept.items()},
            failures=tuple(
                (feed, self._failures[key]) for feed, key in self._joins.roots if key in self._failures
            ),
            state=self._after(),
        )

    def _after(self) -> PatternState:
        used = {
            id_
            for level in self._levels.values()
            for segment in level.segments
            for ids in segment.derived.values()
            for id_ in ids
            if id_ < 0
        }
        parts = {id_: self._parts[id_] for id_ in sorted(used)}
        return PatternState(self._levels, parts, max(self._state.clock, self._batch.times.latest))

    def _made_rows(self, streams: Mapping[int, Elements]) -> Iterator[tuple[Any, ...]]:
        for feed in sorted(streams):
            shown = {place[0] for place in streams[feed] if place[1]}
            for place in streams[feed]:
                if place[1]:
                    one = self._made[place]
                    yield feed, place[0], list(one.made_of), one.xml, one.is_selected
                elif place[0] in shown:
                    yield feed, place[0], [], "", False


def _windows_of(stream: Stream) -> tuple[int, ...]:
    """The keys of the streams whose past a stream reads."""
    if isinstance(stream.node, AnnotationJoin):
        return stream.inputs[1:]
    return (stream.key,) if isinstance(stream.node, Distinct) else ()


def shown_streams(joins: JoinSet, root: int) -> Iterator[int]:
    """The made streams whose elements a feed shows with what was joined to them: not those of windows."""
    stream = joins.made.get(root)
    if stream is None or isinstance(stream.node, PatternJoin) or _is_construction(stream.node):
        return
    yield root
    for key in stream.inputs[:1] if isinstance(stream.node, AnnotationJoin) else stream.inputs:
        yield from shown_streams(joins, key)


def _is_construction(node: Node) -> bool:
    return isinstance(node, Block) and bool(node.select)


def _pairs(streams: Mapping[int, Elements]) -> list[tuple[int, int]]:
    return [(feed, seq) for feed in sorted(streams) for seq in dict.fromkeys(at[0] for at in streams[feed])]


def _partner_rows(feeds: Mapping[int, Elements]) -> Iterator[tuple[Any, ...]]:
    for feed in sorted(feeds):
        by_seq: dict[int, Annotation] = {}
        for place, annotation in feeds[feed].items():
            for identifier, partners in annotation.items():
                known = by_seq.get(place[0], {})
                by_seq[place[0]] = with_partners(known, identifier, partners)
        for seq, annotation in by_seq.items():
            for identifier in sorted(annotation):
                yield from ((feed, seq, identifier, partner) for partner in sorted(annotation[identifier]))


def _sorted(*tables: pa.Table) -> pa.Table:
    """All rows, by feed and number."""
    filled = [table for table in tables if table.num_rows] or tables[:1]
    if len(filled) == 1:
        return filled[0]
    return pa.concat_tables(filled).sort_by([("feed", "ascending"), ("seq", "ascending")])


def _table(rows: Sequence[tuple[Any, ...]], schema: pa.Schema) -> pa.Table:
    columns = list(zip(*rows, strict=True)) if rows else [()] * len(schema)
    return pa.Table.from_arrays(
        [pa.array(column, field.type) for column, field in zip(columns, schema, strict=True)], schema=schema
    )


def partners_of(primary: Reading, join: AnnotationJoin, old: WindowIndex, new: WindowIndex) -> list[int]:
    """The numbers of the items that a primary one is joined with: never its own.

    Its window holds what came not later, within the length or number; `old` was there before the batch.
    """
    item, spec = primary.item, join.window.spec
    arrived = bisect_right(new.readings, item.place, key=lambda reading: reading.item.place)
    first_old, first_new, since = 0, 0, EARLIEST
    if isinstance(spec, LastItems):
        first_new = max(arrived - spec.count, 0)
        first_old = max(len(old) - max(spec.count - arrived, 0), 0)
    else:
        since = before(item.arrived, spec.length)
    ranges = ((old, first_old, len(old)), (new, first_new, arrived))
    near = (
        window.readings[place]
        for window, low, high in ranges
        for place in window.places(join.predicate, primary, low, high)
    )
    return [
        other.item.seq
        for other in near
        if other.item.place != item.place
        and (other.item.time > since or isinstance(spec, LastItems))
        and relates(join.predicate, primary, other)
    ]


def first_of(primary: Reading, distinct: Distinct, old: WindowIndex, new: WindowIndex) -> Reading | None:
    """The earliest element of an item's story that is still in the window; its own earlier revision before all."""
    spec, item = distinct.spec, primary.item
    first_old, first_new, since = 0, 0, EARLIEST
    if isinstance(spec, LastItems):
        first_new = max(len(new) - spec.count, 0)
        first_old = max(len(old) - max(spec.count - len(new), 0), 0)
    else:
        since = before(item.arrived, spec.length)
    told = [
        window.readings[place]
        for window, low in ((old, first_old), (new, first_new))
        for place in window.places(distinct.predicate, primary, low, len(window))
    ]
    told = [
        other
        for other in told
        if (other.item.time > since or isinstance(spec, LastItems))
        and relates(distinct.predicate, primary, other)
    ]
    own = (other for other in told if is_revision(primary, other))
    return next(own, None) or min(told, key=lambda other: other.item.place, default=None)


def is_revision(reading: Reading, other: Reading) -> bool:
    """Whether two are wordings of one item."""
    return (reading.item.source, reading.item.identity) == (other.item.source, other.item.identity)


def with_partners(annotation: Annotation, identifier: str, partners: Iterable[int]) -> Annotation:
    """The annotation with more partners under an identifier."""
    return {**annotation, identifier: annotation.get(identifier, frozenset()).union(partners)}


def merged(ways: Iterable[Elements]) -> Elements:
    """Each element once, in the order of the stream, with all partners that any way to it has found."""
    found: Elements = {}
    for elements in ways:
        for place, annotation in elements.items():
            known = found.get(place, {})
            for identifier, partners in annotation.items():
                known = with_partners(known, identifier, partners)
            found[place] = known
    return dict(sorted(found.items()))
