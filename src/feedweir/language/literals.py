"""Literals: numbers, dates, lengths of time, names; read and printed."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

from feedweir.errors import near
from feedweir.language.tokens import Cursor, is_plain_name, quoted, unquoted
from feedweir.plan.nodes import EVERY_SOURCE
from feedweir.plan.predicates import Comparison, Now, Value
from feedweir.plan.window_lengths import (
    COUNTS,
    UNITS,
    LastItems,
    TimeSpan,
    WindowSpec,
    format_length,
    length_of,
)

_DATE = re.compile(r"\d{4}-\d{1,2}-\d{1,2}$")
_NUMBER = re.compile(r"[0-9]+(?:\.[0-9]+)?(?:[eE][0-9]+|[eE]-[0-9]+)?$")

_RESERVED = (
    "alter and apply as at create define describe drop every exists explain feed from graph in join last not now"
    " of on or output path register replace search select show subscribe subscription to where window with"
    " xscl true false"
)
RESERVED = frozenset(_RESERVED.split())
"""Words that cannot be names without quotes."""


COMPARISONS: dict[str, Comparison] = {
    "=": "=",
    "==": "=",
    "!=": "!=",
    "<>": "!=",
    "<": "<",
    "<=": "<=",
    ">": ">",
    ">=": ">=",
}
"""The signs of comparisons, as they are written."""


def is_number(token: str) -> bool:
    return _NUMBER.match(token) is not None


def number(c: Cursor) -> float:
    """A number, perhaps with a sign."""
    sign = -1.0 if c.accept("-") else 1.0
    token = c.tokens[c.at]
    value = float(token) if _NUMBER.match(token) else float("inf")
    if value == float("inf"):
        raise c.missing("a number", expected=("a number",))
    c.at += 1
    return sign * value


def count(c: Cursor, what: str) -> int:
    """A whole number that is not negative."""
    token = c.tokens[c.at]
    if not (token.isascii() and token.isdigit() and len(token) < 10):
        raise c.missing(f"{what}", expected=(what,))
    c.at += 1
    return int(token)


def length(c: Cursor) -> timedelta:
    """`3 hours`; `every hour` may leave out the 1."""
    token = "1" if c.words[c.at] in UNITS else c.tokens[c.at]
    if token is c.tokens[c.at]:
        if not is_number(token):
            raise c.missing("a length of time", expected=("a number and a unit, as in `3 hours`",))
        c.at += 1
    unit = c.words[c.at]
    if unit not in UNITS:
        raise c.unknown("a unit of time", tuple(f"{name}s" for name in _UNIT_NAMES))
    found = length_of(token, unit)
    if found is None:
        raise c.error("this time is too long", at=c.at - 1, hint="at most 1000 years")
    c.at += 1
    return found


_UNIT_NAMES = ("second", "minute", "hour", "day", "week", "month", "year")


def window(c: Cursor) -> WindowSpec:
    """`3 months`, `50 items`, or a name that `define window` gave."""
    token = c.tokens[c.at]
    known = c.windows.get(token)
    if known is not None:
        c.at += 1
        return known
    if c.words[c.at + 1] in COUNTS if token else False:
        start = c.at
        number_of_items = count(c, "a number of items")
        c.at += 1
        if not number_of_items:
            raise c.error("a window of 0 items is always empty", at=start, expected=("1 item or more",))
        return LastItems(number_of_items)
    if not is_number(token) and c.words[c.at] not in UNITS:
        raise c.missing(
            "a window",
            expected=("a length of time, as in `30 days`", "a number of items, as in `50 items`"),
            hint=near(token, c.windows) or f"`define window {token} as 30 days;` gives a window a name"
            if token.isalnum()
            else "",
        )
    start = c.at
    found = length(c)
    if not found:
        raise c.error("a window of length 0 is always empty", at=start)
    return TimeSpan(found)


def moment(c: Cursor) -> tuple[datetime | Now, bool]:
    """A date, a date with a time, or `now ± length`; and whether it was a date alone."""
    token = c.tokens[c.at]
    if c.words[c.at][:3] == "now" and token[3:4] in ("", "-"):
        return now(c), False
    text = unquoted(token) if c.is_string() else token
    found = time_of(text)
    if found is None:
        raise c.missing(
            "a date",
            expected=("a date, as in `2020-11-03` or `'2020-11-03 14:30'`", "`now - 2 days`"),
        )
    c.at += 1
    return found, _DATE.match(text.strip()) is not None


def now(c: Cursor) -> Now:
    """`now`, `now - 2 days`; `now-2` is one token."""
    close = c.tokens[c.at][4:]
    if close:
        c.tokens[c.at] = c.words[c.at] = close
        return Now(-length(c))
    c.at += 1
    if c.accept("-"):
        return Now(-length(c))
    return Now(length(c)) if c.accept("+") else Now()


def time_of(text: str) -> datetime | None:
    """A moment as people and ISO 8601 write it; without a zone it is UTC."""
    text = text.strip()
    if not text[:4].isdigit() or not text.isascii():
        return None
    if _DATE.match(text):
        text = "-".join(part.zfill(2) for part in text.split("-"))
    try:
        found = datetime.fromisoformat(text)
        return found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def name(c: Cursor, what: str = "the name of a feed") -> str:
    """A name: a word that is not reserved, or anything between quotes."""
    token = c.tokens[c.at]
    if token.isidentifier() and c.words[c.at] not in RESERVED:
        c.at += 1
        return token
    if c.is_string():
        found = unquoted(token)
        if not found.strip():
            raise c.error("a name cannot be empty", expected=(what,))
        c.at += 1
        return found
    if not (token[:1].isalnum() or token[:1] == "_") or "://" in token:
        raise c.missing(f"{what}", expected=(what,))
    if c.words[c.at] in RESERVED:
        raise c.error(
            f"`{token}` is a reserved word",
            expected=(what,),
            hint=f"quote it to use it as a name: '{token}'",
        )
    c.at += 1
    return token


def variable(c: Cursor) -> str:
    """`$name`, without the sign."""
    token = c.tokens[c.at]
    if token[:1] != "$" or len(token) < 2:
        raise c.missing("a variable", expected=("a variable, as in `$r`",))
    c.at += 1
    return token[1:]


# Printing


def format_value(value: Value, part: str | None = None) -> str:
    """A literal."""
    match value:
        case str():
            return quoted(value)
        case datetime() if part == "date":
            return value.strftime("%Y-%m-%d").zfill(10)
        case datetime():
            return quoted(value.isoformat().replace("+00:00", "Z"))
        case Now(offset) if offset == timedelta():
            return "now"
        case Now(offset):
            return f"now {'-' if offset < timedelta() else '+'} {format_length(abs(offset))}"
        case _:
            return format_number(value)


def format_number(value: float) -> str:
    """Without a useless `.0`."""
    return (
        str(int(value))
        if float(value).is_integer() and abs(value) < 1e16
        else repr(float(value)).replace("e+", "e")
    )


def format_name(name: str) -> str:
    """A feed's name, between quotes when it needs them."""
    if name == EVERY_SOURCE:
        return name
    return name if is_plain_name(name) and name.lower() not in RESERVED else quoted(name)
