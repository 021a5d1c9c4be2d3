"""The plans of all sources, kept from one version of the set to the next: changed in place, made anew when it pays."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from feedweir.engine.plan_store import StoredPlan
from feedweir.engine.planning import Asked, PlannedSource, asked_of_sources, planned_source
from feedweir.optimize.drift import Drift, InForce, ReplanPolicy, drift_of, in_force, should_replan
from feedweir.optimize.maintain import LivePlan
from feedweir.optimize.statistics import SourceStatistics
from feedweir.optimize.timing import PRICES, seconds_of
from feedweir.plan.predicates import Predicate
from feedweir.plan.query import Query

_log = logging.getLogger(__name__)

Known = Callable[[str], SourceStatistics]
"""What is known of a source."""

MOST_S = 10.0
"""Seconds in which new plans are begun when a set is compiled; what is left over waits for the next time."""
AT_ONCE = 2_000
"""Filters of a source up to which it is planned while the set waits. More are left to the index until a plan, made
beside everything else, is taken over.
"""
MUCH = 0.1
"""The share of items by which what is known must have grown to be looked at again."""


@dataclass(slots=True)
class _Kept:
    """One source: its live plan, and what of it is in force."""

    live: LivePlan
    made_at: datetime
    planning_s: float
    put: InForce
    planned: PlannedSource | None = None

    def differs(self, asked: Asked, known: SourceStatistics) -> bool:
        """Whether there is anything to change: other queries, a plan made since, or much that was not known before."""
        if self.planned is None or self.live.predicates != asked or self.put != in_force(self.live):
            return True
        return abs(known.items - self.planned.known.items) > MUCH * self.planned.known.items


@dataclass(frozen=True, slots=True)
class Standing:
    """How the plan of a source in force stands beside a fresh one."""

    source: str
    drift: Drift
    is_stale: bool


@dataclass(frozen=True, slots=True)
class Wanted:
    """A source that waits for its plan."""

    asked: Asked
    known: SourceStatistics


@dataclass(frozen=True, slots=True)
class MadePlan:
    live: LivePlan
    planning_s: float


def make_plan(wanted: Wanted, step: Callable[[], None]) -> MadePlan:
    """Any thread may make a plan; `step` is called again and again and may raise to end it."""
    return MadePlan(*_timed(lambda: LivePlan.made(wanted.asked, wanted.known, step)))


class Planner:
    """Not for several threads at once."""

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
        self._waiting: dict[str, Wanted] = {}

    @property
    def waiting(self) -> dict[str, Wanted]:
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
        self._waiting[source] = Wanted(asked, known(source))
        return True

    def _keep_only(self, sources: Collection[str]) -> None:
        self._kept = {source: kept for source, kept in self._kept.items() if source in sources}
        self._waiting = {source: one for source, one in self._waiting.items() if source in sources}

    def put_in_force(
        self, queries: Sequence[Query], known: Known, now: datetime
    ) -> tuple[PlannedSource, ...]:
        """The plans for these queries, by source; those of earlier queries are changed where they differ."""
        asked = asked_of_sources(queries)
        self._keep_only(asked)
        until = time.monotonic() + self._most_s
        planned = (self._put_or_leave(source, asked[source], known, now, until) for source in sorted(asked))
        return tuple(one for one in planned if one is not None)

    def follow(self, queries: Sequence[Query], known: Known, now: datetime) -> None:
        """Take changes of queries into the live plans; what is in force stays what it was."""
        asked = asked_of_sources(queries)
        self._keep_only(asked)
        for source in sorted(asked):
            if self._waits(source, asked[source], known):
                continue
            kept = self._kept.setdefault(source, _Kept(LivePlan(known(source)), now, 0.0, InForce(())))
            _change(kept.live, asked[source])

    @property
    def has_plans(self) -> bool:
        return bool(self._kept or self._waiting)

    def resume(self, stored: StoredPlan, known: Known, now: datetime) -> None:
        """Take over plans that another process put in force."""
        for source, plan in stored.items():
            asked = {name: plan.conditions[node] for node, names in enumerate(plan.names) for name in names}
            if self._waits(source, asked, known):
                continue
            live, planning_s = _timed(lambda asked=asked, source=source: LivePlan.made(asked, known(source)))  # type: ignore[misc]
            runs = [live.graph.registry.run_of(condition) for condition in plan.conditions]
            nodes = [(runs[node], runs[parent]) for node, parent in enumerate(plan.parents) if node]
            self._kept[source] = _Kept(live, now, planning_s, InForce(tuple(sorted(nodes))))

    def standings(self, known: Known, now: datetime) -> tuple[Standing, ...]:
        """What has become of the plans in force by what is known now; live plans believe it from here on."""
        return tuple(
            self._standing(source, kept, known(source), now) for source, kept in sorted(self._kept.items())
        )

    def replan(self, source: str, now: datetime) -> None:
        """Make the live plan of a source anew; it is in force when the queries are put in force again."""
        kept = self._kept[source]
        fresh, kept.planning_s = _timed(kept.live.replanned)
        kept.made_at = now
        if fresh.cost <= kept.live.cost:
            kept.live = fresh

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
            _log.exception("the filters of source %s are not planned", source)
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
        kept.put = in_force(kept.live)
        kept.planned = planned_source(source, kept.live.predicates, kept.live.snapshot(), known)  # type: ignore[arg-type]
        return kept.planned

    def _standing(self, source: str, kept: _Kept, known: SourceStatistics, now: datetime) -> Standing:
        kept.live.reweigh(known)
        drift = drift_of(kept.live, kept.put)
        is_stale = should_replan(
            drift,
            rate=known.rate,
            filter_s=filter_s(kept.planned),
            planning_s=kept.planning_s,
            since_s=(now - kept.made_at).total_seconds(),
            policy=self._policy,
        )
        return Standing(source, drift, is_stale)


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
