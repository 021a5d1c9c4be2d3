"""Filters go below annotation joins and query blocks, to the stream whose items come out."""

from __future__ import annotations

from dataclasses import replace

from feedweir.optimize.plan_rewriter import downwards
from feedweir.plan.nodes import AnnotationJoin, Block, Filter, Node


def push_through_joins(node: Node) -> Node:
    """σ(a ⋈ w) → σ(a) ⋈ w: a join only keeps or drops items of its primary stream, and filters see no
    annotation.

    The window is not filtered: its items are partners, whatever the filter says of them. A filter above a
    pattern join or a construction stays, because those give out new documents.
    """
    return downwards(node, _pushed)


def _pushed(node: Node) -> Node:
    match node:
        case Filter(AnnotationJoin() as join, predicate):
            return replace(join, primary=Filter(join.primary, predicate))
        case Filter(Block(select="") as block, predicate):
            return replace(block, input=Filter(block.input, predicate))
        case _:
            return node
