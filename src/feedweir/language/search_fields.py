"""The fields of the search box: `site:`, `lang:`, `year:`, …"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Protocol, cast

from feedweir.errors import LanguageError
from feedweir.items.links import is_host
from feedweir.language.literals import is_number, time_of
from feedweir.language.subjects import PARTS
from feedweir.plan.predicates import (
    And,
    Compare,
    Comparison,
    DatePart,
    Extends,
    FromFeeds,
    Or,
    Predicate,
    References,
)


class Box(Protocol):
    """The search that a field stands in, for its errors."""

    at: int

    def error(self, message: str, *, at: int | None = None, hint: str = "") -> LanguageError: ...


TEXT_FIELDS = {
    "intitle": "title",
    "title": "title",
    "allintitle": "title",
    "insummary": "summary",
    "summary": "summary",
    "description": "summary",
    "intext": "content",
    "content": "content",
    "author": "author",
    "inauthor": "author",
    "tag": "category",
    "label": "category",
    "category": "category",
    "inurl": "link",
    "source": "source",
}
"""Fields whose words are looked for in an attribute."""


def site(box: Box, name: str, value: str) -> Predicate:
    _check_url(box, name, value)
    return Extends("link", value)


def link(box: Box, name: str, value: str) -> Predicate:
    _check_url(box, name, value)
    return References(None, value) if is_host(value) else Extends(None, value)


def _check_url(box: Box, name: str, value: str) -> None:
    if not value or any(character.isspace() for character in value):
        raise box.error(f"`{value}` is not a URL or host", at=box.at - 1, hint=f"{name}:example.org")


def feed(box: Box, name: str, value: str) -> Predicate:
    if not value.strip():
        raise box.error(f"`{name}:` needs the name of a source", at=box.at - 1)
    return FromFeeds((value,))


def language(box: Box, _: str, value: str) -> Predicate:
    """`en` is also `en-gb`: all that lies between `en-` and the next sign."""
    exact = Compare("language", "=", value)
    if "-" in value:
        return exact
    regional = And((Compare("language", ">=", f"{value}-"), Compare("language", "<", f"{value}.")))
    return Or((exact, regional))


def ranged(box: Box, name: str, value: str) -> Predicate:
    """`year:2000`, `year:1988..2000`, `year:1988..`; the same for months, days and dates."""
    low, dots, high = value.partition("..")
    bounds: list[tuple[Comparison, str]] = [("=", low)] if not dots else []
    bounds += [(">=", low)] if dots and low else []
    bounds += [("<=", high)] if dots and high else []
    parts = tuple(_bound(box, name, op, text) for op, text in bounds)
    if not parts:
        raise box.error(f"`{name}:` needs a value", hint=f"{name}:1988..2000")
    return And(parts) if len(parts) > 1 else parts[0]


def _bound(box: Box, name: str, op: Comparison, text: str) -> Predicate:
    if name == "date":
        day = _date(box, text).replace(hour=0, minute=0, second=0, microsecond=0)
        return Compare("published", op, day, "date")
    part = cast(DatePart, name)
    if not is_number(text) or not PARTS[part][0] <= float(text) <= PARTS[part][1]:
        raise box.error(f"`{text}` is not a {name}", at=box.at - 1, hint=f"{name}:5 or {name}:1..7")
    return Compare("published", op, float(text), part)


def before(box: Box, _: str, value: str) -> Predicate:
    return Compare("published", "<", _date(box, value))


def after(box: Box, _: str, value: str) -> Predicate:
    return Compare("published", ">=", _date(box, value))


def _date(box: Box, text: str) -> datetime:
    found = time_of(text)
    if found is None:
        raise box.error(f"`{text}` is not a date", at=box.at - 1, hint="write it as 2020-11-03")
    return found


FIELDS: dict[str, Callable[[Box, str, str], Predicate]] = {
    "site": site,
    "link": link,
    "links": link,
    "lang": language,
    "language": language,
    "feed": feed,
    "year": ranged,
    "month": ranged,
    "day": ranged,
    "date": ranged,
    "before": before,
    "after": after,
    "since": after,
}
