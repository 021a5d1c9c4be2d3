"""Conditions on values: comparisons, lists, ranges, whether there is a value; on links; on where an item came from."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import cast

from feedweir.errors import near
from feedweir.items.attributes import AttributeType
from feedweir.language.literals import COMPARISONS, format_name, format_value, is_number, moment, name, number
from feedweir.language.subjects import PARTS, Subject, fail_operator, format_about
from feedweir.language.tokens import Cursor, quoted, unquoted
from feedweir.plan.predicates import (
    And,
    Compare,
    Comparison,
    DatePart,
    Extends,
    FromFeeds,
    Now,
    Or,
    Predicate,
    References,
    SharesLink,
    Value,
)

WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")


def compare(c: Cursor, about: Subject) -> Predicate:
    """`= 'a'`, `< 3`, `>= now - 2 days`; the sign has been read."""
    if about.attribute is None or about.type is AttributeType.HTML:
        c.at -= 1
        fail_operator(c, about)
    op = COMPARISONS[c.words[c.at - 1]]
    value, part = _value(c, about, op)
    return Compare(about.attribute, op, value, part)


def _value(c: Cursor, about: Subject, op: Comparison) -> tuple[Value, DatePart | None]:
    """An operand of the attribute's type. A date alone, tested for equality, means the whole day."""
    if about.type is AttributeType.TIME:
        if about.part is None:
            value, is_date = moment(c)
            return value, "date" if is_date and op in ("=", "!=") else None
        return _part_value(c, about.part), about.part
    if c.is_string() and about.type is not AttributeType.NUMBER:
        c.at += 1
        return unquoted(c.tokens[c.at - 1]), None
    token = c.tokens[c.at]
    if about.type is AttributeType.NUMBER or (
        ":" in (about.attribute or "") and (is_number(token) or token == "-")
    ):
        return number(c), None
    if "://" in token and about.type is AttributeType.LINK:
        c.at += 1
        return token, None
    return c.string(f"a quoted text to compare `{about.attribute}` with"), None


def _part_value(c: Cursor, part: DatePart) -> float | datetime | Now:
    if part == "date":
        value, _ = moment(c)
        return (
            value.replace(hour=0, minute=0, second=0, microsecond=0) if isinstance(value, datetime) else value
        )
    start = c.at
    if part == "weekday" and c.words[c.at].strip("'\"") in WEEKDAYS:
        c.at += 1
        return float(WEEKDAYS.index(c.words[c.at - 1].strip("'\"")))
    meant = near(c.words[c.at], WEEKDAYS) if part == "weekday" else ""
    if meant:
        raise c.missing("a day of the week", hint=meant)
    value_of_part = number(c)
    _check_part(c, part, value_of_part, start)
    return value_of_part


def _check_part(c: Cursor, part: DatePart, value: float, at: int) -> None:
    low, high = PARTS[part]
    if not low <= value <= high:
        hint = "Monday is 0; day names work, too" if part == "weekday" else ""
        raise c.error(
            f"{'an' if part == 'hour' else 'a'} {part} must be between {low} and {high}", at=at, hint=hint
        )


def one_of(c: Cursor, about: Subject) -> Predicate:
    """`in ('a', 'b')`, or `in 1988..2000` for numbers and dates."""
    if about.attribute is None or about.type is AttributeType.HTML:
        c.at -= 1
        fail_operator(c, about)
    if c.accept("("):
        parts = [_equals(c, about)]
        while c.accept(","):
            parts.append(_equals(c, about))
        c.expect(")")
        return Or(tuple(parts)) if len(parts) > 1 else parts[0]
    low, dots, high = c.tokens[c.at].partition("..")
    if not dots or not is_number(low) or not is_number(high):
        raise c.missing("a list or a range", expected=("a list `('a', 'b')`", "a range `1988..2000`"))
    if about.type not in (AttributeType.NUMBER, AttributeType.TIME) or about.part == "date":
        raise c.error(
            "only numbers and parts of dates have ranges", hint=f"write `published.year in {low}..{high}`"
        )
    if about.type is AttributeType.TIME and about.part is None:
        raise c.error(
            "a date cannot be compared with numbers", hint=f"write `{about.attribute}.year in {low}..{high}`"
        )
    if about.part is not None:
        _check_part(c, about.part, float(low), c.at)
        _check_part(c, about.part, float(high), c.at)
    c.at += 1
    return _range(about, float(low), float(high))


