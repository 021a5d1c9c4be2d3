"""Feeds without joins as the matcher takes them: which predicate over which sources."""

from __future__ import annotations

from typing import TypeAlias

from feedweir.errors import CatalogError
from feedweir.plan.nodes import EVERY_SOURCE, Filter, Node, Source, Union
from feedweir.plan.predicates import TRUE, Predicate, conjunction
from feedweir.plan.walk import postorder

Branch: TypeAlias = tuple[tuple[str, ...], Predicate]
"""The items of these sources (none named: of every source) that satisfy this predicate."""


def branches(node: Node) -> tuple[Branch, ...]:
    """An expanded, join-free plan as a union of filters over sources, each predicate once.

    A source that is read under several predicates is in several branches: the feed has the item once all the same.
    """
    ways: dict[int, _Ways] = {}
    for inner in postorder(node):
        ways[id(inner)] = _ways(inner, ways)
    return tuple(
        (() if EVERY_SOURCE in sources else tuple(sources), predicate)
        for predicate, sources in ways[id(node)].items()
    )


_Ways: TypeAlias = dict[Predicate, dict[str, None]]
"""For every predicate on a way from sources to a node, those sources, in order."""


def _ways(node: Node, ways: dict[int, _Ways]) -> _Ways:
    found: _Ways = {}
    match node:
        case Source(name):
            return {TRUE: {name: None}}
        case Union(inputs):
            for input in inputs:
                _add(found, ways[id(input)])
        case Filter(input, predicate):
            for inner, sources in ways[id(input)].items():
                narrowed = predicate if inner == TRUE else conjunction((inner, predicate))
                _add(found, {narrowed: sources})
        case _:
            raise CatalogError(f"a {type(node).__name__} is not free of joins and virtual feeds")
    return found


def _add(found: _Ways, more: _Ways) -> None:
    for predicate, sources in more.items():
        found.setdefault(predicate, {}).update(sources)
