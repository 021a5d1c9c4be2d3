"""Unions rise above joins, so that below the topmost unions there are only joins, and below joins only
filters.
"""

from __future__ import annotations

from dataclasses import replace

from feedweir.optimize.rewrite import bottom_up
from feedweir.plan.nodes import AnnotationJoin, Node, Union


def lift_unions(node: Node) -> Node:
    """(a ∪ b) ⋈ w → (a ⋈ w) ∪ (b ⋈ w): each item of the primary stream meets the window by itself.

    The union inside a window stays: the last n items of a union are not those of its parts.
    """
    return bottom_up(node, _lifted)


def _lifted(node: Node) -> Node:
    match node:
        case AnnotationJoin(_, Union(inputs)):
            return Union(tuple(_lifted(replace(node, primary=input)) for input in inputs))
        case _:
            return node
