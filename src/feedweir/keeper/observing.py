"""From what tasks counted to what plans are made from: counts that fade, added up in the catalog, each exactly once.

A count is stored as if everything had been counted at one moment in the future: an item of today weighs twice as much
as one of a half-life ago. So counts are only ever added to, and what is left of them now is one division.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from functools import lru_cache
from math import log

from feedweir.catalog import AtomCount, BatchCommit, Catalog, FeedCounts
from feedweir.catalog.columns import storable_key
from feedweir.engine.observations import Observation, ObservationLog
from feedweir.engine.plan_store import StoredPlan, StoredSource
from feedweir.errors import CompiledSetError
from feedweir.optimize.statistics import HALF_LIFE_S, PRIOR_SHARE, Pair, SourceStatistics
from feedweir.plan.predicates import And, AtLeast, Atom, Not, Or, Predicate
from feedweir.plan.wire import predicate_from_json, predicate_to_json

LANDMARK = datetime(2026, 1, 1, tzinfo=UTC)
_PREFIX = "observed "
_ITEMS, _SAMPLED = "items", "sampled"
_PAIR, _NODE = "pair ", "node "

Weights = Mapping[str, float]
"""What is stored of one source, by name."""


def growth(now: datetime) -> float:
    """What an item counted now weighs."""
    return float(2.0 ** ((now - LANDMARK).total_seconds() / HALF_LIFE_S))


def take_in(
    catalog: Catalog, log_: ObservationLog, plans: Mapping[str, StoredPlan], upto: int, now: datetime
) -> None:
    """Add what the tasks of published batches counted since the last time, and forget their files."""
    last = catalog.batches.last(prefix=_PREFIX)
    after = int(last.batch.removeprefix(_PREFIX)) if last else 0
    found, costs = log_.read(after, upto), log_.read_costs(after, upto)
    if found or costs:
        ids = {record.name: record.id for record in catalog.feeds.all(kind="source")}
        known = {
            name: weights_of(catalog, ids[name]) for name in {one.counted.source for one in found} & set(ids)
        }
        atoms = counts_of(found, plans, ids, known, growth(now))
        counts = (FeedCounts(feed, candidates=count) for feed, count in costs.items() if feed > 0)
        batch = f"{_PREFIX}{upto:012d}"
        commit = BatchCommit(batch=batch, version=0, at=now, atoms=tuple(atoms), counts=tuple(counts))
        catalog.batches.commit(commit)
    log_.forget(upto)


def weights_of(catalog: Catalog, source_id: int) -> dict[str, float]:
    return {count.atom: count.weight for count in catalog.statistics.atoms(source_id)}


def weights_by_source(catalog: Catalog) -> dict[int, dict[str, float]]:
    """What is stored, by id of the source."""
    found: dict[int, dict[str, float]] = {}
    for count in catalog.statistics.atoms():
        found.setdefault(count.source_id, {})[count.atom] = count.weight
    return found


def counts_of(
    found: Iterable[Observation],
    plans: Mapping[str, StoredPlan],
    ids: Mapping[str, int],
    known: Mapping[str, Weights],
    weight: float,
) -> list[AtomCount]:
    """What is to be added. What is watched for the first time starts at what was assumed of it so far."""
    counts: list[AtomCount] = []
    begun: set[tuple[str, str]] = set()
    for one in found:
        source = one.counted.source
        plan = plans.get(one.counted.plan, {}).get(source)
        if source not in ids or plan is None:
            continue
        for name, times in _named(one, plan):
            counts.append(AtomCount(ids[source], name, times, times * weight))
        for name, share in _assumed(plan):
            if storable_key(name) not in known[source] and (source, name) not in begun:
                begun.add((source, name))
                counts.append(AtomCount(ids[source], name, 0, share * known[source].get(_SAMPLED, 0.0)))
    return counts


def _named(one: Observation, plan: StoredSource) -> Iterable[tuple[str, int]]:
    yield _ITEMS, one.items
    yield _SAMPLED, one.counted.sampled
    for place, times in one.counted.atoms:
        yield predicate_to_json(plan.watched[place]), times
    for place, times in one.counted.pairs:
        yield _pair_name(plan, place), times
    for node, times in one.counted.nodes:
        if node:
            yield node_name(plan.conditions[node]), times


def _assumed(plan: StoredSource) -> Iterable[tuple[str, float]]:
    """What is counted for a plan, with the share that was assumed before anything was."""
    yield from ((predicate_to_json(atom), PRIOR_SHARE) for atom in plan.watched)
    yield from ((_pair_name(plan, place), PRIOR_SHARE**2) for place in range(len(plan.pairs)))
    yield from (
        (node_name(plan.conditions[node]), plan.shares[node])
        for node in sorted(set(plan.parents))
        if node > 0
    )


def _pair_name(plan: StoredSource, place: int) -> str:
    one, other = plan.pairs[place]
    return f"{_PAIR}{predicate_to_json(plan.watched[one])}\n{predicate_to_json(plan.watched[other])}"


def node_name(condition: Predicate) -> str:
    """Under what the items that held at a node are counted."""
    return f"{_NODE}{predicate_to_json(condition)}"


def statistics_of(weights: Weights, created_at: datetime, now: datetime) -> SourceStatistics:
    """What is known of a source now."""
    scale = 1.0 / growth(now)
    sampled = weights.get(_SAMPLED, 0.0) * scale
    rate = weights.get(_ITEMS, 0.0) * scale / remembered_s((now - created_at).total_seconds())
    atoms: dict[Atom, float] = {}
    pairs: dict[Pair, float] = {}
    for name, weight in weights.items():
        if name.startswith("["):
            atom = _atom(name)
            if atom is not None:
                atoms[atom] = weight * scale
        elif name.startswith(_PAIR):
            one, other = (_atom(part) for part in name.removeprefix(_PAIR).split("\n", 1))
            if one is not None and other is not None:
                pairs[one, other] = weight * scale
    return SourceStatistics(sampled, sampled / rate if rate else 0.0, atoms, pairs)


def share_at(weights: Weights, condition: Predicate) -> float | None:
    """The share of sampled items that held at a node; None when it was not counted."""
    counted, sampled = weights.get(storable_key(node_name(condition))), weights.get(_SAMPLED, 0.0)
    return counted / sampled if counted is not None and sampled else None


def remembered_s(age_s: float) -> float:
    """How much time a fading memory of that age covers."""
    kept = float(0.5 ** (max(age_s, 0.0) / HALF_LIFE_S))
    return max(HALF_LIFE_S / log(2.0) * (1.0 - kept), 1.0)


@lru_cache(maxsize=1 << 16)
def _atom(text: str) -> Atom | None:
    """An atom by its name; None for a name that is not one, such as the hash of a long one."""
    try:
        found = predicate_from_json(text)
    except CompiledSetError:
        return None
    return None if isinstance(found, (And, Or, AtLeast, Not)) else found
