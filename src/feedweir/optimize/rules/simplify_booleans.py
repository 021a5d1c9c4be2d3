"""Predicates lose what they do not need, and filters that let everything through go."""

from __future__ import annotations

from feedweir.optimize.booleans import simplify
from feedweir.optimize.rewrite import bottom_up
from feedweir.plan.nodes import Filter, Node
from feedweir.plan.predicates import TRUE


def simplify_booleans(node: Node) -> Node:
    """σ_{p ∧ p}(a) → σ_p(a); σ_true(a) → a."""
    return bottom_up(node, _simplified)


def _simplified(node: Node) -> Node:
    if not isinstance(node, Filter):
        return node
    predicate = simplify(node.predicate)
    if predicate == TRUE:
        return node.input
    return node if predicate is node.predicate else Filter(node.input, predicate)
