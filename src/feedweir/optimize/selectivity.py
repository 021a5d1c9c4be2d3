"""The share of items that satisfy a predicate: independent atoms, except where pairs are known."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations
from math import erfc, prod, sqrt
from typing import Protocol

import numpy as np

from feedweir.optimize.boolean_forms import Clause, Cnf, Literal, clause_key, literal_key, to_cnf
from feedweir.optimize.subsumption import signed
from feedweir.plan.predicates import And, AtLeast, Atom, Compare, Not, Or, Predicate

_MAX_STEPS = 100_000
"""Parts of an `at least`, times how many are wanted, up to which its share is worked out exactly."""


class Selectivity(Protocol):
    """What estimates are made from; `SourceStatistics` is one."""

    def share_of(self, atom: Atom) -> float: ...

    def joint_share_of(self, one: Atom, other: Atom) -> float | None: ...


def literal_share(literal: Literal, known: Selectivity) -> float:
    """The share of items that satisfy an atom, a negated atom, or an unexpanded part."""
    match literal:
        case Not(part):
            return 1.0 - literal_share(part, known)
        case Compare(attribute, "!=", value, part):
            return 1.0 - known.share_of(Compare(attribute, "=", value, part))
        case And(parts):
            return prod(literal_share(part, known) for part in parts)
        case Or(parts):
            return 1.0 - prod(1.0 - literal_share(part, known) for part in parts)
        case AtLeast(count, parts):
            return _at_least([literal_share(part, known) for part in parts], count)
        case _:
            return known.share_of(literal)


def _at_least(shares: list[float], count: int) -> float:
    """The chance of `count` successes or more: by the distribution of how many, grown part by part; of very many parts
    by the normal distribution, which theirs is then close to."""
    count = max(count, 0)
    if len(shares) * min(count, len(shares)) > _MAX_STEPS:
        return _at_least_of_many(shares, count)
    chances = np.ones(1)
    for share in shares:
        grown = np.zeros(len(chances) + 1)
        grown[:-1] += chances * (1.0 - share)
        grown[1:] += chances * share
        # From `count` on they are one: reached is reached.
        chances = grown if len(grown) <= count + 1 else np.append(grown[:count], grown[count:].sum())
    return float(chances[count:].sum())


def _at_least_of_many(shares: list[float], count: int) -> float:
    spread = sqrt(2.0 * sum(share * (1.0 - share) for share in shares))
    distance = count - 0.5 - sum(shares)
    return 0.5 * erfc(distance / spread) if spread else float(distance <= 0)


def clause_share(clause: Clause, known: Selectivity) -> float:
    """One of the literals: what is missed is missed by all, corrected for known pairs."""
    literals = sorted(clause, key=literal_key)
    if len(literals) == 1:
        return literal_share(literals[0], known)
    return 1.0 - _together(
        [(_negated(literal), 1.0 - literal_share(literal, known)) for literal in literals], known
    )


def clause_lift(one: Clause, other: Clause, known: Selectivity) -> float | None:
    """How much more often two clauses hold together than independent ones would; None when it is not known.

    Only known for clauses of one literal each.
    """
    if len(one) != 1 or len(other) != 1:
        return None
    (here,), (there,) = one, other
    expected = literal_share(here, known) * literal_share(there, known)
    joint = joint_share(here, there, known)
    return None if joint is None or expected <= 0.0 else joint / expected


def joint_share(one: Literal, other: Literal, known: Selectivity) -> float | None:
    """The share of items that satisfy two literals, from the pair of their atoms."""
    (atom, is_negated), (partner, is_partner_negated) = signed(one), signed(other)
    if isinstance(atom, (And, Or, AtLeast, Not)) or isinstance(partner, (And, Or, AtLeast, Not)):
        return None
    both = known.joint_share_of(atom, partner)
    if both is None:
        return None
    here, there = known.share_of(atom), known.share_of(partner)
    both = min(both, here, there)
    if is_negated:
        return max(0.0, 1.0 - here - there + both) if is_partner_negated else there - both
    return here - both if is_partner_negated else both


def predicate_share(predicate: Predicate, known: Selectivity) -> float:
    return cnf_share(to_cnf(predicate), known)


def cnf_share(cnf: Cnf, known: Selectivity) -> float:
    """All of the clauses; never more than the rarest of them."""
    shares = [(clause, clause_share(clause, known)) for clause in sorted(cnf, key=clause_key)]
    lift = lift_of(
        (one, other, clause_lift(one, other, known)) for (one, _), (other, _) in combinations(shares, 2)
    )
    least = min((share for _, share in shares), default=1.0)
    return min(prod(share for _, share in shares) * lift, least)


def _together(parts: list[tuple[Literal, float]], known: Selectivity) -> float:
    """The chance that all literals hold, with the known pairs furthest from independence taken as they
    are.
    """
    pairs = []
    for (one, here), (other, there) in combinations(parts, 2):
        joint = joint_share(one, other, known)
        pairs.append((one, other, None if joint is None or here * there <= 0.0 else joint / (here * there)))
    least = min((share for _, share in parts), default=1.0)
    return min(prod(share for _, share in parts) * lift_of(pairs), least)


def lift_of(pairs: Iterable[tuple[object, object, float | None]]) -> float:
    """The product of lifts of pairs without a common member, those furthest from 1 first."""
    known = [(one, other, lift) for one, other, lift in pairs if lift is not None]
    known.sort(key=lambda pair: -max(pair[2], 1.0 / pair[2] if pair[2] > 0.0 else float("inf")))
    used: set[object] = set()
    result = 1.0
    for one, other, lift in known:
        if one not in used and other not in used:
            used |= {one, other}
            result *= lift
    return result


def _negated(literal: Literal) -> Literal:
    return literal.part if isinstance(literal, Not) else Not(literal)
