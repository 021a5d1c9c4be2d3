"""The atoms that every predicate reduces to: what can be said of an item once, for all queries that ask.

Words, prefixes, values, segments and tree patterns are enumerated: an item lists those it satisfies, so a query can be
found by them. Phrases and intervals are tested on candidates. What is left is asked of `meaning`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from feedweir.plan.predicates import DatePart, Predicate, TreePattern

LONG_MIN, LONG_MAX = -(2**63), 2**63 - 1


@dataclass(frozen=True, slots=True)
class Word:
    """A word stands in an attribute, or anywhere in the item's text (`scope` None)."""

    scope: str | None
    word: str


@dataclass(frozen=True, slots=True)
class Prefix:
    """A word that opens so stands there."""

    scope: str | None
    prefix: str


@dataclass(frozen=True, slots=True)
class Phrase:
    """Two or more words stand next to each other; `is_prefix` when the last one need only open so."""

    scope: str | None
    words: tuple[str, ...]
    is_prefix: bool = False

    def parts(self) -> tuple[Word | Prefix, ...]:
        """The words that must be there for the phrase to be there."""
        *head, last = self.words
        end = Prefix(self.scope, last) if self.is_prefix else Word(self.scope, last)
        return (*(Word(self.scope, word) for word in head), end)


@dataclass(frozen=True, slots=True)
class Origin:
    """The item came from one of these sources."""

    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Equal:
    """A value of the attribute is this folded string."""

    attribute: str
    value: str


@dataclass(frozen=True, slots=True)
class EqualNumber:
    """A value of the attribute is a text that reads as this number."""

    attribute: str
    number: float


@dataclass(frozen=True, slots=True)
class Link:
    """A link of the attribute: is this URL, continues it (`opening`), leads to this host, or to it or below it."""

    attribute: str
    kind: Literal["url", "opening", "host", "domain"]
    value: str


@dataclass(frozen=True, slots=True)
class Axis:
    """A number that an item has at most one of: a time in microseconds, a part of it, the time since arrival.

    Of values that are read as numbers or compared as texts it is the place of the greatest or of the least: some value
    lies above a bound when the greatest does. On the axis of `each` an item has the places of all its values.
    """

    attribute: str
    part: DatePart | None = None
    is_relative: bool = False
    reading: Literal["number", "text"] | None = None
    end: Literal["greatest", "least", "each"] | None = None


@dataclass(frozen=True, slots=True)
class Within:
    """The number lies between two bounds, both included."""

    axis: Axis
    low: int = LONG_MIN
    high: int = LONG_MAX


@dataclass(frozen=True, slots=True)
class Ordered:
    """A text compares so with a folded one: an interval, as soon as all texts that the set compares are known."""

    axis: Axis
    op: str
    text: str


SEVERAL = 0
"""The node, above the root, of items that have more than one place on an axis of `each`."""


@dataclass(frozen=True, slots=True)
class Segment:
    """The number lies in one node of the segment tree over the bounds that queries name on its axis."""

    axis: Axis
    node: int


@dataclass(frozen=True, slots=True)
class Tree:
    """The item's XML has this pattern."""

    pattern: TreePattern


@dataclass(frozen=True, slots=True)
class Ask:
    """What only `meaning` can decide."""

    predicate: Predicate


@dataclass(frozen=True, slots=True)
class Every:
    """Satisfied by every item: what queries without a positive atom are found by."""


Enumerated: TypeAlias = Word | Prefix | Origin | Equal | EqualNumber | Link | Segment | Tree | Every
Leaf: TypeAlias = Enumerated | Phrase | Within | Ordered | Ask
