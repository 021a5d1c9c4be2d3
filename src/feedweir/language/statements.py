"""The tree of statements. Every query, whichever syntax it was written in, is a `Query`."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from typing import Literal, TypeAlias

from feedweir.items.owners import EVERYONE
from feedweir.language.predicates import JoinPredicate, PatternNode, Predicate
from feedweir.language.schedules import AT_ONCE, Schedule
from feedweir.language.windows import WindowSpec


@dataclass(frozen=True, slots=True)
class Place:
    """Where a statement stands: the script and the number of its first token. Not a part of what it means."""

    text: str
    token: int


EVERY_SOURCE = "*"
"""The name that stands for all sources together."""


@dataclass(frozen=True, slots=True)
class Named:
    """A feed by its name: a source or a virtual feed, or `*` for every source."""

    name: str
    variable: str = ""


@dataclass(frozen=True, slots=True)
class Group:
    """`(A | B | …) as $variable`; with `distinct`, one element for each story within that window."""

    members: tuple[Member, ...]
    variable: str = ""
    distinct: WindowSpec | None = None


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
class Condition:
    """`$variable[predicate]`; an empty variable is the whole `from`."""

    variable: str
    predicate: Predicate


@dataclass(frozen=True, slots=True)
class Query:
    """What a virtual feed is made of. At most one condition has no variable."""

    source: Member
    joins: tuple[Join, ...] = ()
    where: tuple[Condition, ...] = ()


@dataclass(frozen=True, slots=True)
class RegisterFeed:
    """A source: from the web (`url`), or a virtual feed (`feed`) materialised through the stylesheet `apply`."""

    name: str
    url: str = ""
    feed: str = ""
    apply: str = ""
    every: timedelta | None = None
    owner: str = EVERYONE
    hub: str = ""
    """A WebSub hub that pushes it, set by hand."""
    id_path: str = ""
    """Where its items name their ids, as in `//order/@number`."""
    place: Place | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class CreateFeed:
    """`owner` limits who is asked for when matching is limited to some; empty is everyone."""

    name: str
    query: Query
    or_replace: bool = False
    owner: str = EVERYONE
    place: Place | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Ask:
    """A query without a name: for a preview."""

    query: Query
    place: Place | None = field(default=None, compare=False, repr=False)


Channel: TypeAlias = Literal["mail", "file", "webhook", "notify", "stream"]
CHANNELS: tuple[Channel, ...] = ("mail", "file", "webhook", "notify", "stream")


@dataclass(frozen=True, slots=True)
class Subscribe:
    """`name` is for `alter` and `drop`; empty lets the catalog choose one. A stream has no `target`: it is fetched."""

    feed: str
    channel: Channel
    target: str
    apply: str = ""
    schedule: Schedule = AT_ONCE
    name: str = ""
    secret: str = field(default="", repr=False)
    """What a webhook is signed with; empty lets the keeper make one."""
    owner: str = EVERYONE
    with_backlog: bool = False
    """Whether it also gets what was published before a source was registered."""
    place: Place | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class AlterFeed:
    """What is not None changes. `url`, `every`, `hub` and `id_path` (empty: none) are for sources, `query` for virtual
    feeds."""

    name: str
    rename: str | None = None
    url: str | None = None
    every: timedelta | None = None
    is_paused: bool | None = None
    query: Query | None = None
    owner: str | None = None
    hub: str | None = None
    id_path: str | None = None
    place: Place | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class AlterSubscription:
    """What is not None changes; of the schedule, the parts that it has, after `without` (words
    of `schedules.REMOVABLE`) was taken away."""

    name: str
    rename: str | None = None
    apply: str | None = None
    channel: Channel | None = None
    target: str | None = None
    schedule: Schedule = AT_ONCE
    without: tuple[str, ...] = ()
    is_paused: bool | None = None
    secret: str | None = field(default=None, repr=False)
    owner: str | None = None
    with_backlog: bool | None = None
    place: Place | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class DropFeed:
    """Sources and virtual feeds share one room of names."""

    name: str
    if_exists: bool = False
    place: Place | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class DropSubscription:
    name: str
    if_exists: bool = False
    place: Place | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Describe:
    """Everything that is known of one feed or subscription."""

    name: str
    kind: Literal["feed", "subscription"] = "feed"
    place: Place | None = field(default=None, compare=False, repr=False)


Shown: TypeAlias = Literal["sources", "feeds", "subscriptions", "statistics", "failures"]
SHOWN: tuple[Shown, ...] = ("sources", "feeds", "subscriptions", "statistics", "failures")


@dataclass(frozen=True, slots=True)
class Show:
    """A list; `like` keeps the names that have it, `*` standing for anything; `owner` what concerns them."""

    what: Shown
    like: str = ""
    owner: str = EVERYONE
    place: Place | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class DefineWindow:
    """`define window T1 as 30 days`: a name for the windows of the statements that follow in the script."""

    name: str
    window: WindowSpec
    place: Place | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Explain:
    """The plan of a query, or of what a feed's name stands for."""

    statement: CreateFeed | Ask
    place: Place | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class ExplainPlan:
    """The shared plan by which the filters of a source are evaluated; of every source without a name."""

    source: str = ""
    place: Place | None = field(default=None, compare=False, repr=False)


Statement: TypeAlias = (
    RegisterFeed
    | CreateFeed
    | Ask
    | Subscribe
    | AlterFeed
    | AlterSubscription
    | DropFeed
    | DropSubscription
    | Describe
    | Show
    | DefineWindow
    | Explain
    | ExplainPlan
)
