"""The one tree of predicates: what RoSeS conditions, search boxes, tree patterns and graph patterns all become.

Text inside a predicate is kept as it was typed; it meets the analyser (`items.text`) when a predicate is compiled or
evaluated, so that queries and items go through the same one.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal, TypeAlias

Comparison: TypeAlias = Literal["=", "!=", "<", "<=", ">", ">="]
DatePart: TypeAlias = Literal["year", "month", "day", "hour", "minute", "weekday", "date"]


@dataclass(frozen=True, slots=True)
class And:
    """All of the parts; without parts, true."""

    parts: tuple[Predicate, ...]


@dataclass(frozen=True, slots=True)
class Or:
    """Any of the parts; without parts, false."""

    parts: tuple[Predicate, ...]


@dataclass(frozen=True, slots=True)
class Not:
    part: Predicate


@dataclass(frozen=True, slots=True)
class AtLeast:
    """At least `count` of the parts."""

    count: int
    parts: tuple[Predicate, ...]


@dataclass(frozen=True, slots=True)
class Term:
    """What must be in the text: a word, or words that stand next to each other. A prefix opens its last word."""

    text: str
    is_prefix: bool = False


@dataclass(frozen=True, slots=True)
class Contains:
    """At least `at_least` of the terms are in an attribute, or (`attribute` None) anywhere in the item's text.

    A term lies within one value of one attribute: words of a title and of a summary are never neighbours.
    """

    attribute: str | None
    terms: tuple[Term, ...]
    at_least: int


@dataclass(frozen=True, slots=True)
class Now:
    """`now - 2 days`: relative to the arrival of the item, so that a replay gives the same answer."""

    offset: timedelta = timedelta()


Value: TypeAlias = str | float | datetime | Now


@dataclass(frozen=True, slots=True)
class Compare:
    """A value of the attribute (one of them, when it has several) compares so; an absent attribute never does.

    `!=` is the negation of `=`: it holds of an absent attribute. Strings are compared folded (NFKC, case) and trimmed.
    """

    attribute: str
    op: Comparison
    value: Value
    part: DatePart | None = None


@dataclass(frozen=True, slots=True)
class Similar:
    """The words of the attribute and of the text overlap: |A ∩ B| / |A ∪ B| ≥ threshold, as sets."""

    attribute: str | None
    text: str
    threshold: float


@dataclass(frozen=True, slots=True)
class References:
    """One of the links is this URL, or, when only a host is given, leads to this host."""

    attribute: str | None
    url: str


@dataclass(frozen=True, slots=True)
class Extends:
    """One of the links continues this URL (same, or deeper), or leads to this host or a subdomain of it."""

    attribute: str | None
    url: str


@dataclass(frozen=True, slots=True)
class SharesLink:
    """One of the links is one of these URLs."""

    attribute: str | None
    urls: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FromFeeds:
    """The item came from one of these sources."""

    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PatternNode:
    """A step of a tree pattern: reached by `axis`, of this `name` (`*` for any, `@name` for an attribute)."""

    axis: Literal["/", "//"]
    name: str
    children: tuple[PatternNode, ...] = ()
    variable: str = ""
    op: Comparison | None = None
    """With `value`: a condition on the node's string value."""
    value: str | float | None = None


@dataclass(frozen=True, slots=True)
class TreePattern:
    """The item, as an XML tree, has this pattern."""

    root: PatternNode


@dataclass(frozen=True, slots=True)
class Variable:
    name: str


@dataclass(frozen=True, slots=True)
class Iri:
    iri: str


@dataclass(frozen=True, slots=True)
class Constant:
    """A literal; a number when it was written as one."""

    value: str | float


GraphTerm: TypeAlias = Variable | Iri | Constant


@dataclass(frozen=True, slots=True)
class Triple:
    subject: GraphTerm
    predicate: GraphTerm
    object: GraphTerm


@dataclass(frozen=True, slots=True)
class Constraint:
    """SUCHTHAT: a variable's value compares so."""

    variable: str
    op: Comparison
    value: str | float


@dataclass(frozen=True, slots=True)
class GraphPattern:
    """The item, as RDF triples, has a subgraph that matches all triples and constraints at once."""

    triples: tuple[Triple, ...]
    constraints: tuple[Constraint, ...] = ()


Atom: TypeAlias = (
    Contains | Compare | Similar | References | Extends | SharesLink | FromFeeds | TreePattern | GraphPattern
)
Predicate: TypeAlias = And | Or | Not | AtLeast | Atom

TRUE = And(())
FALSE = Or(())


@dataclass(frozen=True, slots=True)
class Relates:
    """An atom of a join predicate: an attribute of the primary item against one of the window's item.

    `op` is a comparison, `similar` (with its threshold) or `shares-link`; attributes None mean the whole item.
    """

    attribute: str | None
    op: Comparison | Literal["similar", "shares-link"]
    window_attribute: str | None
    threshold: float = 0.0


@dataclass(frozen=True, slots=True)
class JoinAnd:
    parts: tuple[JoinPredicate, ...]


@dataclass(frozen=True, slots=True)
class JoinOr:
    parts: tuple[JoinPredicate, ...]


@dataclass(frozen=True, slots=True)
class JoinNot:
    part: JoinPredicate


JoinPredicate: TypeAlias = JoinAnd | JoinOr | JoinNot | Relates
