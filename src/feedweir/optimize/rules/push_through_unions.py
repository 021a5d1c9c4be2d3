"""Filters go below unions, as far as they need to."""

from __future__ import annotations

from feedweir.optimize.plan_rewriter import downwards
from feedweir.plan.nodes import Filter, Node, Source, Union
from feedweir.plan.predicates import Predicate


def push_through_unions(node: Node) -> Node:
    """σ(a ∪ b) → σ(a) ∪ σ(b), where one of them is more than a source.

    A filter over sources alone stays one filter: the set asks it once, whichever of them an item came from, and the
    filters of each source are factorised after that.
    """
    return downwards(node, _pushed)


def _pushed(node: Node) -> Node:
    match node:
        case Filter(Union(inputs), predicate) if not all(isinstance(input, Source) for input in inputs):
            sources = tuple(input for input in inputs if isinstance(input, Source))
            others = tuple(Filter(input, predicate) for input in inputs if not isinstance(input, Source))
            return Union((*_filtered(sources, predicate), *others))
        case _:
            return node


def _filtered(sources: tuple[Source, ...], predicate: Predicate) -> tuple[Filter, ...]:
    if not sources:
        return ()
    return (Filter(sources[0] if len(sources) == 1 else Union(sources), predicate),)
