"""The filter plans of an installation: made from statistics, put in force with the set, and remade when they drift.

Plans for sources with very many filters are made in the background; until one is ready, the index finds their filters.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache

from feedweir.catalog import Catalog, FeedRecord
from feedweir.compile.plan_store import (
    StoredPlan,
    load_plan,
    load_standings,
    plan_in_force,
    prune_plans,
    put_plan_in_force,
    save_plan,
    save_standings,
)
from feedweir.compile.planner import Known, MadePlan, Planner, WantedPlan, make_plan
from feedweir.compile.statistics_intake import known_streams, statistics_of, take_in, weights_by_source
from feedweir.join.stored.join_versions import open_joins
from feedweir.logs.directory import DataDirectory, current_version
from feedweir.match import queries_of
from feedweir.match.index.filter_forest import SourceTree
from feedweir.optimize.filter_plans.drift import ReplanPolicy, Standing
from feedweir.optimize.filter_plans.source_plans import places_of, tree_of
from feedweir.optimize.join_order import has_chains, order_excess
from feedweir.optimize.statistics import SourceStatistics
from feedweir.pipeline.observations import ObservationLog
from feedweir.pipeline.sets import joins_path, own_sets
from feedweir.plan.nodes import Node
from feedweir.plan.query import Query
from feedweir.plan.query_columns import QueryTable

_log = logging.getLogger(__name__)


class Plans:
    """The plans of one installation. Thread-safe."""

    def __init__(
        self,
        catalog: Catalog,
        directory: DataDirectory,
        clock: Callable[[], datetime],
        policy: ReplanPolicy = ReplanPolicy(),  # noqa: B008 - a frozen value
    ) -> None:
        self._catalog = catalog
        self._directory = directory.plans
        self._observations = ObservationLog(directory.observations)
        self._clock = clock
        self._sets = directory.sets
        self._policy = policy
        self._chains: tuple[int, tuple[Node, ...]] = (-1, ())
        """A version of the set, and its plans with joins whose order can be chosen."""
        self._planner = Planner(policy)
        self._ahead = PlanAhead()
        self._turn = threading.Lock()
        self._is_current = False
        """Whether the live plans are those in force, for all that is asked."""

    def plan(self, queries: Sequence[Query]) -> tuple[SourceTree, ...]:
        """The filter trees for the queries of a set that is about to be compiled."""
        with self._turn:
            planned = self._planner.put_in_force(queries, self._known(), self._clock())
            waiting = self._planner.waiting
            name = save_plan(
                self._directory, planned, {source: _left(one) for source, one in waiting.items()}
            )
            put_plan_in_force(self._directory, name)
            save_standings(self._directory, self._planner.noted())
            self._is_current = True
        self._ahead.begin(waiting)
        places = places_of(queries)
        return tuple(tree_of(one, places, plan=name) for one in planned)

    def follow(self, queries: QueryTable, changed: Collection[int]) -> None:
        """Take changes into the live plans that were put in force beside the planned set: the queries that came, and
        the keys of all that changed or went."""
        with self._turn:
            if self._is_current:
                self._planner.follow(queries, changed, self._known(), self._clock())

    def learn(self, upto: int) -> None:
        """Add what tasks counted in published batches to the statistics."""
        names = {one.counted.plan for one in self._observations.read(0, upto)}
        plans: dict[str, StoredPlan] = {name: load_plan(self._directory, name) for name in sorted(names)}
        take_in(self._catalog, self._observations, plans, upto, self._clock())
        waiting = self._observations.read(upto, 1 << 62)
        prune_plans(self._directory, {one.counted.plan for one in waiting})

    def standings(self) -> tuple[Standing, ...]:
        """The drift of the plans in force, by current statistics."""
        with self._turn:
            known, now = self._known(), self._clock()
            self._resume(known, now)
            standings = self._planner.standings(known, now)
            save_standings(self._directory, standings)
            return standings

    def replan(self) -> bool:
        """Remake plans that have drifted too far, as a new version of the set; returns whether there were any.

        The pipeline goes on meanwhile: whoever puts the new version in force has it taken up by the next batch.
        """
        ready = self._taken_over()
        stale = [standing for standing in self.standings() if standing.is_stale]
        if not stale and not ready and not self._is_out_of_order():
            return False
        with self._turn:
            for standing in stale:
                self._planner.replan(standing.source, self._clock())
        self._catalog.feeds.renew()
        for standing in stale:
            assert standing.drift is not None
            _log.info(
                "the plan of source %s was made again: it had drifted by %.0f %%",
                standing.source,
                100 * standing.drift.excess,
            )
        return True

    def _is_out_of_order(self) -> bool:
        """Whether the joins of a feed would cost much less in another order, by current statistics."""
        version = current_version(self._sets)
        if version is None:
            return False
        if self._chains[0] != version:
            feeds = open_joins(joins_path(self._sets, version)).others().feeds
            self._chains = version, tuple(feed.plan for feed in feeds if has_chains(feed.plan))
        plans = self._chains[1]
        known = known_streams(self._catalog, self._clock()) if plans else None
        return known is not None and any(order_excess(plan, known) > self._policy.threshold for plan in plans)

    def wait(self) -> None:
        """Wait until no plan is being made in the background."""
        self._ahead.wait()

    def close(self) -> None:
        self._ahead.stop()

    def _taken_over(self) -> tuple[str, ...]:
        """Sources whose plans were made meanwhile; those that wait still are begun with."""
        made = self._ahead.take()
        with self._turn:
            now = self._clock()
            ready = [source for source, one in made.items() if self._planner.take_over(source, one, now)]
            waiting = self._planner.waiting
        self._ahead.begin(waiting)
        return tuple(ready)

    def _resume(self, known: Known, now: datetime) -> None:
        """Go on with the plans that an earlier process put in force, and with what was changed beside them."""
        version = current_version(self._sets)
        if self._is_current or version is None:
            return
        stored = load_plan(self._directory, plan_in_force(self._directory))
        self._planner.resume(stored, known, now, load_standings(self._directory))
        self._planner.follow(queries_of(own_sets(self._sets), version), None, known, now)
        self._is_current = True

    def _known(self) -> Known:
        """Statistics are read when they are first asked for."""
        now = self._clock()

        @cache
        def stored() -> tuple[dict[str, FeedRecord], dict[int, dict[str, float]]]:
            records = {record.name: record for record in self._catalog.feeds.all(kind="source")}
            return records, weights_by_source(self._catalog)

        def known(source: str) -> SourceStatistics:
            records, weights = stored()
            record = records.get(source)
            if record is None:
                return SourceStatistics()
            return statistics_of(weights.get(record.id, {}), record.created_at, now)

        return known


def _left(wanted: WantedPlan) -> str:
    return f"{len(wanted.asked):,} filters are found by the index until their plan is made beside it"


class _Stopped(Exception):
    """The plan is no longer needed."""


@dataclass(frozen=True, slots=True)
class _Stop:
    asked: threading.Event

    def __call__(self) -> None:
        if self.asked.is_set():
            raise _Stopped


class PlanAhead:
    """One thread at a time makes the plans that wait; it stops within a few milliseconds when asked to."""

    def __init__(self) -> None:
        self._thread: threading.Thread | None = None
        self._stop = threading.Event()
        self._made: dict[str, MadePlan] = {}

    def begin(self, wanted: Mapping[str, WantedPlan]) -> None:
        """Make the plans of these sources, unless plans are being made or wait to be taken."""
        if wanted and self._thread is None:
            self._stop.clear()
            self._thread = threading.Thread(
                target=self._work, args=(dict(wanted),), name="plan-ahead", daemon=True
            )
            self._thread.start()

    def take(self) -> dict[str, MadePlan]:
        """Plans that are ready; each is returned once, and none while one is being made."""
        if self._thread is None or self._thread.is_alive():
            return {}
        made, self._thread, self._made = self._made, None, {}
        return made

    def wait(self) -> None:
        """Wait until no plan is being made."""
        if self._thread is not None:
            self._thread.join()

    def stop(self) -> None:
        self._stop.set()
        self.wait()

    def _work(self, wanted: dict[str, WantedPlan]) -> None:
        for source in sorted(wanted):
            try:
                self._made[source] = make_plan(wanted[source], _Stop(self._stop))
            except _Stopped:
                return
            except Exception:  # the index answers the same
                _log.exception("no filter plan could be made for source %s", source)
