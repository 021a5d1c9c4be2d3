"""Boolean structure: simplified, whatever the atoms mean, and in conjunctive normal form with bounded growth.

What would grow too much stays as it is, inside a clause.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import combinations
from math import comb
from typing import TypeAlias

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


Literal: TypeAlias = Predicate
"""An atom, a negated atom, or a part that would have grown too much."""
Clause: TypeAlias = frozenset[Literal]
"""Literals of which one holds; the empty clause is false."""
Cnf: TypeAlias = frozenset[Clause]
"""Clauses that all hold; the empty set is true."""

MAX_CLAUSES = 32
"""What a disjunction may become. Past it the disjunction stays one clause."""

MAX_ATOMS = 1_000
"""Parts from which on a predicate is not taken apart."""
MAX_CONJUNCTS = 64
"""Clauses that it may have when it is: whoever looks for shared ones looks at each two of them."""

NEVER: Cnf = frozenset({frozenset()})


def to_cnf(predicate: Predicate, *, max_clauses: int = MAX_CLAUSES) -> Cnf:
    """The clauses of a predicate, none a superset of another; of one with very many a single literal."""
    simple = simplify(predicate)
    whole: Cnf = frozenset({frozenset({simple})})
    clauses = whole if is_large(simple) else _clauses(simple, max_clauses)
    return clauses if len(clauses) <= MAX_CONJUNCTS else whole


def is_large(predicate: Predicate) -> bool:
    """Whether it has so many atoms that comparing them with those of others would take longer than it could save."""
    waiting, count = [predicate], 0
    while waiting and count <= MAX_ATOMS:
        match waiting.pop():
            case And(parts) | Or(parts) | AtLeast(_, parts):
                waiting += parts
                count += len(parts)
            case Not(part):
                waiting.append(part)
            case _:
                pass
    return count > MAX_ATOMS


def from_cnf(cnf: Cnf) -> Predicate:
    """The predicate that the clauses say, in an order that depends only on them."""
    return simplify(And(tuple(clause_predicate(clause) for clause in sorted(cnf, key=clause_key))))


@lru_cache(maxsize=1 << 16)
def literal_key(literal: Literal) -> str:
    """An order of literals that depends on nothing but them."""
    return repr(literal)


def clause_predicate(clause: Clause) -> Predicate:
    return simplify(Or(tuple(sorted(clause, key=literal_key))))


def clause_key(clause: Clause) -> tuple[int, list[str]]:
    """Short clauses first, then by their text."""
    return (len(clause), sorted(literal_key(literal) for literal in clause))


def _clauses(predicate: Predicate, max_clauses: int) -> Cnf:
    match predicate:
        case And(parts):
            return minimal(frozenset().union(*(_clauses(part, max_clauses) for part in parts)))
        case Or(parts):
            return _product(parts, max_clauses)
        case AtLeast(count, parts) if comb(len(parts), count - 1) <= max_clauses:
            # k of n hold: of any n - k + 1 one holds.
            some = combinations(parts, len(parts) - count + 1)
            every = simplify(And(tuple(Or(chosen) for chosen in some)))
            return _clauses(every, max_clauses)
        case _:
            return frozenset({frozenset({predicate})})


def _product(parts: tuple[Predicate, ...], max_clauses: int) -> Cnf:
    """One clause of each part, in every way; parts that would make too many stay literals of the clause."""
    # literals all at once: of ten thousand, one after the other would take minutes
    composed = [part for part in parts if isinstance(part, (And, Or, AtLeast))]
    clauses = minimal(
        frozenset({frozenset(part for part in parts if not isinstance(part, (And, Or, AtLeast)))})
    )
    for part in sorted(composed, key=literal_key):
        factors = _clauses(part, max_clauses)
        if len(clauses) * len(factors) > max_clauses:
            factors = frozenset({frozenset({part})})
        clauses = minimal(frozenset(one | two for one in clauses for two in factors))
    return clauses


def minimal(clauses: Cnf) -> Cnf:
    """Without clauses that always hold, and without those that another clause implies by being a part of
    them.
    """
    open_clauses = sorted((c for c in clauses if not is_tautology(c)), key=len)
    if open_clauses and not open_clauses[0]:
        return NEVER
    kept: list[Clause] = []
    # a clause that is a part of another is found by any one of its literals
    filed: dict[Literal, list[Clause]] = {}
    for clause in open_clauses:
        if not any(other <= clause for literal in clause for other in filed.get(literal, ())):
            kept.append(clause)
            filed.setdefault(next(iter(clause)), []).append(clause)
    return frozenset(kept)


def is_tautology(clause: Clause) -> bool:
    """Whether a literal stands beside its negation."""
    return TRUE in clause or any(simplify(Not(literal)) in clause for literal in clause)
