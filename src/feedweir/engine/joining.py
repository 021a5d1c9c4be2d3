"""The join step of a batch: elements of join-free streams in, elements of feeds with joins out, with their partners.

What an element depends on came at or before it in the stream, so a batch's elements follow from the batch and from
what was published before it, however the stream is cut.
"""

from __future__ import annotations

import logging
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TypeAlias

import pyarrow as pa

from feedweir.engine.join_plans import JoinSet, Stream
from feedweir.engine.pattern_joins import Events, Sides, chain_of, completed, reach, since_of
from feedweir.engine.relating import relates
from feedweir.engine.store import ANNOTATION_SCHEMA, ELEMENT_SCHEMA
from feedweir.engine.window_index import WindowIndex
from feedweir.engine.windows import EARLIEST, History, Members, before
from feedweir.match.meaning import Reading, holds
from feedweir.plan.nodes import AnnotationJoin, Block, Filter, LastItems, PatternJoin, Union, WindowSpec

_log = logging.getLogger(__name__)

PATTERN = "pattern"
"""The identifier under which the documents of a pattern join's match are kept."""

Annotation: TypeAlias = dict[str, frozenset[int]]
"""By join identifier the numbers of the partners."""
Elements: TypeAlias = dict[int, Annotation]
"""The elements of a batch by number, in the order of the stream."""


@dataclass(frozen=True, slots=True)
class Joined:
    """What the join step adds to a batch."""

    elements: pa.Table
    annotations: pa.Table
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
        self._readings = readings
        self._history = history
        self._failures: dict[int, str] = {}
        self.results: dict[int, Elements] = {
            key: {seq: {} for seq in found.get(key, ())} for key in joins.found
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
            case Filter(_, predicate) | Block(_, predicate):
                return {seq: kept for seq, kept in inputs[0].items() if holds(predicate, self._readings[seq])}
            case Union():
                return merged(inputs)
            case AnnotationJoin() as join:
                return self._annotated(join, inputs[0], stream.inputs[1])
            case PatternJoin() as join:
                return self._patterns(stream, join)
        raise TypeError(f"a {type(stream.node).__name__} gives no elements of its own")

    def members(self, key: int) -> list[Reading]:
        """The batch's elements of a stream."""
        return [self._readings[seq] for seq in self.results[key]]

    def _annotated(self, join: AnnotationJoin, primary: Elements, key: int) -> Elements:
        if not primary:
            return {}
        spec = join.window.spec
        old = self._history.window(key, spec, self._since(primary, spec))
        new = WindowIndex(self.members(key))
        kept: Elements = {}
        for seq, annotation in primary.items():
            partners = partners_of(self._readings[seq], join, old, new)
            if partners:
                kept[seq] = with_partners(annotation, join.identifier, partners)
        return kept

    def _since(self, primary: Elements, spec: WindowSpec) -> datetime:
        if isinstance(spec, LastItems):
            return EARLIEST
        return before(min(self._readings[seq].item.arrived for seq in primary), spec.length)

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
        found: list[Elements] = []
        for documents, _ in completed(blocks, joins, sides, self._events(stream)):
            last = max(document.seq for document in documents)
            others = [document.seq for document in documents if document.seq != last]
            found.append({last: with_partners({}, PATTERN, others)})
        return merged(found)

    def _events(self, stream: Stream) -> Callable[[PatternJoin], Events]:
        """Of every join in a chain the numbers of the events that its window counts."""
        streams: dict[int, Stream] = {}
        at: Stream | None = stream
        while at is not None and isinstance(at.node, PatternJoin):
            streams[id(at.node)] = at
            at = self._joins.made.get(at.inputs[0])

        def events(join: PatternJoin) -> Events:
            left, right = (self._joins.below.get(key, key) for key in streams[id(join)].inputs)
            return Events(self._seqs(left), self._seqs(right))

        return events

    def _seqs(self, key: int) -> list[int]:
        return [*self._history.seqs(key), *self.results[key]]

    def joined(self) -> Joined:
        kept = {key: self.results[key] for key in (*self._joins.found, *sorted(self._joins.kept))}
        feeds = {feed: self.results[key] for feed, key in self._joins.roots}
        made = {**feeds, **{key: kept[key] for key in self._joins.kept}}
        pairs = [(feed, seq) for feed in sorted(made) for seq in made[feed]]
        rows = [
            (feed, seq, identifier, partner)
            for feed in sorted(feeds)
            for seq, annotation in feeds[feed].items()
            for identifier in sorted(annotation)
            for partner in sorted(annotation[identifier])
        ]
        return Joined(
            elements=_table(pairs, ELEMENT_SCHEMA),
            annotations=_table(rows, ANNOTATION_SCHEMA),
            members={key: [self._readings[seq] for seq in elements] for key, elements in kept.items()},
            failures=tuple(
                (feed, self._failures[key]) for feed, key in self._joins.roots if key in self._failures
            ),
        )


def _table(rows: Sequence[tuple[object, ...]], schema: pa.Schema) -> pa.Table:
    columns = list(zip(*rows, strict=True)) if rows else [()] * len(schema)
    return pa.Table.from_arrays(
        [pa.array(column, field.type) for column, field in zip(columns, schema, strict=True)], schema=schema
    )


def partners_of(primary: Reading, join: AnnotationJoin, old: WindowIndex, new: WindowIndex) -> list[int]:
    """The numbers of the items that a primary one is joined with: never its own.

    Its window holds what came not later, within the length or number; `old` was there before the batch.
    """
    item, spec = primary.item, join.window.spec
    arrived = bisect_right(new.readings, item.seq, key=lambda reading: reading.item.seq)
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
        if other.item.seq != item.seq
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
        for seq, annotation in elements.items():
            known = found.get(seq, {})
            for identifier, partners in annotation.items():
                known = with_partners(known, identifier, partners)
            found[seq] = known
    return dict(sorted(found.items()))
