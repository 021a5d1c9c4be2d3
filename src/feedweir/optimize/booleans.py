"""Simplify the boolean structure of a predicate; what an atom means is not looked at."""

from __future__ import annotations

from feedweir.plan.predicates import (
    FALSE,
    TRUE,
    And,
    AtLeast,
    Compare,
    Contains,
    Not,
    Or,
    Predicate,
)


def simplify(predicate: Predicate) -> Predicate:
    """The same predicate without needless parts; the same object when there are none.

    Negations end up before atoms, `and` and `or` are flat, have each part once and at least two, and `true`
    and `false` stand only alone.
    """
    simple = _simple(predicate, False)
    return predicate if simple == predicate else simple


def _simple(predicate: Predicate, negated: bool) -> Predicate:
    match predicate:
        case And(parts) | Or(parts):
            is_and = isinstance(predicate, And) != negated
            return _joined(is_and, [_simple(part, negated) for part in parts])
        case Not(part):
            return _simple(part, not negated)
        case AtLeast():
            return _at_least(predicate, negated)
        case Contains():
            return _contains(predicate, negated)
        case Compare(attribute, ("=" | "!=") as op, value, part) if negated:
            # An order is not turned round: neither `<` nor `>=` holds of an absent attribute.
            return Compare(attribute, "!=" if op == "=" else "=", value, part)
        case _:
            return Not(predicate) if negated else predicate


def _joined(is_and: bool, parts: list[Predicate]) -> Predicate:
    """Parts that are already simple, under one `and` or `or`."""
    kind, zero = (And, FALSE) if is_and else (Or, TRUE)
    flat: dict[Predicate, None] = {}
    for part in parts:
        flat.update(dict.fromkeys(part.parts if isinstance(part, kind) else (part,)))
    if zero in flat or any(_opposite(part) in flat for part in flat):
        return zero
    if len(flat) == 1:
        return next(iter(flat))
    return _absorbed(is_and, tuple(flat))


def _opposite(part: Predicate) -> Predicate:
    return Not(part) if isinstance(part, (And, Or, AtLeast)) else _simple(part, True)


def _absorbed(is_and: bool, parts: tuple[Predicate, ...]) -> Predicate:
    """`a and (a or b)` is `a`: a part of the other kind goes when one of its own parts is among the parts."""
    kind, other = (And, Or) if is_and else (Or, And)
    among = set(parts)
    kept = [part for part in parts if not (isinstance(part, other) and among.intersection(part.parts))]
    return kept[0] if len(kept) == 1 else kind(tuple(kept))


def _at_least(predicate: AtLeast, negated: bool) -> Predicate:
    """Parts that always or never hold are counted out; all of them is `and`, one of them `or`.

    Equal parts count as often as they are written.
    """
    if negated:
        # Not k of n: at least n - k + 1 fail.
        inverted = AtLeast(
            len(predicate.parts) - predicate.count + 1, tuple(Not(part) for part in predicate.parts)
        )
        return _at_least(inverted, False)
    parts = [_simple(part, False) for part in predicate.parts]
    count = predicate.count - parts.count(TRUE)
    open_parts = tuple(part for part in parts if part not in (TRUE, FALSE))
    if count <= 0:
        return TRUE
    if count > len(open_parts):
        return FALSE
    if count == len(open_parts):
        return _joined(True, list(open_parts))
    return _joined(False, list(open_parts)) if count == 1 else AtLeast(count, open_parts)


def _contains(predicate: Contains, negated: bool) -> Predicate:
    """So many of several terms are so many of the atoms with one term each."""
    terms, count = predicate.terms, predicate.at_least
    if len(terms) == 1 and count == 1:
        return Not(predicate) if negated else predicate
    singles = tuple(Contains(predicate.attribute, (term,), 1) for term in terms)
    return _at_least(AtLeast(count, singles), negated)
