"""Text to statements."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from feedweir.errors import LanguageError
from feedweir.language.conditions import predicate
from feedweir.language.manage import alter, define, describe, drop, show
from feedweir.language.predicates import Predicate
from feedweir.language.roses import create, query, register, subscribe
from feedweir.language.select import begins_query, select
from feedweir.language.statements import Ask, CreateFeed, Explain, ExplainPlan, Named, Place, Query, Statement
from feedweir.language.suggest import near
from feedweir.language.tokens import Cursor
from feedweir.language.values import name


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


def parse_each(text: str) -> Iterator[Statement | LanguageError]:
    """The statements of a script, an error in the place of each that cannot be read."""
    c = Cursor(text)
    while c.words[c.at]:
        if c.accept(";"):
            continue
        try:
            yield _whole_statement(c)
        except LanguageError as error:
            yield error
            c.depth, c.is_inside = 0, False
            while c.words[c.at] not in _ENDS:
                c.at += 1


def _whole_statement(c: Cursor) -> Statement:
    found = _statement(c)
    if c.words[c.at] not in _ENDS:
        raise c.error(f"{c.seen()} is not expected here", expected=("`;` and the next statement", "the end"))
    return found


def parse_predicate(text: str) -> Predicate:
    """One predicate by itself, as it would stand in `$r[…]`."""
    c = Cursor(text)
    found = predicate(c)
    if c.words[c.at]:
        raise c.error(f"{c.seen()} is not expected here", expected=("`and`", "`or`", "the end"))
    return found


_ENDS = frozenset((";", ""))


def _statement(c: Cursor) -> Statement:
    place = Place(c.text, c.at)
    read = _STATEMENTS.get(c.words[c.at])
    if read is not None:
        c.at += 1
        return read(c, place)
    if begins_query(c):
        return select(c, place)
    raise c.error(
        f"{c.seen()} does not begin a statement",
        expected=tuple(_STATEMENTS),
        hint=near(c.words[c.at], _STATEMENTS),
    )


def _ask(c: Cursor, place: Place) -> Ask:
    c.at -= 1
    return Ask(query(c), place)


def _explain(c: Cursor, place: Place) -> Explain | ExplainPlan:
    """`explain create feed …`, `explain from …`, `explain feed N`, `explain plan [S]`."""
    start = c.at
    if c.accept("plan"):
        return ExplainPlan("" if c.words[c.at] in _ENDS else name(c, "the name of a source"), place)
    if c.accept("feed"):
        return Explain(Ask(Query(Named(name(c))), place), place)
    c.enter()
    inner = _statement(c)
    c.leave()
    if not isinstance(inner, (Ask, CreateFeed)):
        expected = ("create feed …", "from …", "feed NAME", "plan")
        raise c.error("only queries have a plan", at=start, expected=expected)
    return Explain(inner, place)


_STATEMENTS: dict[str, Callable[[Cursor, Place], Statement]] = {
    "register": register,
    "create": create,
    "subscribe": subscribe,
    "from": _ask,
    "alter": alter,
    "drop": drop,
    "describe": describe,
    "show": show,
    "define": define,
    "explain": _explain,
}
