"""The plans of an installation: made from what is known, put in force with the set, made anew when they drift."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from datetime import datetime

from feedweir.catalog import Catalog
from feedweir.engine.directory import DataDirectory
from feedweir.engine.join_plans import JoinSet
from feedweir.engine.observations import ObservationLog
from feedweir.engine.plan_store import (
    StoredPlan,
    load_plan,
    plan_in_force,
    prune_plans,
    put_plan_in_force,
    save_plan,
)
from feedweir.engine.planner import Known, Planner, Standing, Wanted
from feedweir.engine.planning import places_of, tree_of
from feedweir.keeper.compile import compile_definitions
from feedweir.keeper.observing import statistics_of, take_in, weights_by_source
from feedweir.keeper.plan_ahead import PlanAhead
from feedweir.match.factored import SourceTree
from feedweir.optimize.drift import ReplanPolicy
from feedweir.optimize.statistics import SourceStatistics
from feedweir.plan.columns import QueryTable
from feedweir.plan.query import Query

_log = logging.getLogger(__name__)


class Plans:
    """Keeps the plans of one installation; several threads may use it."""

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
        self._planner = Planner(policy)
        self._ahead = PlanAhead()
        self._turn = threading.Lock()
        self._followed = -1
        """The version of the definitions that the live plans know."""

    def plan(self, queries: Sequence[Query]) -> tuple[SourceTree, ...]:
        """The trees for the queries of a set that is about to be compiled."""
        with self._turn:
            planned = self._planner.put_in_force(queries, self._known(), self._clock())
            waiting = self._planner.waiting
            name = save_plan(
                self._directory, planned, {source: _left(one) for source, one in waiting.items()}
            )
            put_plan_in_force(self._directory, name)
        self._ahead.begin(waiting)
        places = places_of(queries)
        return tuple(tree_of(one, places, plan=name) for one in planned)

    def learn(self, upto: int) -> None:
        """Take in what tasks counted for the batches up to the one that was published last."""
        names = {one.counted.plan for one in self._observations.read(0, upto)}
        plans: dict[str, StoredPlan] = {name: load_plan(self._directory, name) for name in sorted(names)}
        take_in(self._catalog, self._observations, plans, upto, self._clock())
        waiting = self._observations.read(upto, 1 << 62)
        prune_plans(self._directory, {one.counted.plan for one in waiting})

    def standings(self) -> tuple[Standing, ...]:
        """How the plans in force stand by what is known now."""
        with self._turn:
            known, now = self._known(), self._clock()
            if not self._planner.has_plans:
                self._planner.resume(load_plan(self._directory, plan_in_force(self._directory)), known, now)
            self._follow(known, now)
            return self._planner.standings(known, now)

    def replan(self) -> tuple[str, ...]:
        """Make the plans anew that have drifted too far, as a new version of the set; their sources.

        The pipeline goes on meanwhile: whoever puts the new version in force has it taken up by the next batch.
        """
        ready = self._taken_over()
        stale = [standing for standing in self.standings() if standing.is_stale]
        if not stale and not ready:
            return ()
        with self._turn:
            for standing in stale:
                self._planner.replan(standing.source, self._clock())
        self._catalog.feeds.renew()
        for standing in stale:
            _log.info(
                "source %s is planned anew: %.0f %% over a fresh plan",
                standing.source,
                100 * standing.drift.excess,
            )
        return (*ready, *(standing.source for standing in stale))

    def wait(self) -> None:
        """Until no plan is being made beside the set in force."""
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

    def _follow(self, known: Known, now: datetime) -> None:
        """Small changes are put in force beside the planned set: the live plans are told of them here."""
        version, definitions = self._catalog.feeds.definitions()
        if version != self._followed and self._planner.has_plans:
            compiled = compile_definitions(definitions)
            asked = QueryTable.together(compiled.queries, JoinSet(compiled.joins).queries())
            self._planner.follow(asked, known, now)
        self._followed = version

    def _known(self) -> Known:
        now = self._clock()
        records = {record.name: record for record in self._catalog.feeds.all(kind="source")}
        weights = weights_by_source(self._catalog)

        def known(source: str) -> SourceStatistics:
            record = records.get(source)
            if record is None:
                return SourceStatistics()
            return statistics_of(weights.get(record.id, {}), record.created_at, now)

        return known


def _left(wanted: Wanted) -> str:
    return f"{len(wanted.asked):,} filters are found by the index until their plan is made beside it"
