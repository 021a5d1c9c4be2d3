"""XSCL's JOIN and FOLLOWED BY over the blocks of a chain: which matches a batch completes.

Evaluated plainly: the witnesses of the batch meet those of history by a hash of their equal values, one join after the
other. A match is completed by the document that comes last in the stream, so each is found in one batch only.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TypeAlias

from feedweir.engine.bindings import bindings
from feedweir.engine.windows import EARLIEST, Place, before
from feedweir.items.model import Item
from feedweir.match.meaning import Reading
from feedweir.plan.construct import holes_of
from feedweir.plan.nodes import Block, LastItems, PatternJoin, TimeSpan

Found: TypeAlias = tuple[tuple[Item, ...], dict[str, str]]
"""The documents of a match, one a block, and the values of the variables."""


@dataclass(frozen=True, slots=True)
class Sides:
    """A block's documents before the batch and of the batch."""

    old: Sequence[Reading]
    new: Sequence[Reading]


@dataclass(frozen=True, slots=True)
class Events:
    """For a window of so many events: the places of those of the left and of the right, ascending."""

    left: Sequence[Place]
    right: Sequence[Place]


def chain_of(node: PatternJoin) -> tuple[list[Block], list[PatternJoin]]:
    """The blocks of a chain from left to right, and the joins between them."""
    blocks: list[Block] = [node.right]
    joins: list[PatternJoin] = [node]
    left = node.left
    while isinstance(left, PatternJoin):
        blocks.append(left.right)
        joins.append(left)
        left = left.left
    return [left, *reversed(blocks)], joins[::-1]


def reach(joins: Iterable[PatternJoin]) -> timedelta | None:
    """How far apart the documents of a match can be; None when a window counts events."""
    total = timedelta()
    for join in joins:
        if not isinstance(join.window, TimeSpan):
            return None
        total += join.window.length
    return total


def since_of(joins: Sequence[PatternJoin], new: Iterable[Reading]) -> datetime:
    """Every document of a match with one of these is later; one that is just as far away as it may be, too."""
    far = reach(joins)
    first = min((reading.item.time for reading in new), default=None)
    return EARLIEST if far is None or first is None else before(first, far + timedelta.resolution)


def completed(
    blocks: Sequence[Block],
    joins: Sequence[PatternJoin],
    sides: Sequence[Sides],
    events: Callable[[PatternJoin], Events],
) -> list[Found]:
    """Every match with a document of the batch."""
    wanted = frozenset(name for join in joins for pair in join.equalities for name in pair)
    wanted |= frozenset(holes_of(joins[-1].select))
    old, new = _witnesses(blocks[0], sides[0].old, wanted), _witnesses(blocks[0], sides[0].new, wanted)
    for place, join in enumerate(joins, 1):
        right_old = _witnesses(blocks[place], sides[place].old, wanted)
        right_new = _witnesses(blocks[place], sides[place].new, wanted)
        pair = _Pairing(join, events(join) if isinstance(join.window, LastItems) else Events((), ()))
        new = [*pair.matches(new, [*right_old, *right_new]), *pair.matches(old, right_new)]
        if place < len(joins):
            old = list(pair.matches(old, right_old))
    return new


def _witnesses(block: Block, readings: Iterable[Reading], wanted: frozenset[str]) -> list[Found]:
    return [
        ((reading.item,), dict(way))
        for reading in readings
        for way in bindings(block.pattern, reading.item, wanted)
    ]


@dataclass(frozen=True, slots=True)
class _Pairing:
    join: PatternJoin
    events: Events

    def matches(self, lefts: Sequence[Found], rights: Sequence[Found]) -> Iterator[Found]:
        """Pairs with equal values, in order and near enough."""
        if not lefts or not rights:
            return
        by_values: defaultdict[tuple[str, ...], list[Found]] = defaultdict(list)
        for right in rights:
            by_values[tuple(right[1][name] for _, name in self.join.equalities)].append(right)
        for documents, way in lefts:
            for (other,), more in by_values.get(tuple(way[name] for name, _ in self.join.equalities), ()):
                if self._fits(documents, other):
                    yield (*documents, other), {**way, **more}

    def _fits(self, documents: tuple[Item, ...], other: Item) -> bool:
        if any(document.place == other.place for document in documents):
            return False
        window = self.join.window
        if isinstance(window, LastItems):
            return self._is_near(max(document.place for document in documents), other.place, window.count)
        apart = other.time - max(document.time for document in documents)
        if self.join.kind == "followed by":
            return timedelta() < apart <= window.length
        return abs(apart) <= window.length

    def _is_near(self, last: Place, other: Place, count: int) -> bool:
        """Fewer than `count` events of the earlier side lie between."""
        if self.join.kind == "followed by" and last > other:
            return False
        events = self.events.left if last < other else self.events.right
        low, high = sorted((last, other))
        return bisect_left(events, high) - bisect_right(events, low) < count
