"""Predicates lose the parts that follow from others, and those that contradict themselves are false."""

from __future__ import annotations

from functools import lru_cache

from feedweir.optimize.boolean_forms import from_cnf, to_cnf
from feedweir.optimize.plan_rewriter import upwards
from feedweir.optimize.subsumption import atoms_of, reduced
from feedweir.plan.nodes import Filter, Node
from feedweir.plan.predicates import Predicate
from feedweir.plan.query_columns import wording_of

MOST_ATOMS = 16
"""Each clause is compared with each other one, for every feed: what is longer is left to whoever shares filters."""


def drop_implied(node: Node) -> Node:
    """σ_{a ∧ (a ∨ b)}(s) → σ_a(s): the conjunctive form without clauses that others imply, where it is shorter.

    Where it is not, the predicate stays: the set finds a disjunction of conjunctions by the rarest atom of each, which
    multiplied out it could not. Sharing filters multiplies out by itself. What asks for words only stays, too.
    """
    return upwards(node, _dropped)


def _dropped(node: Node) -> Node:
    if not isinstance(node, Filter):
        return node
    predicate = shorter(node.predicate)
    return node if predicate is node.predicate else Filter(node.input, predicate)


def shorter(predicate: Predicate) -> Predicate:
    """What the rule makes of a predicate; the same object when it leaves it."""
    return _found_shorter(predicate) or predicate


@lru_cache(maxsize=1 << 10)
def _found_shorter(predicate: Predicate) -> Predicate | None:
    """None where there is nothing shorter: the predicate itself would be another, equal one from the cache."""
    size = len(atoms_of(predicate))
    if size < 2 or size > MOST_ATOMS or wording_of(predicate) is not None:
        return None
    found = from_cnf(reduced(to_cnf(predicate)))
    return found if len(atoms_of(found)) < size else None
