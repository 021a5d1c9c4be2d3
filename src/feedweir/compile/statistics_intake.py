"""From what tasks counted to what plans are made from: counts that fade, added up in the catalog, each exactly once.

A count is stored as if everything had been counted at one moment in the future: an item of today weighs twice as much
as one of a half-life ago. So what is left of all counts now is one division. What was sampled fades by what is sampled
since, too: a source that changes its habits is believed after some hundred items, however soon they come.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from math import log

from feedweir.catalog import AtomCount, BatchCommit, Catalog, Fading, FeedCounts
from feedweir.catalog.column_types import storable_key
from feedweir.compile.plan_store import StoredPlan, StoredSource
from feedweir.errors import CompiledSetError
from feedweir.items.gc_pause import gc_paused
from feedweir.join.result_tables import JoinObservation
from feedweir.optimize.cost import JoinCounts, mixture
from feedweir.optimize.join_order import KnownStreams
from feedweir.optimize.statistics import HALF_LIFE_ITEMS, HALF_LIFE_S, PRIOR_SHARE, Pair, SourceStatistics
from feedweir.pipeline.observations import Observation, ObservationLog
from feedweir.plan.nodes import EVERY_SOURCE
from feedweir.plan.predicate_wire import predicate_from_json, predicate_to_json
from feedweir.plan.predicates import And, AtLeast, Atom, Not, Or, Predicate

LANDMARK = datetime(2026, 1, 1, tzinfo=UTC)
_PREFIX = "observed "
_ITEMS, _SAMPLED = "items", "sampled"
_PAIR, _NODE, _JOIN = "pair ", "node ", "join "
_OF_JOINS = ("tried", "kept", "pairs")

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
    with gc_paused():
        found, costs = log_.read(after, upto), log_.read_costs(after, upto)
        joins = log_.read_joins(after, upto)
        if found or costs or joins:
            ids = {record.name: record.id for record in catalog.feeds.all(kind="source")}
            found = [one for one in found if one.counted.source in ids]
            kept = _kept_of(found)
            known = {name: weights_of(catalog, ids[name]) for name in sorted(kept)}
            atoms = [*counts_of(found, plans, ids, known, growth(now)), *_counts_of_joins(joins, growth(now))]
            counts = (FeedCounts(feed, candidates=count) for feed, count in costs.items() if feed > 0)
            catalog.batches.commit(
                BatchCommit(
                    batch=f"{_PREFIX}{upto:012d}",
                    version=0,
                    at=now,
                    fading=tuple(Fading(ids[name], share, (_ITEMS,)) for name, share in kept.items()),
                    atoms=tuple(atoms),
                    counts=tuple(counts),
                )
            )
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
    found: Sequence[Observation],
    plans: Mapping[str, StoredPlan],
    ids: Mapping[str, int],
    known: Mapping[str, Weights],
    weight: float,
) -> list[AtomCount]:
    """What is to be added. What is watched for the first time starts at what was assumed of it so far."""
    kept = _kept_of(found)
    counts: list[AtomCount] = []
    begun: set[tuple[str, str]] = set()
    for one in found:
        source = one.counted.source
        plan = plans.get(one.counted.plan, {}).get(source)
        if plan is None:
            continue
        for name, times in _named(one, plan):
            counts.append(AtomCount(ids[source], name, times, times * weight))
        for name, share in _assumed(plan):
            if storable_key(name) not in known[source] and (source, name) not in begun:
                begun.add((source, name))
                before = kept[source] * known[source].get(_SAMPLED, 0.0)
                counts.append(AtomCount(ids[source], name, 0, share * before))
    return counts


def _counts_of_joins(found: Iterable[JoinObservation], weight: float) -> Iterator[AtomCount]:
    """Counts of joins are kept with a feed that has them."""
    for one in found:
        for what in _OF_JOINS:
            times = getattr(one, what)
            yield AtomCount(one.feed, f"{_JOIN}{one.name} {what}", times, times * weight)


def joins_of(weights: Iterable[Weights], now: datetime) -> dict[str, JoinCounts]:
    """What is known of joins now, by name."""
    counted: dict[str, dict[str, float]] = {}
    for stored in weights:
        for name, weight in stored.items():
            if name.startswith(_JOIN):
                join, what = name.removeprefix(_JOIN).split(" ")
                counts = counted.setdefault(join, dict.fromkeys(_OF_JOINS, 0.0))
                counts[what] += weight / growth(now)
    return {name: JoinCounts(**counts) for name, counts in counted.items()}


def known_streams(catalog: Catalog, now: datetime) -> KnownStreams:
    """All that is known of sources and joins. How much a source without filters publishes follows from its counters."""
    weights = weights_by_source(catalog)
    records = catalog.feeds.all(kind="source")
    counters = catalog.statistics.feeds([record.id for record in records])
    hits = {one.feed_id: one.recent_hits for one in counters}
    sources: dict[str, SourceStatistics] = {}
    for record in records:
        known = statistics_of(weights.get(record.id, {}), record.created_at, now)
        if not known.rate and hits.get(record.id):
            seconds = remembered_s((now - record.created_at).total_seconds())
            known = SourceStatistics(hits[record.id], seconds)
        sources[record.name] = known
    sources[EVERY_SOURCE] = mixture([*sources.values()])
    return KnownStreams(sources, joins_of(weights.values(), now))


def _kept_of(found: Iterable[Observation]) -> dict[str, float]:
    """By source what is left of earlier samples after those that are taken in."""
    sampled: dict[str, int] = {}
    for one in found:
        sampled[one.counted.source] = sampled.get(one.counted.source, 0) + one.counted.sampled
    return {source: float(0.5 ** (count / HALF_LIFE_ITEMS)) for source, count in sampled.items()}


def _named(one: Observation, plan: StoredSource) -> Iterable[tuple[str, int]]:
    yield _ITEMS, one.items
    yield _SAMPLED, one.counted.sampled
    for place, times in one.counted.atoms:
        yield plan.watched_texts[place], times
    for place, times in one.counted.pairs:
        yield _pair_name(plan, place), times
    for node, times in one.counted.nodes:
        if node:
            yield _node_name(plan.condition_texts[node]), times


def _assumed(plan: StoredSource) -> Iterable[tuple[str, float]]:
    """What is counted for a plan, with the share that was assumed before anything was."""
    yield from ((text, PRIOR_SHARE) for text in plan.watched_texts)
    yield from ((_pair_name(plan, place), PRIOR_SHARE**2) for place in range(len(plan.pairs)))
    yield from (
        (_node_name(plan.condition_texts[node]), plan.shares[node])
        for node in sorted(set(plan.parents))
        if node > 0
    )


def _pair_name(plan: StoredSource, place: int) -> str:
    one, other = plan.pairs[place]
    return f"{_PAIR}{plan.watched_texts[one]}\n{plan.watched_texts[other]}"


def _node_name(condition: str) -> str:
    """Under what the items that held at a node are counted."""
    return f"{_NODE}{condition}"


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
    counted, sampled = (
        weights.get(storable_key(_node_name(predicate_to_json(condition)))),
        weights.get(_SAMPLED, 0.0),
    )
    return counted / sampled if counted is not None and sampled else None


def remembered_s(age_s: float) -> float:
    """How much time a fading memory of that age covers."""
    kept = float(0.5 ** (max(age_s, 0.0) / HALF_LIFE_S))
    return max(HALF_LIFE_S / log(2.0) * (1.0 - kept), 1.0)


@lru_cache(maxsize=1 << 18)
def _atom(text: str) -> Atom | None:
    """An atom by its name; None for a name that is not one, such as the hash of a long one."""
    try:
        found = predicate_from_json(text)
    except CompiledSetError:
        return None
    return None if isinstance(found, (And, Or, AtLeast, Not)) else found
