"""Branches through which nothing can come are cut."""

from __future__ import annotations

from feedweir.optimize.rewrite import bottom_up
from feedweir.plan.nodes import AnnotationJoin, Block, Distinct, Filter, Node, PatternJoin, Union, Window
from feedweir.plan.predicates import FALSE

NOTHING = Union(())
"""The stream without items."""


def drop_empty(node: Node) -> Node:
    """σ_false(a) → ∅; a ∪ ∅ → a; what reads ∅ alone, or joins it, is ∅."""
    return bottom_up(node, _cut)


def _cut(node: Node) -> Node:
    match node:
        case Filter(input, predicate) if input == NOTHING or predicate == FALSE:
            return NOTHING
        case Union(inputs) if NOTHING in inputs:
            kept = tuple(input for input in inputs if input != NOTHING)
            return kept[0] if len(kept) == 1 else Union(kept)
        case AnnotationJoin(_, primary, window) if NOTHING in (primary, window.input):
            return NOTHING
        case Window(input) | Block(input) | Distinct(_, input) if input == NOTHING:
            return NOTHING
        case PatternJoin() if _is_empty(node):
            return NOTHING
        case _:
            return node


def _is_empty(node: Block | PatternJoin) -> bool:
    if isinstance(node, Block):
        return node.input == NOTHING
    return _is_empty(node.left) or _is_empty(node.right)
