"""The world of `benchmarks installation`: items with six leaves or with sixteen in four groups, joins of them, words.

Half of all items come from one source, and half of all joins read only it. The value of a leaf names the leaf, as a
link is never a title; how often one comes again decides how many results an item has. A third of the joins equate
different leaves and find nothing, as many that people write do.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

from benchmarks._join_queries import Schema, deep, flat, zipf

SOURCES = 8
DEEP_SOURCE = 1
"""Its items are of the three-level schema, and so are those of the last source."""
EVERY_S = 30
"""Between two items, by their own times."""
_START = datetime(2026, 1, 1, tzinfo=UTC)
_SCHEMAS = (flat(6), deep())
_WORDS = 4_000
_CHAINS = 0.02


@dataclass(frozen=True, slots=True)
class JoinSpec:
    """A join of two blocks over one schema."""

    name: str
    left_source: int
    right_source: int
    schema: Schema
    left: tuple[int, ...]
    right: tuple[int, ...]
    window: int
    """Items if positive, else minutes."""
    kind: str
    third: bool = False
    """Whether one more block follows, joined on the last leaf of the second."""

    def statement(self) -> str:
        one = _block(self.left_source, self.schema, self.left, "a")
        other = _block(self.right_source, self.schema, self.right, "b")
        pairs = " AND ".join(f"a{place}=b{place}" for place in range(len(self.left)))
        chain = ""
        if self.third:
            last = _block(self.right_source, self.schema, self.right[-1:], "c")
            chain = f" FOLLOWED BY{{b{len(self.right) - 1}=c0, {self._window()}}} {last}"
        return f"{one} {self.kind}{{{pairs}, {self._window()}}} {other}{chain} PUBLISH {self.name};"

    def _window(self) -> str:
        return f"{self.window} items" if self.window > 0 else f"{-self.window} minutes"


def _block(source: int, schema: Schema, leaves: Sequence[int], mark: str) -> str:
    named = [(schema.leaves[leaf], f"{mark}{place}") for place, leaf in enumerate(leaves)]
    if schema.is_flat:
        return f"S{source}//item" + "".join(f"[{leaf}->{label}]" for leaf, label in named)
    groups: dict[int, list[str]] = {}
    for (leaf, label), place in zip(named, leaves, strict=True):
        groups.setdefault(schema.group[place], []).append(f"[{leaf}->{label}]")
    inside = "".join(f"[g{group}{''.join(below)}]" for group, below in sorted(groups.items()))
    return f"S{source}//item{inside}"


def schema_of(source: int) -> Schema:
    return _SCHEMAS[source in (DEEP_SOURCE, SOURCES - 1)]


def joins(count: int, seed: int = 7) -> Iterator[JoinSpec]:
    """So many distinct joins, half over the busy source, half of the others over the three-level ones."""
    chance = random.Random(seed)
    known: set[tuple[object, ...]] = set()
    while len(known) < count:
        place = len(known)
        if place % 2 == 0:
            left = right = 0
        elif place % 4 == 1:
            left, right = DEEP_SOURCE, chance.choice((DEEP_SOURCE, SOURCES - 1))
        else:
            left, right = chance.randrange(2, SOURCES - 1), chance.randrange(2, SOURCES - 1)
        schema = schema_of(left)
        leaves = range(len(schema.leaves))
        width = zipf(min(4, len(leaves)), 0.8, chance)
        ours = tuple(chance.sample(leaves, width))
        theirs = tuple(chance.sample(leaves, width)) if chance.random() < 1 / 3 else ours
        window = chance.choice([-60, -240, -1440, 20, 100]) * chance.choice([1, 2, 3, 5, 7, 11])
        kind = "JOIN" if chance.random() < 0.2 else "FOLLOWED BY"
        third = chance.random() < _CHAINS
        said = (left, right, ours, theirs, window, kind, third)
        if said not in known:
            known.add(said)
            yield JoinSpec(f"J{place}", left, right, schema, ours, theirs, window, kind, third)


def keyword_feeds(count: int, seed: int = 8) -> Iterator[str]:
    chance = random.Random(seed)
    for number in range(count):
        one, other = chance.randrange(_WORDS), chance.randrange(_WORDS)
        yield f"create feed K{number} from * where title contains 'w{one}' and title contains 'x{other}';"


@dataclass(frozen=True, slots=True)
class WorldItem:
    number: int
    source: int
    values: tuple[str, ...]
    """By leaf."""
    words: str

    @property
    def minutes(self) -> float:
        return self.number * EVERY_S / 60

    def xml(self) -> str:
        schema = schema_of(self.source)
        groups = schema.group or (-1,) * len(schema.leaves)
        parts: list[str] = []
        for place, (leaf, group, value) in enumerate(zip(schema.leaves, groups, self.values, strict=True)):
            if group >= 0 and (place == 0 or groups[place - 1] != group):
                parts.append(f"<g{group}>")
            parts.append(f"<{leaf}>{value}</{leaf}>")
            if group >= 0 and (place == len(groups) - 1 or groups[place + 1] != group):
                parts.append(f"</g{group}>")
        date = format_datetime(_START + timedelta(seconds=self.number * EVERY_S))
        return (
            f"<item><guid>{self.number}</guid><title>{self.words}</title><pubDate>{date}</pubDate>"
            f"{''.join(parts)}</item>"
        )


class World:
    """Items one after another, the same for the same numbers."""

    def __init__(self, repeats: float, seed: int = 9) -> None:
        """Of `1 / repeats` items of a schema, about one has a leaf's value of an earlier one within a day."""
        self._chance = random.Random(seed)
        self._values = max(2, round(1 / repeats))
        self.items: list[WorldItem] = []

    def next_items(self, count: int) -> list[WorldItem]:
        made = [self._item(len(self.items) + place) for place in range(count)]
        self.items += made
        return made

    def _item(self, number: int) -> WorldItem:
        chance = self._chance
        source = 0 if chance.random() < 0.5 else chance.randrange(1, SOURCES)
        schema = schema_of(source)
        values = tuple(f"{leaf} {chance.randrange(self._values)}" for leaf in schema.leaves)
        words = f"w{chance.randrange(_WORDS)} x{chance.randrange(_WORDS)} item{number}"
        return WorldItem(number, source, values, words)


