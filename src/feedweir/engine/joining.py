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
from typing import Any, TypeAlias

import pyarrow as pa

from feedweir.engine.bindings import bindings
from feedweir.engine.constructed import Construction, constructed, item_of
from feedweir.engine.join_plans import JoinSet, Stream
from feedweir.engine.pattern_joins import Events, Sides, chain_of, completed, reach, since_of
from feedweir.engine.relating import relates
from feedweir.engine.store import ANNOTATION_SCHEMA, ELEMENT_SCHEMA, MADE_SCHEMA
from feedweir.engine.window_index import WindowIndex
from feedweir.engine.windows import EARLIEST, History, Members, Place, before
from feedweir.match.meaning import Reading, holds
from feedweir.plan.construct import holes_of
from feedweir.plan.nodes import AnnotationJoin, Block, Filter, LastItems, PatternJoin, Union, WindowSpec

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
    failures: tuple[tuple[int, str], ...] = ()
    """(feed, reason) of those that could not be joined; for this batch they are empty, and the others go on."""


def join_batch(
    joins: JoinSet, found: Mapping[int, Sequence[int]], readings: Mapping[int, Reading], history: History
) -> Joined:
    """`found` are the numbers that the matcher found for each stream, ascending; `readings` the batch's items."""
    step = _Step(joins, found, readings, history)
    for key in _wanted(joins):
        step.make(joins.made[key])
    return step.joined()


def _wanted(joins: JoinSet) -> list[int]:
    """The streams to make, each after what it reads: the left side of a pattern join is made within the chain."""
    wanted = {key for _, key in joins.roots} | joins.kept
    for stream in reversed(joins.made.values()):
        if stream.key in wanted:
            is_chain = isinstance(stream.node, PatternJoin) and isinstance(stream.node.left, PatternJoin)
            wanted.update(stream.inputs[1:] if is_chain else stream.inputs)
            if is_chain:
                wanted.update(_blocks_in(joins, stream))
    return [key for key in joins.made if key in wanted]


def _blocks_in(joins: JoinSet, stream: Stream) -> Iterable[int]:
    """The keys of the blocks of a chain."""
    while isinstance(stream.node, PatternJoin):
        left, right = stream.inputs
        yield right
        if left not in joins.made or not isinstance(joins.made[left].node, PatternJoin):
            yield left
            return
        stream = joins.made[left]


class _Step:
    """One batch while it is being joined."""

    def __init__(
        self,
        joins: JoinSet,
        found: Mapping[int, Sequence[int]],
        readings: Mapping[int, Reading],
        history: History,
    ) -> None:
        self._joins = joins
        self._readings: dict[Place, Reading] = {reading.item.place: reading for reading in readings.values()}
        self._items = {seq: reading.item for seq, reading in readings.items()}
        self._history = history
        self._failures: dict[int, str] = {}
        self._made: dict[Place, Construction] = {}
        self.results: dict[int, Elements] = {
            key: {(seq, (), ""): {} for seq in found.get(key, ())} for key in joins.found
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
            case Block() as block:
                return merged(self._selected(block, self._reading(at)) for at in inputs[0])
            case PatternJoin() as join:
                return self._patterns(stream, join)
        raise TypeError(f"a {type(stream.node).__name__} gives no elements of its own")

    def members(self, key: int) -> list[Reading]:
        """The batch's elements of a stream."""
        return [self._reading(place) for place in self.results[key]]

    def _reading(self, place: Place) -> Reading:
        if place not in self._readings:
            construction = self._made[place]
            missing = [seq for seq in construction.made_of if seq not in self._items]
            self._items.update(self._history.items(missing) if missing else {})
            self._readings[place] = Reading(item_of(construction, self._items))
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

    def _since(self, primary: Elements, spec: WindowSpec) -> datetime:
        if isinstance(spec, LastItems):
            return EARLIEST
        return before(min(self._reading(place).item.arrived for place in primary), spec.length)

    def _patterns(self, stream: Stream, join: PatternJoin) -> Elements:
        blocks, joins = chain_of(join)
        keys = list(_blocks_in(self._joins, stream))[::-1]
        new = [self.members(key) for key in keys]
        if not any(new):
            return {}
        far, since = reach(joins), since_of(joins, (reading for some in new for reading in some))
        sides = [
            Sides(self._history.documents(key, far, since), some) for key, some in zip(keys, new, strict=True)
        ]
        return merged(
            self._put(constructed(documents, join.select, way))
            for documents, way in completed(blocks, joins, sides, self._events(stream))
        )

    def _events(self, stream: Stream) -> Callable[[PatternJoin], Events]:
        """Of every join in a chain the places of the events that its window counts."""
        streams: dict[int, Stream] = {}
        at: Stream | None = stream
        while at is not None and isinstance(at.node, PatternJoin):
            streams[id(at.node)] = at
            at = self._joins.made.get(at.inputs[0])

        def events(join: PatternJoin) -> Events:
            left, right = streams[id(join)].inputs
            return Events(self._counted(left), self._counted(right))

        return events

    def _counted(self, key: int) -> list[Place]:
        """What a window counts of a side: the documents that a block reads, or those that completed an inner join."""
        below = self._joins.below.get(key)
        if below is not None:
            return [*self._history.places(below), *self.results[below]]
        seqs = [*(seq for seq, *_ in self._history.places(key)), *(seq for seq, *_ in self.results[key])]
        return [(seq, (), "") for seq in dict.fromkeys(seqs)]

    def joined(self) -> Joined:
        kept = {key: self.results[key] for key in (*self._joins.found, *sorted(self._joins.kept))}
        feeds = {feed: self.results[key] for feed, key in self._joins.roots}
        made = {**feeds, **{key: kept[key] for key in self._joins.kept}}
        return Joined(
            elements=_table(_pairs(made), ELEMENT_SCHEMA),
            annotations=_table(list(_partner_rows(feeds)), ANNOTATION_SCHEMA),
            made=_table(list(self._made_rows(made)), MADE_SCHEMA),
            members={key: [self._reading(place) for place in elements] for key, elements in kept.items()},
            failures=tuple(
                (feed, self._failures[key]) for feed, key in self._joins.roots if key in self._failures
            ),
        )

    def _made_rows(self, streams: Mapping[int, Elements]) -> Iterator[tuple[Any, ...]]:
        for feed in sorted(streams):
            shown = {place[0] for place in streams[feed] if place[1]}
            for place in streams[feed]:
                if place[1]:
                    one = self._made[place]
                    yield feed, place[0], list(one.made_of), one.xml, one.is_selected
                elif place[0] in shown:
                    yield feed, place[0], [], "", False


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