def _equals(c: Cursor, about: Subject) -> Predicate:
    value, part = _value(c, about, "=")
    return Compare(cast(str, about.attribute), "=", value, part)


def _range(about: Subject, low: Value, high: Value) -> Predicate:
    name = cast(str, about.attribute)
    return And((Compare(name, ">=", low, about.part), Compare(name, "<=", high, about.part)))


def between(c: Cursor, about: Subject) -> Predicate:
    """`between a and b`, both included."""
    if about.attribute is None or about.type is AttributeType.HTML:
        c.at -= 1
        fail_operator(c, about)
    low, _ = _value(c, about, ">=")
    c.expect("and")
    high, _ = _value(c, about, "<=")
    return _range(about, low, high)


_EVER = datetime.min.replace(tzinfo=UTC)


def exists(c: Cursor, about: Subject) -> Predicate:
    """There is a value: every value is at least the smallest one."""
    if about.attribute is None or about.part is not None or about.type is AttributeType.NUMBER:
        c.at -= 1
        fail_operator(c, about)
    return Compare(about.attribute, ">=", _EVER if about.type is AttributeType.TIME else "")


def format_compare(atom: Compare) -> str:
    subject = f"{atom.attribute}.{atom.part}" if atom.part else atom.attribute
    return f"{subject} {atom.op} {format_value(atom.value, atom.part)}"


# Links


def _link_operand(c: Cursor, about: Subject) -> str:
    if about.attribute is not None and about.type is not AttributeType.LINK:
        c.at -= 1
        fail_operator(c, about)
    token = c.tokens[c.at]
    if "://" in token and not c.is_string():
        c.at += 1
        return token
    start = c.at
    url = c.string("a URL or a host").strip()
    if not url or any(character.isspace() for character in url):
        raise c.error("this is not a URL", at=start, expected=("a URL or a host",))
    return url


def references(c: Cursor, about: Subject) -> References:
    return References(about.attribute, _link_operand(c, about))


def extends(c: Cursor, about: Subject) -> Extends:
    return Extends(about.attribute, _link_operand(c, about))


def shares_link(c: Cursor, about: Subject) -> SharesLink:
    """`shares-link ('http://a', 'http://b')`."""
    if not c.accept("("):
        return SharesLink(about.attribute, (_link_operand(c, about),))
    urls = [_link_operand(c, about)]
    while c.accept(","):
        urls.append(_link_operand(c, about))
    c.expect(")")
    return SharesLink(about.attribute, tuple(urls))


def format_references(atom: References) -> str:
    return format_about(atom.attribute, f"references {quoted(atom.url)}")


def format_extends(atom: Extends) -> str:
    return format_about(atom.attribute, f"extends {quoted(atom.url)}")


def format_shares_link(atom: SharesLink) -> str:
    return format_about(atom.attribute, f"shares-link ({', '.join(map(quoted, atom.urls))})")


# Sources


def from_feeds(c: Cursor) -> FromFeeds:
    """`from (A | B)`: the item came from one of these sources."""
    c.at += 1
    if not c.accept("("):
        return FromFeeds((name(c),))
    names = [name(c)]
    while c.accept("|") or c.accept(","):
        names.append(name(c))
    c.expect(")")
    return FromFeeds(tuple(names))


def format_from_feeds(atom: FromFeeds) -> str:
    return f"from ({' | '.join(map(format_name, atom.names))})"
