"""Branches through which nothing can come are cut."""

from __future__ import annotations

from feedweir.optimize.plan_rewriter import upwards
from feedweir.plan.nodes import AnnotationJoin, Distinct, Filter, Node, PatternJoin, Union
from feedweir.plan.predicates import FALSE

NOTHING = Union(())
"""The stream without items."""


def drop_empty(node: Node) -> Node:
    """σ_false(a) → ∅; a ∪ ∅ → a; what reads ∅ alone, or joins it, is ∅."""
    return upwards(node, _cut)


def _cut(node: Node) -> Node:
    match node:
        case Filter(input, predicate) if predicate == FALSE or _is_nothing(input):
            return NOTHING
        case Union(inputs) if any(map(_is_nothing, inputs)):
            kept = tuple(input for input in inputs if not _is_nothing(input))
            return kept[0] if len(kept) == 1 else Union(kept)
        case AnnotationJoin(_, primary, window) if _is_nothing(primary) or _is_nothing(window.input):
            return NOTHING
        case Distinct(_, input) if _is_nothing(input):
            return NOTHING
        case PatternJoin() if _joins_nothing(node):
            return NOTHING
        case _:
            return node


def _is_nothing(node: Node) -> bool:
    return isinstance(node, Union) and not node.inputs


def _joins_nothing(node: PatternJoin) -> bool:
    left = node.left
    while isinstance(left, PatternJoin):
        if _is_nothing(left.right.input):
            return True
        left = left.left
    return _is_nothing(left.input) or _is_nothing(node.right.input)
