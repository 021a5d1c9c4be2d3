"""What predicates reduce to: atoms and conditions, each evaluated once for all queries that contain it.

An atom is listed for each item that satisfies it, so queries can be found by it; the families (`families.py`) have the
classes of their own atoms. A condition (a phrase, an interval, a question) is tested on candidates only: by the kernel,
or, for `Ask`, by `meaning`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias, TypeGuard

from feedweir.plan.predicates import DatePart, Predicate

LONG_MIN, LONG_MAX = -(2**63), 2**63 - 1


class Atom:
    """The base of all atoms: frozen values, equal when they ask the same."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Word(Atom):
    """A word occurs in an attribute, or anywhere in the item's text (`scope` None)."""

    scope: str | None
    word: str


@dataclass(frozen=True, slots=True)
class Prefix(Atom):
    """A word that starts with the prefix occurs there."""

    scope: str | None
    prefix: str


@dataclass(frozen=True, slots=True)
class Phrase:
    """Two or more words occur next to each other; with `is_prefix` the last one need only start so."""

    scope: str | None
    words: tuple[str, ...]
    is_prefix: bool = False

    def parts(self) -> tuple[Word | Prefix, ...]:
        """The words without which the phrase cannot occur."""
        *head, last = self.words
        end = Prefix(self.scope, last) if self.is_prefix else Word(self.scope, last)
        return (*(Word(self.scope, word) for word in head), end)


@dataclass(frozen=True, slots=True)
class Axis:
    """A number that an item has at most one of: a time in microseconds, a part of it, the time since arrival.

    Of values that are read as numbers or compared as texts it is the place of the greatest or of the least: some value
    lies above a bound when the greatest does. On an axis with the end `each`, an item has the places of all its values.
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


@dataclass(frozen=True, slots=True)
class Ask:
    """What only `meaning` can decide."""

    predicate: Predicate


@dataclass(frozen=True, slots=True)
class Every(Atom):
    """Satisfied by every item: finds the queries that no other atom finds."""


Condition: TypeAlias = Phrase | Within | Ordered | Ask
Leaf: TypeAlias = Atom | Condition


def is_atom(formula: object) -> TypeGuard[Atom]:
    return isinstance(formula, Atom)
