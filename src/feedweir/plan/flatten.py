"""Feeds without joins as the matcher takes them: which predicate over which sources."""

from __future__ import annotations

from typing import TypeAlias

from feedweir.language.predicates import TRUE, Predicate
from feedweir.language.statements import EVERY_SOURCE
from feedweir.plan.build import conjunction
from feedweir.plan.expand import inputs_of
from feedweir.plan.nodes import Filter, Node, Source, Union

Branch: TypeAlias = tuple[tuple[str, ...], Predicate]
"""The items of these sources (none named: of every source) that satisfy this predicate."""


def is_join_free(node: Node) -> bool:
    """Whether the node needs one item at a time."""
    return isinstance(node, (Source, Filter, Union)) and all(map(is_join_free, inputs_of(node)))


def branches(node: Node) -> tuple[Branch, ...]:
    """An expanded, join-free plan as a union of filters over sources, each predicate once.

    A source that is read under several predicates is in several branches: the feed holds the item once all the same.
    """
    by_predicate: dict[Predicate, dict[str, None]] = {}
    for source, predicate in _pairs(node):
        by_predicate.setdefault(predicate, {})[source] = None
    return tuple(
        (() if EVERY_SOURCE in sources else tuple(sources), predicate)
        for predicate, sources in by_predicate.items()
    )


def _pairs(node: Node) -> list[tuple[str, Predicate]]:
    """(source, predicate) for every way from a source to the node."""
    match node:
        case Source(name):
            return [(name, TRUE)]
        case Union(inputs):
            return [pair for input in inputs for pair in _pairs(input)]
        case Filter(input, predicate):
            narrowed: dict[Predicate, Predicate] = {}
            for _, inner in (pairs := _pairs(input)):
                if inner not in narrowed:
                    narrowed[inner] = predicate if inner == TRUE else conjunction((inner, predicate))
            return [(source, narrowed[inner]) for source, inner in pairs]
    raise TypeError(f"a {type(node).__name__} is not free of joins and virtual feeds")
