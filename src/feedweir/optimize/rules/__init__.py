"""The rewriting rules, one file each, and their order. They run whenever a feed is compiled.

Two rules of the paper are missing, because they never pay here. Unions do not rise above joins, (a ∪ b) ⋈ w →
(a ⋈ w) ∪ (b ⋈ w): the two joins cost what the one does, R(a)·S(w) + R(b)·S(w), and a window's constant more, while the
union below is free, being one stream that the set finds. And filters need not go below windows: no statement puts a
filter above one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from feedweir.optimize.rules.drop_empty import drop_empty
from feedweir.optimize.rules.drop_implied import drop_implied
from feedweir.optimize.rules.expand_feeds import expand_feeds
from feedweir.optimize.rules.flatten_unions import flatten_unions
from feedweir.optimize.rules.merge_filters import merge_filters
from feedweir.optimize.rules.push_through_joins import push_through_joins
from feedweir.optimize.rules.push_through_unions import push_through_unions
from feedweir.optimize.rules.resolve_sources import resolve_sources
from feedweir.optimize.rules.simplify_booleans import simplify_booleans
from feedweir.plan.nodes import Node

Rule: TypeAlias = Callable[[Node], Node]

RULES: tuple[Rule, ...] = (
    flatten_unions,  # first, so that filters are copied to each input once and not once a level
    merge_filters,  # one filter to push instead of a cascade
    push_through_unions,
    push_through_joins,
    resolve_sources,  # needs filters at their sources
    simplify_booleans,  # before implications are looked for, which costs more with every needless part
    drop_implied,
    drop_empty,  # last: contradictions are seen only then
)
"""Applied in this order, again and again until none changes the plan."""

__all__ = [
    "RULES",
    "Rule",
    "drop_empty",
    "drop_implied",
    "expand_feeds",
    "flatten_unions",
    "merge_filters",
    "push_through_joins",
    "push_through_unions",
    "resolve_sources",
    "simplify_booleans",
]
