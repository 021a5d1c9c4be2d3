"""Predicates lose what they do not need, and filters that let everything through go."""

from __future__ import annotations

from functools import lru_cache

from feedweir.optimize.boolean_forms import simplify
from feedweir.optimize.plan_rewriter import upwards
from feedweir.plan.nodes import Filter, Node
from feedweir.plan.predicates import TRUE, Predicate
from feedweir.plan.query_columns import wording_of


def simplify_booleans(node: Node) -> Node:
    """σ_{p ∧ p}(a) → σ_p(a); σ_true(a) → a.

    What asks for words only stays: however it is written, its words are the same atoms of the set, each once.
    """
    return upwards(node, _simplified)


def _simplified(node: Node) -> Node:
    if not isinstance(node, Filter):
        return node
    predicate = simpler(node.predicate)
    if predicate == TRUE:
        return node.input
    return node if predicate is node.predicate else Filter(node.input, predicate)


@lru_cache(maxsize=1 << 10)
def simpler(predicate: Predicate) -> Predicate:
    """What the rule makes of a predicate; the same object when it leaves it."""
    return predicate if wording_of(predicate) is not None else simplify(predicate)
