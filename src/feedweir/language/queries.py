"""The tree of queries. Every query, whichever syntax it was written in, is a `Query`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from feedweir.plan.predicates import JoinPredicate, PatternNode, Predicate
from feedweir.plan.window_lengths import STORY_ALIKE, WindowSpec


@dataclass(frozen=True, slots=True)
class Place:
    """Where a statement stands: the script and the number of its first token. Not a part of what it means."""

    text: str
    token: int


@dataclass(frozen=True, slots=True)
class Named:
    """A feed by its name: a source or a virtual feed, or `*` for every source."""

    name: str
    variable: str = ""


@dataclass(frozen=True, slots=True)
class Group:
    """`(A | B | …) as $variable`; with `distinct`, one element for each story within that window; what
    tells a story is at least so much alike."""

    members: tuple[Member, ...]
    variable: str = ""
    distinct: WindowSpec | None = None
    alike: float = STORY_ALIKE


@dataclass(frozen=True, slots=True)
class PathBlock:
    """An XPath query block of XSCL: the documents of a feed that have a pattern."""

    feed: str
    pattern: PatternNode


@dataclass(frozen=True, slots=True)
class BlockJoin:
    """`left JOIN{…} right` or `left FOLLOWED BY{…} right`, in value-join normal form.

    An equality names a variable of the left side first.
    """

    kind: Literal["join", "followed by"]
    left: PathBlock | BlockJoin
    right: PathBlock
    equalities: tuple[tuple[str, str], ...]
    window: WindowSpec


@dataclass(frozen=True, slots=True)
class Xscl:
    """`xscl { SELECT … FROM … }`; `select` empty keeps the items."""

    body: PathBlock | BlockJoin
    select: str = ""
    variable: str = ""


Member: TypeAlias = Named | Group | Xscl


@dataclass(frozen=True, slots=True)
class Join:
    """`join last 3 months on (…) with $primary[…]`; an empty `primary` is the whole `from`."""

    window: WindowSpec
    secondary: Member
    primary: str
    predicate: JoinPredicate


@dataclass(frozen=True, slots=True)
class OfPart:
    """`$variable[predicate]` in a condition that speaks of several parts."""

    variable: str
    predicate: Predicate


@dataclass(frozen=True, slots=True)
class Condition:
    """`$variable[predicate]`; an empty variable is the whole `from`."""

    variable: str
    predicate: Predicate
    parts: tuple[str, ...] = ()
    """The variables that the predicate names itself, in `OfPart`s, as `$a[…] or $b[…]` does."""


@dataclass(frozen=True, slots=True)
class Query:
    """What a virtual feed is made of. At most one condition has no variable."""

    source: Member
    joins: tuple[Join, ...] = ()
    where: tuple[Condition, ...] = ()
    most: int = 0
    """How many documents of its joins are shown in an hour, at most; 0 when it does not say."""
