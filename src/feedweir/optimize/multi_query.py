"""All feeds planned together: each normalised by itself, then the filters of every source factorised as one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from feedweir.errors import FeedweirError
from feedweir.optimize.factorise import FactoredFilters, factorise
from feedweir.optimize.normalise import normalise
from feedweir.optimize.statistics import SourceStatistics
from feedweir.plan import inputs_of
from feedweir.plan.expand import Lookup
from feedweir.plan.nodes import Filter, Node, Source
from feedweir.plan.predicates import TRUE, Predicate


@dataclass(frozen=True, slots=True)
class SourcePlan:
    """What is asked of one source: `feeds[i]` asks `predicates[i]`, and the filters answer all of them at once."""

    source: str
    feeds: tuple[str, ...]
    predicates: tuple[Predicate, ...]
    filters: FactoredFilters


@dataclass(frozen=True, slots=True)
class MultiQueryPlan:
    """The plans of all feeds in four-level form, and the shared filters of their sources."""

    feeds: Mapping[str, Node]
    sources: Mapping[str, SourcePlan]
    failures: Mapping[str, FeedweirError]
    """Feeds that could not be planned, with the reason; the others are not held up."""

    @property
    def cost(self) -> float:
        """Filters evaluated for one item of each source."""
        return sum(plan.filters.tree.cost for plan in self.sources.values())


def plan_all(
    feeds: Mapping[str, Node], lookup: Lookup, statistics: Mapping[str, SourceStatistics]
) -> MultiQueryPlan:
    """Plan feeds by name; sources without statistics are planned by what is assumed."""
    normal: dict[str, Node] = {}
    failures: dict[str, FeedweirError] = {}
    for name in sorted(feeds):
        try:
            normal[name] = normalise(feeds[name], lookup)
        except FeedweirError as error:
            failures[name] = error
    asked: dict[str, dict[tuple[str, Predicate], None]] = {}
    for name, node in normal.items():
        for source, predicate in asked_of_sources(node):
            asked.setdefault(source, {})[name, predicate] = None
    sources = {source: _source_plan(source, list(asked[source]), statistics) for source in sorted(asked)}
    return MultiQueryPlan(normal, sources, failures)


def asked_of_sources(node: Node) -> list[tuple[str, Predicate]]:
    """What a normalised plan asks of its sources; a source that is read as it is asks for everything."""
    match node:
        case Source(name):
            return [(name, TRUE)]
        case Filter(Source(name), predicate):
            return [(name, predicate)]
        case _:
            return [pair for input in inputs_of(node) for pair in asked_of_sources(input)]


def _source_plan(
    source: str, asked: list[tuple[str, Predicate]], statistics: Mapping[str, SourceStatistics]
) -> SourcePlan:
    names, predicates = tuple(name for name, _ in asked), tuple(predicate for _, predicate in asked)
    return SourcePlan(
        source, names, predicates, factorise(predicates, statistics.get(source, SourceStatistics()))
    )
