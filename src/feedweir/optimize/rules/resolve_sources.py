"""At a source it is known which source an item came from."""

from __future__ import annotations

from feedweir.optimize.plan_rewriter import upwards
from feedweir.plan.nodes import EVERY_SOURCE, Filter, Node, Source, Union
from feedweir.plan.predicates import FALSE, TRUE, And, AtLeast, FromFeeds, Not, Or, Predicate


def resolve_sources(node: Node) -> Node:
    """σ_{from a}(a ∪ b) → σ_true(a) ∪ σ_false(b). Of `*`, all sources together, it is not known."""
    return upwards(node, _resolved)


def _resolved(node: Node) -> Node:
    match node:
        case Filter(Source() as source, predicate) if names_sources(predicate):
            return _over((source,), predicate)
        case Filter(Union(inputs), predicate) if names_sources(predicate):
            sources = tuple(input for input in inputs if isinstance(input, Source))
            return _over(sources, predicate) if len(sources) == len(inputs) else node
        case _:
            return node


def _over(sources: tuple[Source, ...], predicate: Predicate) -> Node:
    """Sources of which the same is left to ask stay together."""
    asked: dict[Predicate, list[Source]] = {}
    for source in sources:
        known = predicate if source.name == EVERY_SOURCE else _known_of(predicate, source.name)
        asked.setdefault(known, []).append(source)
    filters = tuple(
        Filter(some[0] if len(some) == 1 else Union(tuple(some)), known) for known, some in asked.items()
    )
    return filters[0] if len(filters) == 1 else Union(filters)


def names_sources(predicate: Predicate) -> bool:
    match predicate:
        case FromFeeds():
            return True
        case And(parts) | Or(parts) | AtLeast(_, parts):
            return any(map(names_sources, parts))
        case Not(part):
            return names_sources(part)
        case _:
            return False


def _known_of(predicate: Predicate, source: str) -> Predicate:
    match predicate:
        case FromFeeds(names):
            return TRUE if source in names else FALSE
        case And(parts):
            return And(tuple(_known_of(part, source) for part in parts))
        case Or(parts):
            return Or(tuple(_known_of(part, source) for part in parts))
        case AtLeast(count, parts):
            return AtLeast(count, tuple(_known_of(part, source) for part in parts))
        case Not(part):
            return Not(_known_of(part, source))
        case _:
            return predicate
