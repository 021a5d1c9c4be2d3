"""Boolean formulas over atoms and conditions, kept flat and without constants inside."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

from feedweir.match.atoms import LONG_MAX, LONG_MIN, Axis, Leaf, Ordered, Within


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


def all_of(parts: Iterable[Formula]) -> Formula:
    flat = _flat(parts, All)
    if any(type(part) is Within for part in flat):
        flat = _intersected(flat)
    return NO if NO in flat else flat[0] if len(flat) == 1 else All(flat)


def any_of(parts: Iterable[Formula]) -> Formula:
    flat = _flat(parts, AnyOf)
    return YES if YES in flat else flat[0] if len(flat) == 1 else AnyOf(flat)


def negated(part: Formula) -> Formula:
    """The negation, moved down to the leaves: below it remains one leaf or one count."""
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
    """A count of parts; equal parts count as often as they are given."""
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
    """A formula with its comparisons of texts replaced."""
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
    return others + tuple(interval(bound.axis, bound.low, bound.high) for bound in bounds.values())


def interval(axis: Axis, low: int, high: int) -> Formula:
    """The numbers from `low` to `high` that fit into 64 bits; `NO` when there are none."""
    low, high = max(low, LONG_MIN), min(high, LONG_MAX)
    return Within(axis, low, high) if low <= high else NO
