"""Predicates become conjunctions of disjunctions, as far as that does not make them grow too much."""

from __future__ import annotations

from feedweir.optimize.cnf import from_cnf, to_cnf
from feedweir.optimize.rewrite import bottom_up
from feedweir.optimize.subsumption import reduced
from feedweir.plan.nodes import Filter, Node


def conjunctive_form(node: Node) -> Node:
    """σ_{(a ∧ b) ∨ c}(s) → σ_{(a ∨ c) ∧ (b ∨ c)}(s); clauses that another implies go, and contradictions
    are false.
    """
    return bottom_up(node, _conjunctive)


def _conjunctive(node: Node) -> Node:
    if not isinstance(node, Filter):
        return node
    predicate = from_cnf(reduced(to_cnf(node.predicate)))
    return node if predicate == node.predicate else Filter(node.input, predicate)
