"""The plans in force for people: what sources' filters share, how they are executed, predicted and measured costs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from feedweir.catalog import Catalog, FeedRecord
from feedweir.compile.plan_store import StoredSource, left_to_index, load_plan, load_standings, plan_in_force
from feedweir.compile.statistics_intake import Weights, share_at, statistics_of, weights_of
from feedweir.errors import CatalogError
from feedweir.language.conditions import format_predicate
from feedweir.optimize.boolean_forms import to_cnf
from feedweir.optimize.filter_plans.plan_report import Execution, ExplainedPlan, PlanNodes, explain_nodes
from feedweir.optimize.subsumption import is_never

_HINT = "plans are made when the set is compiled: `feedweir run` does that"

_LEFT_HINT = "what is found is the same; ask again in a minute"


def explained_plans(
    catalog: Catalog, plans: Path, now: datetime, source: str = ""
) -> tuple[ExplainedPlan, ...]:
    """The plan of a source, or, without a name, those of all sources by name."""
    stored = load_plan(plans, plan_in_force(plans))
    left = left_to_index(plans, plan_in_force(plans))
    if source in left:
        raise CatalogError(f"source {source!r} has no plan yet: {left[source]}", hint=_LEFT_HINT)
    if source and source not in stored:
        catalog.feeds.named(source)  # refuses, with the names that are near
        raise CatalogError(
            f"source {source!r} has no plan: no feed filters it, or it has not been compiled yet", hint=_HINT
        )
    if left and not stored:
        raise CatalogError("no plan is in force yet: " + "; ".join(left.values()), hint=_LEFT_HINT)
    if not stored:
        raise CatalogError("no plan is in force yet", hint=_HINT)
    records = catalog.feeds.several([source] if source else stored)
    shown = [(record, stored[record.name]) for record in sorted(records, key=lambda one: one.name)]
    called = catalog.feeds.called(_feeds_in(plan for _, plan in shown))
    standings = load_standings(plans)
    return tuple(
        replace(_explained(catalog, plan, record, called, now), standing=standings.get(record.name))
        for record, plan in shown
    )


def _feeds_in(plans: Iterable[StoredSource]) -> set[int]:
    return {key for plan in plans for keys in plan.feeds for key in keys if key >= 0}


def _explained(
    catalog: Catalog,
    plan: StoredSource,
    record: FeedRecord,
    called: Mapping[int, tuple[str, str]],
    now: datetime,
) -> ExplainedPlan:
    weights = weights_of(catalog, record.id)
    known = statistics_of(weights, record.created_at, now)
    rate = known.rate or 1.0
    nodes = PlanNodes(
        plan.parents,
        ("", *map(format_predicate, plan.asks[1:])),
        ("", *map(format_predicate, plan.conditions[1:])),
        plan.shares,
        tuple(tuple(_names(keys, called)) for keys in plan.feeds),
    )
    return explain_nodes(
        nodes,
        source=plan.source,
        rate=rate,
        measured=_measured(plan, weights, rate),
        execution=Execution(plan.way, plan.seconds, plan.items, known.items),
        never=[node for node in range(1, len(plan.parents)) if is_never(to_cnf(plan.conditions[node]))],
    )


def _names(keys: Iterable[int], called: Mapping[int, tuple[str, str]]) -> Iterator[str]:
    """Feeds by name, without those that were dropped since; what only joins read has none."""
    for key in keys:
        if key < 0:
            yield "a window of a join"
        elif key in called:
            yield called[key][0]


def _measured(plan: StoredSource, weights: Weights, rate: float) -> Mapping[int, float]:
    """Evaluations a second of each node: as many as items that held at its parent."""
    shares: dict[int, float | None] = {0: 1.0 if weights else None}
    for node in sorted(set(plan.parents)):
        if node > 0:
            shares[node] = share_at(weights, plan.conditions[node])
    found = {node: shares.get(parent) for node, parent in enumerate(plan.parents) if node}
    return {node: rate * share for node, share in found.items() if share is not None}
