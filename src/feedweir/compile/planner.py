"""The plans of all sources, kept from one version of the set to the next: changed in place, remade when that pays."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from feedweir.compile.plan_store import StoredPlan
from feedweir.optimize.filter_plans.clause_registry import ClauseRegistry, Run
from feedweir.optimize.filter_plans.drift import (
    Drift,
    InForce,
    ReplanPolicy,
    Standing,
    drift_of,
    in_force,
    reason_to_wait,
)
from feedweir.optimize.filter_plans.live_plan import LivePlan
from feedweir.optimize.filter_plans.source_plans import Asked, PlannedSource, asked_of_sources, planned_source
from feedweir.optimize.filter_plans.work_model import PRICES, seconds_of
from feedweir.optimize.statistics import SourceStatistics
from feedweir.plan.predicates import TRUE, And, Or, Predicate
from feedweir.plan.query import Query

_log = logging.getLogger(__name__)

Known = Callable[[str], SourceStatistics]
"""The statistics of a source."""

MOST_S = 10.0
"""Seconds in which new plans are begun when a set is compiled; what is left over waits for the next time."""
AT_ONCE = 2_000
"""Filters of a source up to which it is planned while the set waits. More are left to the index until a plan, made
beside everything else, is taken over.
"""
QUICK_S = 0.05
"""Seconds that planning a source took from which on a fresh plan is estimated and not made when drift is looked at."""
COMPILING_S = 5e-5
"""Seconds for each query of the set, all of which are compiled anew with a new plan."""
MUCH = 0.1
"""The share of items by which what is known must have grown to be looked at again."""


@dataclass(slots=True)
class _Kept:
    """One source: its live plan, and what of it is in force."""

    live: LivePlan
    made_at: datetime
    planning_s: float
    put: InForce
    made_because: str = "its filters were new"
    planned: PlannedSource | None = None
    standing: Standing | None = None
    judged: SourceStatistics = SourceStatistics()  # noqa: RUF009 - a frozen value
    """What was known when the drift was last worked out."""
    drift: Drift | None = None
    changes: int = 0
    """How many changes the live plan had taken in then."""

    def differs(self, asked: Asked, known: SourceStatistics) -> bool:
        """Whether there is anything to change: other queries, a plan made since, or much that was not known before."""
        if self.planned is None or self.live.predicates != asked or self.put != in_force(self.live):
            return True
        return _is_much(known, self.planned.known)


@dataclass(frozen=True, slots=True)
class WantedPlan:
    """A source that waits for its plan."""

    asked: Asked
    known: SourceStatistics


@dataclass(frozen=True, slots=True)
class MadePlan:
    live: LivePlan
    planning_s: float


def make_plan(wanted: WantedPlan, step: Callable[[], None]) -> MadePlan:
    """Thread-safe; `step` is called often and may raise an exception to stop."""
    return MadePlan(*_timed(lambda: LivePlan.made(wanted.asked, wanted.known, step)))


class Planner:
    """Not thread-safe."""

    def __init__(
        self,
        policy: ReplanPolicy = ReplanPolicy(),  # noqa: B008 - a frozen value
        most_s: float = MOST_S,
        at_once: int = AT_ONCE,
    ) -> None:
        self._policy = policy
        self._most_s = most_s
        self._at_once = at_once
        self._kept: dict[str, _Kept] = {}
        self._waiting: dict[str, WantedPlan] = {}
        self._queries = 0

    @property
    def waiting(self) -> dict[str, WantedPlan]:
        """Sources that are left to the index until their plan is taken over."""
        return dict(self._waiting)

    def take_over(self, source: str, made: MadePlan, now: datetime) -> bool:
        """Go on with a plan that was made elsewhere, unless the source waits no longer; whether that is so."""
        if self._waiting.pop(source, None) is None:
            return False
        self._kept[source] = _Kept(made.live, now, made.planning_s, InForce(()))
        return True

    def _waits(self, source: str, asked: Asked, known: Known) -> bool:
        """Whether a source has more new filters than are planned at once; if so it is put among those that wait."""
        kept = self._kept.get(source)
        before = kept.live.predicates if kept is not None else {}
        if len(asked) <= self._at_once or _changes(before, asked) <= self._at_once:
            return False
        self._kept.pop(source, None)
        self._waiting[source] = WantedPlan(asked, known(source))
        return True

    def _keep_only(self, sources: Collection[str]) -> None:
        self._kept = {source: kept for source, kept in self._kept.items() if source in sources}
        self._waiting = {source: one for source, one in self._waiting.items() if source in sources}

    def put_in_force(
        self, queries: Sequence[Query], known: Known, now: datetime
    ) -> tuple[PlannedSource, ...]:
        """The plans for these queries, by source; those of earlier queries are changed where they differ."""
        self._queries = len(queries)
        asked = asked_of_sources(queries)
        self._keep_only(asked)
        until = time.monotonic() + self._most_s
        planned = (self._put_or_leave(source, asked[source], known, now, until) for source in sorted(asked))
        return tuple(one for one in planned if one is not None)

    def follow(
        self, queries: Sequence[Query], changed: Collection[int] | None, known: Known, now: datetime
    ) -> None:
        """Take changes into the live plans: the queries that came, and the keys of all that changed or went, None for
        everything. What is in force stays what it was."""
        before: dict[str, Mapping[Any, Predicate]] = {}
        before |= {source: kept.live.predicates for source, kept in self._kept.items()}
        before |= {source: wanted.asked for source, wanted in self._waiting.items()}
        came = asked_of_sources(queries, planned=before)
        for source in sorted({*before, *came}):
            stayed = _without(before.get(source, {}), changed)
            if source in came or len(stayed) < len(before[source]):
                self._follow(source, stayed | came.get(source, {}), known, now)

    def _follow(self, source: str, asked: Asked, known: Known, now: datetime) -> None:
        if all(predicate == TRUE for predicate in asked.values()):
            self._kept.pop(source, None)
            self._waiting.pop(source, None)
        elif source in self._waiting:
            self._waiting[source] = WantedPlan(asked, known(source))
        elif not self._waits(source, asked, known):
            kept = self._kept.setdefault(source, _Kept(LivePlan(known(source)), now, 0.0, InForce(())))
            _change(kept.live, asked)

    def resume(
        self, stored: StoredPlan, known: Known, now: datetime, noted: Mapping[str, Standing] | None = None
    ) -> None:
        """Take over plans that another process put in force, and what it noted of them."""
        for source, plan in stored.items():
            asked = {name: plan.conditions[node] for node, names in enumerate(plan.names) for name in names}
            if self._waits(source, asked, known):
                continue
            live, planning_s = _timed(lambda asked=asked, source=source: LivePlan.made(asked, known(source)))  # type: ignore[misc]
            runs = [live.graph.registry.run_of(condition) for condition in plan.conditions]
            nodes = [(runs[node], runs[parent]) for node, parent in enumerate(plan.parents) if node]
            kept = self._kept[source] = _Kept(live, now, planning_s, InForce(tuple(sorted(nodes))))
            standing = (noted or {}).get(source)
            if standing is not None:
                kept.made_at, kept.made_because = standing.made_at, standing.made_because

    def noted(self) -> tuple[Standing, ...]:
        """How the plans stood when that was last looked at."""
        return tuple(
            kept.standing or Standing(source, kept.made_at, kept.made_because, self._policy.threshold)
            for source, kept in sorted(self._kept.items())
        )

    def standings(self, known: Known, now: datetime) -> tuple[Standing, ...]:
        """What has become of the plans in force by what is known now; live plans believe it from here on."""
        return tuple(
            self._standing(source, kept, known(source), now) for source, kept in sorted(self._kept.items())
        )

    def replan(self, source: str, now: datetime) -> None:
        """Make the live plan of a source anew; it is in force when the queries are put in force again."""
        kept = self._kept[source]
        _renew(kept)
        if kept.standing is not None and kept.standing.drift is not None:
            kept.made_because = f"it had drifted by {kept.standing.drift.excess:.0%}"
        kept.made_at, kept.standing, kept.drift = now, None, None

    def _put_or_leave(
        self, source: str, asked: Asked, known: Known, now: datetime, until: float
    ) -> PlannedSource | None:
        """What cannot be planned, or not in time, is left to the index, which names the query that is to blame."""
        if source not in self._kept and time.monotonic() > until:
            return None
        if self._waits(source, asked, known):
            return None
        self._waiting.pop(source, None)
        try:
            return self._put(source, asked, known(source), now)
        except Exception:
            _log.exception("no filter plan could be made for source %s", source)
            self._kept.pop(source, None)
            return None

    def _put(self, source: str, asked: Asked, known: SourceStatistics, now: datetime) -> PlannedSource:
        kept = self._kept.get(source)
        if kept is None:
            live, planning_s = _timed(lambda: LivePlan.made(asked, known))
            kept = self._kept[source] = _Kept(live, now, planning_s, in_force(live))
        elif kept.planned is not None and not kept.differs(asked, known):
            return kept.planned
        else:
            _change(kept.live, asked)
            kept.live.reweigh(known)
        kept.put, kept.drift = in_force(kept.live), None
        kept.planned = planned_source(source, kept.live.predicates, kept.live.snapshot(), known)  # type: ignore[arg-type]
        return kept.planned

    def _standing(self, source: str, kept: _Kept, known: SourceStatistics, now: datetime) -> Standing:
        drift = _drift(kept, known)
        waits_because = reason_to_wait(
            drift,
            rate=known.rate,
            filter_s=filter_s(kept.planned),
            making_s=kept.planning_s + COMPILING_S * self._queries,
            since_s=(now - kept.made_at).total_seconds(),
            policy=self._policy,
        )
        threshold = self._policy.threshold
        kept.standing = Standing(
            source, kept.made_at, kept.made_because, threshold, drift, now, waits_because
        )
        return kept.standing


def _drift(kept: _Kept, known: SourceStatistics) -> Drift:
    """Worked out again when filters changed, or what is known of the source did by much."""
    is_known_anew = _is_much(known, kept.judged)
    if kept.drift is None or kept.changes != kept.live.changes or is_known_anew:
        kept.live.reweigh(known)
        if kept.planning_s <= QUICK_S and is_known_anew:
            _renew(kept)
        kept.drift, kept.changes, kept.judged = drift_of(kept.live, kept.put), kept.live.changes, known
    return kept.drift


def _without(asked: Mapping[Any, Predicate], keys: Collection[int] | None) -> Asked:
    """What is left without the queries of these keys."""
    if keys is None:
        return {}
    return {name: one for name, one in asked.items() if name[0] not in keys}


def _renew(kept: _Kept) -> None:
    """Go on with a plan that is made at once, if it is better than the one that followed all changes."""
    fresh, kept.planning_s = _timed(kept.live.replanned)
    if fresh.cost <= kept.live.cost:
        kept.put = _renumbered(kept.put, kept.live.graph.registry, fresh.graph.registry)
        kept.live = fresh


def _renumbered(put: InForce, before: ClauseRegistry, now: ClauseRegistry) -> InForce:
    """What is in force, by the numbers that its clauses have in another registry."""

    def moved(run: Run) -> Run:
        return now.run_of(And(tuple(Or(tuple(before.clause(clause))) for clause in run)))

    return InForce(tuple(sorted((moved(run), moved(parent)) for run, parent in put.nodes)))


def _is_much(known: SourceStatistics, before: SourceStatistics) -> bool:
    """Whether what is known of a source has changed by much: by what was counted, or by what it found."""
    return known != before and (
        abs(known.items - before.items) > MUCH * before.items
        or any(abs(known.share_of(atom) - before.share_of(atom)) > MUCH for atom in known.atoms)
    )


def filter_s(planned: PlannedSource | None) -> float:
    """What evaluating a filter takes, by the way it is done for this source."""
    if planned is None:
        return PRICES.tests
    work = planned.works["tree"]
    asked = work.tests + work.programs
    spent = PRICES.tests * work.tests + PRICES.programs * work.programs + PRICES.literals * work.literals
    return spent / asked if asked else seconds_of(work)


def _changes(before: Mapping[Hashable, Predicate], asked: Asked) -> int:
    """How many filters came, went or were altered."""
    kept = sum(before.get(name) == predicate for name, predicate in asked.items())
    return len(asked) + len(before) - 2 * kept


def _change(live: LivePlan, asked: Asked) -> None:
    """Drop what is not asked any more, take in what is new, alter what differs."""
    for name in [name for name in live.predicates if name not in asked]:
        live.drop(name)
    for name, predicate in asked.items():
        live.alter(name, predicate)


def _timed(make: Callable[[], LivePlan]) -> tuple[LivePlan, float]:
    start = time.perf_counter()
    made = make()
    return made, time.perf_counter() - start
