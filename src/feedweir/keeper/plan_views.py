"""The plans in force for people: what sources' filters share, how they are executed, predicted and measured costs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from pathlib import Path

from feedweir.catalog import Catalog, FeedRecord
from feedweir.engine.plan_store import StoredSource, left_to_index, load_plan, plan_in_force
from feedweir.errors import CatalogError
from feedweir.keeper.observing import Weights, share_at, statistics_of, weights_of
from feedweir.language.format_predicates import format_predicate
from feedweir.optimize.cnf import to_cnf
from feedweir.optimize.explain import Execution, ExplainedPlan, PlanNodes, explain_nodes
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
            f"source {source!r} has no plan: nothing filters it, or it is not yet compiled", hint=_HINT
        )
    if left and not stored:
        raise CatalogError("no plan is in force yet: " + "; ".join(left.values()), hint=_LEFT_HINT)
    if not stored:
        raise CatalogError("no plan is in force yet", hint=_HINT)
    records = {record.name: record for record in catalog.feeds.all()}
    names = {record.id: record.name for record in records.values()}
    wanted = [source] if source else sorted(name for name in stored if name in records)
    return tuple(_explained(catalog, stored[name], records[name], names.get, now) for name in wanted)


def _explained(
    catalog: Catalog,
    plan: StoredSource,
    record: FeedRecord,
    name_of: Callable[[int], str | None],
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
        tuple(tuple(_names(keys, name_of)) for keys in plan.feeds),
    )
    return explain_nodes(
        nodes,
        source=plan.source,
        rate=rate,
        measured=_measured(plan, weights, rate),
        execution=Execution(plan.way, plan.seconds, plan.items, known.items),
        never=[node for node in range(1, len(plan.parents)) if is_never(to_cnf(plan.conditions[node]))],
    )


def _names(keys: Iterable[int], name_of: Callable[[int], str | None]) -> Iterator[str]:
    """Feeds by name, without those that were dropped since; what only joins read has none."""
    for key in keys:
        name = name_of(key) if key >= 0 else "a window of a join"
        if name is not None:
            yield name


def _measured(plan: StoredSource, weights: Weights, rate: float) -> Mapping[int, float]:
    """Evaluations a second of each node: as many as items that held at its parent."""
    shares: dict[int, float | None] = {0: 1.0 if weights else None}
    for node in sorted(set(plan.parents)):
        if node > 0:
            shares[node] = share_at(weights, plan.conditions[node])
    found = {node: shares.get(parent) for node, parent in enumerate(plan.parents) if node}
    return {node: rate * share for node, share in found.items() if share is not None}
