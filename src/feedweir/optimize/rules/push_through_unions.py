"""Filters go below unions, to each input."""

from __future__ import annotations

from feedweir.optimize.rewrite import bottom_up
from feedweir.plan.nodes import Filter, Node, Union


def push_through_unions(node: Node) -> Node:
    """σ(a ∪ b) → σ(a) ∪ σ(b)."""
    return bottom_up(node, _pushed)


def _pushed(node: Node) -> Node:
    match node:
        case Filter(Union(inputs), predicate):
            return Union(tuple(_pushed(Filter(input, predicate)) for input in inputs))
        case _:
            return node
