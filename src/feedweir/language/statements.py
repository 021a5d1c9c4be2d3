"""All statements: text to statements, statements to canonical text, and whether they make sense."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from feedweir.errors import near
from feedweir.language.feed_statements import (
    FEED_STATEMENTS,
    AlterFeed,
    CreateFeed,
    DropFeed,
    RegisterFeed,
    alter_feed,
    create,
    drop_feed,
    register,
)
from feedweir.language.literals import name
from feedweir.language.name_checks import Names
from feedweir.language.queries import Named, Place, Query
from feedweir.language.query_clauses import begins_query
from feedweir.language.question_statements import (
    QUESTION_STATEMENTS,
    SHOWN,
    Ask,
    DefineWindow,
    Describe,
    Explain,
    ExplainJoins,
    ExplainPlan,
    Show,
    Shown,
    ask,
    define,
    describe,
    select,
    show,
)
from feedweir.language.schedule_clauses import CLAUSES
from feedweir.language.shared_clauses import StatementKind
from feedweir.language.subscription_statements import (
    SUBSCRIPTION_STATEMENTS,
    AlterSubscription,
    DropSubscription,
    Subscribe,
    alter_subscription,
    drop_subscription,
    subscribe,
)
from feedweir.language.tokens import Cursor

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
    | ExplainJoins
)


def parse(text: str) -> tuple[Statement, ...]:
    """The statements of a script, separated by `;`. The first mistake is raised."""
    c = Cursor(text)
    found: list[Statement] = []
    while True:
        while c.words[c.at] == ";":
            c.at += 1
        if not c.words[c.at]:
            return tuple(found)
        found.append(_whole_statement(c))


def _whole_statement(c: Cursor) -> Statement:
    found = _statement(c)
    if c.words[c.at] not in _ENDS:
        expected = ("`;` and the next statement", "the end")
        raise c.unexpected(expected=expected, hint=near(c.words[c.at], _GOES_ON))
    return found


_ENDS = frozenset((";", ""))


_GOES_ON = (
    "and",
    "or",
    "as",
    "where",
    "join",
    "with",
    "limit",
    "for",
    "every",
    "hub",
    "id",
    "per",
    "like",
    "apply",
    *CLAUSES,
)
"""Words by which a statement may go on."""


def _statement(c: Cursor) -> Statement:
    place = Place(c.text, c.at)
    read = _STATEMENTS.get(c.words[c.at])
    if read is not None:
        c.at += 1
        return read(c, place)
    if begins_query(c):
        return select(c, place)
    raise c.unknown("the beginning of a statement", tuple(_STATEMENTS))


def _explain(c: Cursor, place: Place) -> Explain | ExplainPlan | ExplainJoins:
    """`explain create feed …`, `explain from …`, `explain feed N`, `explain plan [S]`, `explain joins [N]`."""
    start = c.at
    if c.accept("joins"):
        return ExplainJoins("" if c.words[c.at] in _ENDS else name(c, "the name of a feed"), place)
    if c.accept("plan"):
        return ExplainPlan("" if c.words[c.at] in _ENDS else name(c, "the name of a source"), place)
    if c.accept("feed"):
        return Explain(Ask(Query(Named(name(c))), place), place)
    c.enter()
    inner = _statement(c)
    c.leave()
    if not isinstance(inner, (Ask, CreateFeed)):
        expected = ("create feed …", "from …", "feed NAME", "plan", "joins")
        raise c.error("only queries have a plan", at=start, expected=expected)
    return Explain(inner, place)


def _alter(c: Cursor, place: Place) -> AlterFeed | AlterSubscription:
    return alter_subscription(c, place) if _kind(c) == "subscription" else alter_feed(c, place)


def _drop(c: Cursor, place: Place) -> DropFeed | DropSubscription:
    return drop_subscription(c, place) if _kind(c) == "subscription" else drop_feed(c, place)


def _kind(c: Cursor) -> str:
    word = c.words[c.at]
    if word in ("feed", "source") or word == "subscription":
        c.at += 1
        return "subscription" if word == "subscription" else "feed"
    raise c.unknown("a feed or a subscription", ("feed", "subscription"))


_STATEMENTS: dict[str, Callable[[Cursor, Place], Statement]] = {
    "register": register,
    "create": create,
    "subscribe": subscribe,
    "from": ask,
    "alter": _alter,
    "drop": _drop,
    "describe": describe,
    "show": show,
    "define": define,
    "explain": _explain,
}
"""By its first word the reader of each statement."""


def format_statement(statement: Statement) -> str:
    """A statement without its `;`: `parse(format_statement(s)) == (s,)`."""
    return STATEMENT_KINDS[type(statement)].text(statement)


def check(statement: Statement, names: Names) -> None:
    """Refuse a statement that names what does not exist, or would make a feed depend on itself."""
    STATEMENT_KINDS[type(statement)].check(statement, names)


STATEMENT_KINDS: dict[type, StatementKind] = {
    **FEED_STATEMENTS,
    **SUBSCRIPTION_STATEMENTS,
    **QUESTION_STATEMENTS,
    Explain: StatementKind(
        lambda statement: f"explain {format_statement(statement.statement)}",
        lambda statement, names: check(statement.statement, names),
    ),
}
"""Every kind of statement. `service/execution` carries them out."""

__all__ = [
    "SHOWN",
    "STATEMENT_KINDS",
    "AlterFeed",
    "AlterSubscription",
    "Ask",
    "CreateFeed",
    "DefineWindow",
    "Describe",
    "DropFeed",
    "DropSubscription",
    "Explain",
    "ExplainJoins",
    "ExplainPlan",
    "RegisterFeed",
    "Show",
    "Shown",
    "Statement",
    "Subscribe",
    "check",
    "format_statement",
    "parse",
]
