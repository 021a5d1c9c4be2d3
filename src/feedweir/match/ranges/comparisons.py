"""Comparisons as formulas: equality with a value, intervals of numbers and times, places among texts."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from math import ceil, floor, isfinite
from typing import Literal

from feedweir.items.attributes import Attribute, AttributeType, attribute_named
from feedweir.match.atoms import LONG_MAX, LONG_MIN, Ask, Axis, Ordered, Within
from feedweir.match.formula import NO, Formula, interval, negated
from feedweir.match.meaning.item_meaning import part_of
from feedweir.match.ranges.value_order import exact_number, number_bounds
from feedweir.match.values.value_family import Equal, EqualNumber
from feedweir.plan.predicates import Compare, Now
from feedweir.text.analyser import fold

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def comparison_formula(predicate: Compare) -> Formula:
    attribute = attribute_named(predicate.attribute)
    if predicate.op == "!=":
        return negated(comparison_formula(Compare(predicate.attribute, "=", predicate.value, predicate.part)))
    if attribute is None:
        return NO
    if attribute.type is AttributeType.TIME:
        return _time_comparison(attribute.name, predicate)
    if attribute.type is AttributeType.NUMBER:
        is_number = isinstance(predicate.value, (int, float))
        return _bounded(Axis(attribute.name), predicate.op, predicate.value) if is_number else NO
    if isinstance(predicate.value, str):
        return _text_comparison(attribute, predicate.op, fold(predicate.value))
    is_number = isinstance(predicate.value, (int, float))
    return _number_comparison(attribute, predicate.op, predicate.value) if is_number else NO  # type: ignore[arg-type]


def _text_comparison(attribute: Attribute, op: str, text: str) -> Formula:
    return Equal(attribute.name, text) if op == "=" else Ordered(_end_axis(attribute, op, "text"), op, text)


def _number_comparison(attribute: Attribute, op: str, value: float) -> Formula:
    """A comparison with texts that read as numbers."""
    if value != value:  # whole numbers beyond all floats have no `isnan`
        return NO
    if op == "=":
        number = exact_number(value)
        return NO if number is None else EqualNumber(attribute.name, number)
    return interval(_end_axis(attribute, op, "number"), *number_bounds(op, value))


def _end_axis(attribute: Attribute, op: str, reading: Literal["number", "text"]) -> Axis:
    """The axis of the value that decides a bound: the least for upper bounds of several values, else the greatest."""
    is_upper = op in ("<", "<=")
    end: Literal["greatest", "least"] = "least" if is_upper and attribute.is_multiple else "greatest"
    return Axis(attribute.name, reading=reading, end=end)


def _time_comparison(name: str, predicate: Compare) -> Formula:
    value, part = predicate.value, predicate.part
    if isinstance(value, Now):
        relative = Axis(name, is_relative=True)
        return Ask(predicate) if part else _bounded(relative, predicate.op, value.offset // _MICROSECOND)
    if isinstance(value, datetime):
        value = part_of(value, part) if part else value
        bound = microseconds(value) if isinstance(value, datetime) else value
        return _bounded(Axis(name, part), predicate.op, bound)
    return _bounded(Axis(name, part), predicate.op, value) if part not in (None, "date") else NO


def microseconds(time: datetime) -> int:
    return (time - _EPOCH) // _MICROSECOND


def _bounded(axis: Axis, op: str, value: object) -> Formula:
    """The interval of the whole numbers that compare so with a value."""
    if not isinstance(value, (int, float)) or value != value:
        return NO
    if isinstance(value, float) and not isfinite(value):
        is_above = value > 0
        holds_of_all = op in ("<", "<=") if is_above else op in (">", ">=")
        return Within(axis) if holds_of_all else NO
    match op:
        case "=":
            return interval(axis, int(value), int(value)) if value == floor(value) else NO
        case "<":
            return interval(axis, LONG_MIN, ceil(value) - 1)
        case "<=":
            return interval(axis, LONG_MIN, floor(value))
        case ">":
            return interval(axis, floor(value) + 1, LONG_MAX)
        case _:
            return interval(axis, ceil(value), LONG_MAX)