def documents(items: Sequence[WorldItem]) -> Iterator[tuple[int, bytes]]:
    """(source, feed) of items that come together; the newest is first in each."""
    for source in range(SOURCES):
        own = [item.xml() for item in reversed(items) if item.source == source]
        if own:
            body = f"<rss version='2.0'><channel><title>t</title>{''.join(own)}</channel></rss>"
            yield source, body.encode()


def expected_pairs(spec: JoinSpec, items: Sequence[WorldItem], order: Sequence[int]) -> set[tuple[int, int]]:
    """(left, right) of all results of a join of two blocks; `order` are the numbers of items as they arrived."""
    place = {number: at for at, number in enumerate(order)}
    lefts = _by_values(spec.left, [one for one in items if one.source == spec.left_source])
    arrived = {
        source: sorted(place[one.number] for one in items if one.source == source)
        for source in {spec.left_source, spec.right_source}
    }
    found: set[tuple[int, int]] = set()
    for item in items:
        if item.source != spec.right_source:
            continue
        values = tuple(item.values[leaf] for leaf in spec.right)
        for other in lefts.get(values, ()):
            if other.number != item.number and _are_near(spec, other, item, place, arrived):
                found.add((other.number, item.number))
    return found


def _by_values(leaves: Sequence[int], items: Sequence[WorldItem]) -> dict[tuple[str, ...], list[WorldItem]]:
    found: dict[tuple[str, ...], list[WorldItem]] = {}
    for item in items:
        found.setdefault(tuple(item.values[leaf] for leaf in leaves), []).append(item)
    return found


def _are_near(
    spec: JoinSpec,
    left: WorldItem,
    right: WorldItem,
    place: dict[int, int],
    arrived: dict[int, list[int]],
) -> bool:
    if spec.window < 0:
        apart = right.minutes - left.minutes
        return (abs(apart) if spec.kind == "JOIN" else apart) <= -spec.window and (
            spec.kind == "JOIN" or apart > 0
        )
    from bisect import bisect_left

    first, last = (left, right) if place[left.number] < place[right.number] else (right, left)
    if spec.kind != "JOIN" and first is not left:
        return False
    own = arrived[first.source]
    back = bisect_left(own, place[last.number]) - bisect_left(own, place[first.number])
    return back <= spec.window
