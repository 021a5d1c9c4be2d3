"""Conditions on values: comparisons, lists, ranges, and whether there is a value."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import cast

from feedweir.items.attributes import AttributeType
from feedweir.language.predicates import And, Compare, Comparison, DatePart, Now, Or, Predicate, Value
from feedweir.language.subjects import PARTS, Subject, fail_operator
from feedweir.language.tokens import Cursor, unquoted
from feedweir.language.values import is_number, moment, number

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
WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")


def compare(c: Cursor, about: Subject, op: Comparison) -> Predicate:
    if about.attribute is None or about.type is AttributeType.HTML:
        fail_operator(c, about)
    c.at += 1
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
    value_of_part = number(c)
    _check_part(c, part, value_of_part, start)
    return value_of_part


def _check_part(c: Cursor, part: DatePart, value: float, at: int) -> None:
    low, high = PARTS[part]
    if not low <= value <= high:
        hint = "Monday is 0; the names of the days also work" if part == "weekday" else ""
        raise c.error(f"a {part} lies between {low} and {high}", at=at, hint=hint)


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
        raise c.error(
            f"{c.seen()} is not a list or a range", expected=("a list `('a', 'b')`", "a range `1988..2000`")
        )
    if about.type not in (AttributeType.NUMBER, AttributeType.TIME) or about.part == "date":
        raise c.error(
            "a range is for numbers and the parts of dates", hint=f"write `published.year in {low}..{high}`"
        )
    if about.type is AttributeType.TIME and about.part is None:
        raise c.error("a date cannot be a number", hint=f"write `{about.attribute}.year in {low}..{high}`")
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
