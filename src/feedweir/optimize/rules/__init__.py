"""The rewriting rules, one file each, and their order."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from feedweir.optimize.rules.conjunctive_form import conjunctive_form
from feedweir.optimize.rules.drop_empty import drop_empty
from feedweir.optimize.rules.expand_feeds import expand_feeds
from feedweir.optimize.rules.flatten_unions import flatten_unions
from feedweir.optimize.rules.lift_unions import lift_unions
from feedweir.optimize.rules.merge_filters import merge_filters
from feedweir.optimize.rules.push_through_joins import push_through_joins
from feedweir.optimize.rules.push_through_unions import push_through_unions
from feedweir.optimize.rules.push_through_windows import push_through_windows
from feedweir.optimize.rules.resolve_sources import resolve_sources
from feedweir.optimize.rules.simplify_booleans import simplify_booleans
from feedweir.plan.nodes import Node

Rule: TypeAlias = Callable[[Node], Node]

RULES: tuple[Rule, ...] = (
    flatten_unions,  # first, so that filters are copied to each input once and not once a level
    merge_filters,  # one filter to push instead of a cascade
    push_through_unions,
    lift_unions,  # joins that a filter still has to pass then have no union below them
    push_through_joins,
    push_through_windows,
    resolve_sources,  # needs filters at their sources
    simplify_booleans,  # before the normal form, which grows with every needless part
    conjunctive_form,
    drop_empty,  # last: contradictions are seen only in the normal form
)
"""Applied in this order, again and again until none changes the plan."""

__all__ = [
    "RULES",
    "Rule",
    "conjunctive_form",
    "drop_empty",
    "expand_feeds",
    "flatten_unions",
    "lift_unions",
    "merge_filters",
    "push_through_joins",
    "push_through_unions",
    "push_through_windows",
    "resolve_sources",
    "simplify_booleans",
]
