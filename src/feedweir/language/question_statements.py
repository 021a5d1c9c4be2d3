"""Statements that ask: queries without a name, `describe`, `show`, `explain`; and `define window`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from feedweir.items.owners import EVERYONE
from feedweir.language.feed_statements import CreateFeed
from feedweir.language.literals import count, format_name, name, window
from feedweir.language.name_checks import Names, check_known, check_query, refuse
from feedweir.language.queries import Place, Query
from feedweir.language.query_clauses import format_query, query, selected_query
from feedweir.language.shared_clauses import (
    StatementKind,
    format_owner,
    owner,
)
from feedweir.language.tokens import Cursor, quoted
from feedweir.plan.window_lengths import WindowSpec, format_window


@dataclass(frozen=True, slots=True)
class Ask:
    """A query without a name: for a preview."""

    query: Query
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
    """A list; `like` keeps the names that have it, `*` standing for anything; `owner` what concerns them; of what is
    left, the first `limit`."""

    what: Shown
    like: str = ""
    owner: str = EVERYONE
    limit: int | None = None
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


@dataclass(frozen=True, slots=True)
class ExplainJoins:
    """How the joins of a feed are evaluated; of all feeds without a name."""

    feed: str = ""
    place: Place | None = field(default=None, compare=False, repr=False)


# Reading


def ask(c: Cursor, place: Place) -> Ask:
    c.at -= 1
    return Ask(query(c), place)


def select(c: Cursor, place: Place) -> Ask | CreateFeed:
    """A query, which PUBLISH makes a feed."""
    query = selected_query(c)
    if c.accept("publish"):
        return CreateFeed(name(c, "a name for the feed"), query, place=place)
    return Ask(query, place)


def describe(c: Cursor, place: Place) -> Describe:
    """`describe N`, `describe feed N`, `describe subscription S`."""
    if c.accept("subscription"):
        return Describe(name(c, "the name of a subscription"), "subscription", place)
    if c.words[c.at] in ("feed", "source") and c.words[c.at + 1] not in ("", ";"):
        c.at += 1
    return Describe(name(c), "feed", place)


def show(c: Cursor, place: Place) -> Show:
    """`show feeds [for ann] [like '*news*'] [limit 20]`."""
    word = c.words[c.at]
    for what in SHOWN:
        if word == what:
            c.at += 1
            whose = owner(c)
            like = c.string("a quoted pattern of names") if c.accept("like") else ""
            return Show(what, like, whose, _limit(c) if c.accept("limit") else None, place)
    raise c.unknown("something to show", SHOWN)


def _limit(c: Cursor) -> int:
    start = c.at
    most = count(c, "how many at most")
    if not most:
        raise c.error("nothing would be shown", at=start, expected=("1 or more",))
    return most


def define(c: Cursor, place: Place) -> DefineWindow:
    """`define window T1 as 30 days`."""
    c.expect("window")
    label = name(c, "a name for the window")
    c.expect("as")
    found = window(c)
    c.windows[label] = found
    return DefineWindow(label, found, place)


# Printing


def _ask(statement: Ask) -> str:
    return format_query(statement.query)


def _describe(statement: Describe) -> str:
    return f"describe {statement.kind} {format_name(statement.name)}"


def _show(statement: Show) -> str:
    like = f" like {quoted(statement.like)}" if statement.like else ""
    limit = f" limit {statement.limit}" if statement.limit is not None else ""
    return f"show {statement.what}{format_owner(statement.owner)}{like}{limit}"


def _define(statement: DefineWindow) -> str:
    return f"define window {format_name(statement.name)} as {format_window(statement.window)}"


def _explain_plan(statement: ExplainPlan) -> str:
    return f"explain plan {format_name(statement.source)}" if statement.source else "explain plan"


def _explain_joins(statement: ExplainJoins) -> str:
    return f"explain joins {format_name(statement.feed)}" if statement.feed else "explain joins"


# Checking


def _check_joins(statement: ExplainJoins, names: Names) -> None:
    if statement.feed:
        check_known(statement.feed, names, statement.place)


def _check_ask(statement: Ask, names: Names) -> None:
    check_query(statement.query, names, statement.place)


def _check_describe(statement: Describe, names: Names) -> None:
    if statement.kind == "feed":
        check_known(statement.name, names, statement.place)


def _check_plan(statement: ExplainPlan, names: Names) -> None:
    source = statement.source
    if not source:
        return
    check_known(source, names, statement.place)
    if names.kind_of(source) == "virtual":
        message = f"`{source}` is a virtual feed; only sources have filter plans"
        refuse(statement.place, source, message, f"explain feed {source}")


QUESTION_STATEMENTS: dict[type, StatementKind] = {
    Ask: StatementKind(_ask, _check_ask),
    Describe: StatementKind(_describe, _check_describe),
    Show: StatementKind(_show),
    DefineWindow: StatementKind(_define),
    ExplainPlan: StatementKind(_explain_plan, _check_plan),
    ExplainJoins: StatementKind(_explain_joins, _check_joins),
}
