"""Predicates reduced to boolean formulas over atoms; the words of a predicate meet the analyser here."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from math import ceil, floor, isfinite
from typing import Literal, TypeAlias

from feedweir.items.attributes import SYNONYMS, Attribute, AttributeType, attribute_named
from feedweir.items.links import canonical_url, host_of, is_host
from feedweir.items.text import fold, words
from feedweir.match.atoms import (
    LONG_MAX,
    LONG_MIN,
    Ask,
    Axis,
    Equal,
    EqualNumber,
    Leaf,
    Link,
    Ordered,
    Origin,
    Phrase,
    Prefix,
    Tree,
    Within,
    Word,
)
from feedweir.match.meaning import part_of, term_words
from feedweir.match.orders import exact_number, number_bounds
from feedweir.match.trees import fits
from feedweir.plan.predicates import (
    And,
    AtLeast,
    Compare,
    Contains,
    Extends,
    FromFeeds,
    GraphPattern,
    Not,
    Now,
    Or,
    Predicate,
    References,
    SharesLink,
    Similar,
    Term,
    TreePattern,
)

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class All:
    """All of the parts; without parts, true."""

    parts: tuple[Formula, ...]


@dataclass(frozen=True, slots=True)
class AnyOf:
    """One of the parts; without parts, false."""

    parts: tuple[Formula, ...]


@dataclass(frozen=True, slots=True)
class Without:
    """Not the part."""

    part: Formula


@dataclass(frozen=True, slots=True)
class Count:
    """At least `least` of the parts, where 1 < `least` < number of parts."""

    least: int
    parts: tuple[Formula, ...]


Formula: TypeAlias = All | AnyOf | Without | Count | Leaf

YES = All(())
NO = AnyOf(())


def reduced(predicate: Predicate) -> Formula:
    """A predicate over atoms, with the same meaning."""
    match predicate:
        case And(parts):
            return all_of(map(reduced, parts))
        case Or(parts):
            return any_of(map(reduced, parts))
        case Not(part):
            return negated(reduced(part))
        case AtLeast(count, parts):
            return count_of(count, map(reduced, parts))
        case Contains(attribute, (term,), 1):
            return _term(scope_of(attribute), term)
        case Contains(attribute, terms, at_least):
            return count_of(at_least, (_term(scope_of(attribute), term) for term in terms))
        case Compare():
            return _comparison(predicate)
        case Similar():
            return _similar(predicate)
        case References() | Extends() | SharesLink():
            return _linked(predicate)
        case FromFeeds(names):
            return Origin(tuple(sorted(set(names)))) if names else NO
        case TreePattern():
            return Tree(predicate) if fits(predicate) else Ask(predicate)
        case GraphPattern():
            return Ask(predicate)


# Building: each keeps formulas flat and without constants inside


def all_of(parts: Iterable[Formula]) -> Formula:
    flat = _flat(parts, All)
    if any(type(part) is Within for part in flat):
        flat = _intersected(flat)
    return NO if NO in flat else flat[0] if len(flat) == 1 else All(flat)


def any_of(parts: Iterable[Formula]) -> Formula:
    flat = _flat(parts, AnyOf)
    return YES if YES in flat else flat[0] if len(flat) == 1 else AnyOf(flat)


def negated(part: Formula) -> Formula:
    """Negation goes down to the leaves, so that what is left under it is one atom or one count."""
    match part:
        case Without(inner):
            return inner
        case All(parts):
            return any_of(map(negated, parts))
        case AnyOf(parts):
            return all_of(map(negated, parts))
        case _:
            return Without(part)


def count_of(least: int, parts: Iterable[Formula]) -> Formula:
    """Equal parts count as often as they stand there."""
    given = tuple(parts)
    least -= sum(part == YES for part in given)
    open_parts = tuple(part for part in given if part not in (YES, NO))
    if least <= 0:
        return YES
    if least > len(open_parts):
        return NO
    if least == 1:
        return any_of(open_parts)
    return all_of(open_parts) if least == len(open_parts) else Count(least, open_parts)


def leaves_of(formula: Formula) -> Iterator[Leaf]:
    match formula:
        case All(parts) | AnyOf(parts) | Count(_, parts):
            for part in parts:
                yield from leaves_of(part)
        case Without(part):
            yield from leaves_of(part)
        case _:
            yield formula


def placed(formula: Formula, place: Callable[[Ordered], Formula]) -> Formula:
    """A formula with something else for its comparisons of texts."""
    match formula:
        case All(parts):
            return all_of(placed(part, place) for part in parts)
        case AnyOf(parts):
            return any_of(placed(part, place) for part in parts)
        case Count(least, parts):
            return count_of(least, (placed(part, place) for part in parts))
        case Without(part):
            return negated(placed(part, place))
        case Ordered():
            return place(formula)
        case _:
            return formula


def _flat(parts: Iterable[Formula], kind: type[All] | type[AnyOf]) -> tuple[Formula, ...]:
    seen: dict[Formula, None] = {}
    for part in parts:
        for inner in part.parts if isinstance(part, kind) else (part,):
            seen[inner] = None
    return tuple(seen)


def _intersected(parts: tuple[Formula, ...]) -> tuple[Formula, ...]:
    """Bounds on one axis become one interval: an item has at most one number there."""
    bounds: dict[Axis, Within] = {}
    for part in parts:
        if isinstance(part, Within):
            known = bounds.get(part.axis, part)
            bounds[part.axis] = Within(part.axis, max(known.low, part.low), min(known.high, part.high))
    others = tuple(part for part in parts if not isinstance(part, Within))
    return others + tuple(_interval(bound.axis, bound.low, bound.high) for bound in bounds.values())


# Leaves


def scope_of(attribute: str | None) -> str | None:
    """Where words of an attribute are looked for; None is the whole text."""
    return None if attribute is None else SYNONYMS.get(attribute, attribute)


def _linked(predicate: References | Extends | SharesLink) -> Formula:
    attribute = attribute_named(predicate.attribute or "links")
    if attribute is None:
        return NO
    if attribute.type in (AttributeType.TIME, AttributeType.NUMBER):
        return Ask(predicate)
    match predicate:
        case References(_, url) if is_host(url):
            return Link(attribute.name, "host", host_of(url))
        case References(_, url):
            return Link(attribute.name, "url", canonical_url(url))
        case Extends(_, url) if is_host(url):
            return Link(attribute.name, "domain", host_of(url))
        case Extends(_, url):
            return Link(attribute.name, "opening", canonical_url(url))
        case SharesLink(_, urls):
            named = sorted({canonical_url(url) for url in urls})
            return any_of(Link(attribute.name, "url", url) for url in named)


def _term(scope: str | None, term: Term) -> Formula:
    wanted = term_words(term)
    if not wanted or not has_text(scope):
        return NO
    if len(wanted) > 1:
        return Phrase(scope, wanted, term.is_prefix)
    return Prefix(scope, wanted[0]) if term.is_prefix else Word(scope, wanted[0])


def has_text(scope: str | None) -> bool:
    """Whether there are words in it."""
    attribute = attribute_named(scope) if scope is not None else None
    return scope is None or (
        attribute is not None and attribute.type not in (AttributeType.TIME, AttributeType.NUMBER)
    )


def _similar(predicate: Similar) -> Formula:
    """|A ∩ B| ≥ threshold · |A ∪ B| needs threshold · |B| of the words of B: a count, and then the real question."""
    wanted = sorted(set(words(predicate.text)))
    scope = scope_of(predicate.attribute)
    least = ceil(predicate.threshold * len(wanted) - 1e-9) if predicate.threshold > 0 else 0
    if least > 0 and not has_text(scope):
        return NO
    return all_of((count_of(least, (Word(scope, word) for word in wanted)), Ask(predicate)))


def _comparison(predicate: Compare) -> Formula:
    attribute = attribute_named(predicate.attribute)
    if predicate.op == "!=":
        return negated(_comparison(Compare(predicate.attribute, "=", predicate.value, predicate.part)))
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
    """Of texts that read as numbers."""
    if value != value:  # whole numbers beyond all floats have no `isnan`
        return NO
    if op == "=":
        number = exact_number(value)
        return NO if number is None else EqualNumber(attribute.name, number)
    return _interval(_end_axis(attribute, op, "number"), *number_bounds(op, value))


def _end_axis(attribute: Attribute, op: str, reading: Literal["number", "text"]) -> Axis:
    """Where a bound of an attribute's values lies; of at most one value both ends are the same."""
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
    """The whole numbers that compare so with a value."""
    if not isinstance(value, (int, float)) or value != value:
        return NO
    if isinstance(value, float) and not isfinite(value):
        is_above = value > 0
        holds_of_all = op in ("<", "<=") if is_above else op in (">", ">=")
        return Within(axis) if holds_of_all else NO
    match op:
        case "=":
            return _interval(axis, int(value), int(value)) if value == floor(value) else NO
        case "<":
            return _interval(axis, LONG_MIN, ceil(value) - 1)
        case "<=":
            return _interval(axis, LONG_MIN, floor(value))
        case ">":
            return _interval(axis, floor(value) + 1, LONG_MAX)
        case _:
            return _interval(axis, ceil(value), LONG_MAX)


def _interval(axis: Axis, low: int, high: int) -> Formula:
    low, high = max(low, LONG_MIN), min(high, LONG_MAX)
    return Within(axis, low, high) if low <= high else NO
