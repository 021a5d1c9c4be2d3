"""Conditions that speak of several parts of a query: `$a[…] or $b[…]`.

An item is asked only what concerns the parts that it is in. What says nothing of these parts is left out, and where
nothing is left, the item is let through, as it is by a condition on another part.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from feedweir.language.queries import OfPart
from feedweir.plan.predicates import (
    And,
    JoinAnd,
    JoinNot,
    JoinOr,
    JoinPredicate,
    Not,
    OfItem,
    OfWindow,
    Or,
    Predicate,
)


def concerning(predicate: Predicate, parts: Collection[str]) -> Predicate | None:
    """What a condition asks of items that are in these parts and in no others; None where it asks nothing."""
    match predicate:
        case OfPart(variable, inner):
            return inner if variable in parts else None
        case And(inner) | Or(inner) if inner:
            asked = [one for one in (concerning(part, parts) for part in inner) if one is not None]
            return type(predicate)(tuple(asked)) if len(asked) > 1 else asked[0] if asked else None
        case Not(part):
            inside = concerning(part, parts)
            return None if inside is None else Not(inside)
        case _:
            return predicate


def of_pairs(predicate: Predicate, window: str) -> JoinPredicate:
    """The same of items and their partners: what it says of the variable of the window is asked of partners."""
    match predicate:
        case OfPart(variable, inner):
            return OfWindow(inner) if variable == window else OfItem(inner)
        case And(parts) if parts:
            return JoinAnd(tuple(of_pairs(part, window) for part in parts))
        case Or(parts) if parts:
            return JoinOr(tuple(of_pairs(part, window) for part in parts))
        case Not(part):
            return JoinNot(of_pairs(part, window))
        case _:
            return OfItem(predicate)


def speaks_of_all(predicate: Predicate) -> bool:
    """Whether a part of the condition stands without a variable."""
    return any(not isinstance(leaf, OfPart) for leaf in _leaves(predicate))


def _leaves(predicate: Predicate) -> Iterator[Predicate]:
    match predicate:
        case And(parts) | Or(parts):
            for part in parts:
                yield from _leaves(part)
        case Not(part):
            yield from _leaves(part)
        case _:
            yield predicate
