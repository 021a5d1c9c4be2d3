"""Cascading filters are one filter."""

from __future__ import annotations

from feedweir.optimize.plan_rewriter import upwards
from feedweir.plan.nodes import Filter, Node
from feedweir.plan.predicates import conjunction


def merge_filters(node: Node) -> Node:
    """σ_p(σ_q(a)) → σ_{q ∧ p}(a)."""
    return upwards(node, _merged)


def _merged(node: Node) -> Node:
    match node:
        case Filter(Filter(input, inner), outer):
            return Filter(input, conjunction((inner, outer)))
        case _:
            return node
