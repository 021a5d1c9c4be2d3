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
class Matches:
    """A value of the attribute (None: of the item's text) has a match of a regular expression; of HTML its text."""

    attribute: str | None
    pattern: str
    flags: str = ""
    """Letters of `items.regexes.FLAGS`, sorted."""


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
    """A text without type and language: any literal of this text, or an IRI that ends with it after `/`, `#` or `:`;
    or a number: any literal of this value, whatever its type."""

    value: str | float


@dataclass(frozen=True, slots=True)
class RdfLiteral:
    """A literal written with its type or its language, as in `'chat'@fr`: exactly that term.

    The datatype is an IRI, that of a text without a language `xsd:string`; with a language it is empty. Languages are
    in lower case, since they are equal in every case.
    """

    text: str
    datatype: str
    language: str = ""


GraphTerm: TypeAlias = Variable | Iri | Constant | RdfLiteral


@dataclass(frozen=True, slots=True)
class Triple:
    subject: GraphTerm
    predicate: GraphTerm
    object: GraphTerm


TermPart: TypeAlias = Literal["", "text", "language", "datatype"]
TermTest: TypeAlias = Comparison | Literal["is", "contains", "starts", "ends", "speaks", "kind"]


@dataclass(frozen=True, slots=True)
class Constraint:
    """What a variable is bound to passes a test.

    Of the term itself (`part` empty): `=`, `!=` and order compare it with a number, by value; with a text, times by
    instant and else as text; with a literal of a type, as its type compares; with an IRI; or with another variable's
    term. `is` says that it is this term, as in a triple. `kind` is `iri`, `blank`,
    `literal` or `number`. `contains`, `starts` and `ends`
    look at the text of a literal.

    Of a part of the term, all of these with a text: `text` is that of a literal or an IRI, `language` a literal's tag
    (empty if it has none; `speaks` allows for its regions), `datatype` a literal's, compared with an IRI.

    A test that cannot be asked, such as the language of an IRI or the order of a text and a number, fails, whether
    negated or not. Every term is equal to another or not, and is a term or not: so `!=` and a negated `is` or `kind`
    hold whenever the opposite does not. Comparisons are never negated, they have opposites.
    """

    variable: str
    op: TermTest
    value: str | float | Iri | Constant | RdfLiteral | Variable
    part: TermPart = ""
    is_negated: bool = False


@dataclass(frozen=True, slots=True)
class AllConstraints:
    """All of the parts; it stands only within `AnyConstraint`."""

    parts: tuple[GraphConstraint, ...]


@dataclass(frozen=True, slots=True)
class AnyConstraint:
    """Any of the parts; without parts, false."""

    parts: tuple[GraphConstraint, ...]


GraphConstraint: TypeAlias = Constraint | AllConstraints | AnyConstraint


class _HashedOnce:
    """Has room for a hash, which is no part of a value and is not taken to other processes."""

    __slots__ = ("_hashed",)
    _hashed: int


@dataclass(frozen=True, slots=True)
class GraphPattern(_HashedOnce):
    """One binding of the variables makes all triples triples of the item, keeps all constraints, and cannot be
    extended to any of the patterns that must be absent.

    Different variables may be bound to the same term. All variables of constraints are in triples. In an absent
    pattern, the variables of the pattern around it stand for what they are bound to there; others are its own, and so
    it is with patterns that must be absent within it. Everything else that languages can say, such as UNION, OPTIONAL,
    EXISTS, MINUS, VALUES and paths, is made of these and of `Or`, `And` and `Not` when it is read.
    """

    triples: tuple[Triple, ...]
    constraints: tuple[GraphConstraint, ...] = ()
    absent: tuple[GraphPattern, ...] = ()
    selected: tuple[str, ...] = ()
    """The variables whose bindings readers are told; they say nothing about where the pattern is."""
    is_exact: bool = False
    """Whether a class stands for itself only and not for its subclasses, and a property not for its subproperties."""

    def __hash__(self) -> int:
        """Patterns are large, and looked up again and again while they are compiled."""
        try:
            return self._hashed
        except AttributeError:
            found = hash((self.triples, self.constraints, self.absent, self.selected, self.is_exact))
            object.__setattr__(self, "_hashed", found)
            return found


Atom: TypeAlias = (
    Contains
    | Compare
    | Similar
    | References
    | Extends
    | SharesLink
    | Matches
    | FromFeeds
    | TreePattern
    | GraphPattern
)
Predicate: TypeAlias = And | Or | Not | AtLeast | Atom

TRUE = And(())
FALSE = Or(())


JoinOperator: TypeAlias = Literal[
    "similar", "tells", "shares-link", "extends", "extended by", "contains", "contained in"
]


MIRRORED: dict[JoinOperator, JoinOperator] = {"extends": "extended by", "contains": "contained in"}
"""Operators that are another one from the other side."""


@dataclass(frozen=True, slots=True)
class Relates:
    """An atom of a join predicate: an attribute of the primary item against one of the window's item.

    `op` is a comparison, `similar` (with its threshold), `shares-link`, `extends` (a link continues one of the other's)
    or `contains` (all words of one of the other's values); the last two also the other way round; or `tells` (how
    much alike two tellings are at least, which only `distinct` asks). Attributes None mean the whole item.
    """

    attribute: str | None
    op: Comparison | JoinOperator
    window_attribute: str | None
    threshold: float = 0.0


@dataclass(frozen=True, slots=True)
class OfItem:
    """A condition on the primary item alone."""

    predicate: Predicate


@dataclass(frozen=True, slots=True)
class OfWindow:
    """A condition on the window's item alone."""

    predicate: Predicate


@dataclass(frozen=True, slots=True)
class JoinAnd:
    parts: tuple[JoinPredicate, ...]


@dataclass(frozen=True, slots=True)
class JoinOr:
    parts: tuple[JoinPredicate, ...]


@dataclass(frozen=True, slots=True)
class JoinNot:
    part: JoinPredicate


JoinPredicate: TypeAlias = JoinAnd | JoinOr | JoinNot | Relates | OfItem | OfWindow


def conjunction(predicates: tuple[Predicate, ...]) -> Predicate:
    """All of these; conjunctions among them are laid open."""
    parts: list[Predicate] = []
    for predicate in predicates:
        parts += predicate.parts if isinstance(predicate, And) else (predicate,)
    kept = tuple(dict.fromkeys(parts))
    return kept[0] if len(kept) == 1 else And(kept)
