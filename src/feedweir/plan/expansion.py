"""Virtual feeds replaced by their definitions, however deep; and feeds without joins as the matcher takes them: which
predicate over which sources."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from feedweir.errors import CatalogError
from feedweir.plan.nodes import EVERY_SOURCE, Feed, Filter, Node, Source, Union
from feedweir.plan.predicates import TRUE, Predicate, conjunction
from feedweir.plan.walk import postorder, rebuilt

Lookup = Callable[[str], Node | None]
"""The plan of a virtual feed as its definition was written; None when there is none."""


def expand(node: Node, lookup: Lookup) -> Node:
    """The plan with every virtual feed's definition in its place; equal definitions are the same object."""
    expanded: dict[str, Node] = {}
    for name, definition in _in_order(node, lookup):
        expanded[name] = rebuilt(definition, lambda inner: _defined(inner, expanded))
    return rebuilt(node, lambda inner: _defined(inner, expanded))


def _defined(node: Node, expanded: dict[str, Node]) -> Node:
    return expanded[node.name] if isinstance(node, Feed) else node


def feeds_in(node: Node) -> list[str]:
    """The virtual feeds that a plan names, each once."""
    return list(dict.fromkeys(inner.name for inner in postorder(node) if isinstance(inner, Feed)))


def _in_order(node: Node, lookup: Lookup) -> list[tuple[str, Node]]:
    """Every virtual feed below a plan with its definition, after those that it reads."""
    found: list[tuple[str, Node]] = []
    done: set[str] = set()
    path: dict[str, Node] = {}
    waiting: list[tuple[str, bool]] = [(name, False) for name in reversed(feeds_in(node))]
    while waiting:
        name, is_ready = waiting.pop()
        if name in done:
            continue
        if is_ready:
            done.add(name)
            found.append((name, path.pop(name)))
            continue
        path[name] = _definition(name, lookup, tuple(path))
        waiting.append((name, True))
        waiting += [(below, False) for below in reversed(feeds_in(path[name])) if below not in done]
    return found


def _definition(name: str, lookup: Lookup, path: tuple[str, ...]) -> Node:
    if name in path:
        way = " → ".join((*path[path.index(name) :], name))
        raise CatalogError(f"feed `{name}` reads itself: {way}", hint="change one of these feeds")
    node = lookup(name)
    if node is None:
        users = f", which `{path[-1]}` reads" if path else ""
        raise CatalogError(f"there is no feed `{name}`{users}", hint="register or create it")
    return node


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
