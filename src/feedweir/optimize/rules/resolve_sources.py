"""At a source it is known which source an item came from."""

from __future__ import annotations

from feedweir.optimize.rewrite import bottom_up
from feedweir.plan.nodes import Filter, Node, Source
from feedweir.plan.predicates import FALSE, TRUE, And, AtLeast, FromFeeds, Not, Or, Predicate


def resolve_sources(node: Node) -> Node:
    """σ_{from x}(s) → σ_true(s) or σ_false(s)."""
    return bottom_up(node, _resolved)


def _resolved(node: Node) -> Node:
    match node:
        case Filter(Source(name), predicate):
            known = _known_of(predicate, name)
            return node if known == predicate else Filter(node.input, known)
        case _:
            return node


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
