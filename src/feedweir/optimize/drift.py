"""How far a plan has drifted from what a fresh one would cost, without making one; and whether to make one.

A quantity that is cheap to compute follows the cost of fresh plans: every predicate pays at least the
selectivity of the best candidate that it shares with others, and the children of the root, which pay 1, must
cover all predicates: how many it takes is estimated by covering the predicates with single clauses, the most
used first. When a plan is made, the ratio of its cost to this outline is kept; later that ratio times the
outline of the moment estimates a fresh plan.
"""

from __future__ import annotations

from dataclasses import dataclass
from heapq import heapify, heappop, heappush

from feedweir.optimize.live_graph import Record
from feedweir.optimize.maintain import LivePlan
from feedweir.optimize.registry import Run


@dataclass(frozen=True, slots=True)
class Calibration:
    """What a fresh plan cost, in terms of the outline of that time."""

    ratio: float = 1.0


@dataclass(frozen=True, slots=True)
class Drift:
    """Filters evaluated for an item: by the plan as it is, and by a fresh one as estimated."""

    cost: float
    fresh_cost: float

    @property
    def excess(self) -> float:
        """The share by which the plan costs more than a fresh one; negative when the estimate is above it."""
        return self.cost / self.fresh_cost - 1.0 if self.fresh_cost else 0.0


@dataclass(frozen=True, slots=True)
class ReplanPolicy:
    threshold: float = 0.1
    """The excess from which on a new plan is worth a thought: more than the estimate errs."""
    horizon_s: float = 3_600.0
    """The time in which a new plan must earn what making it takes."""
    min_interval_s: float = 60.0
    max_changed_share: float = 0.5
    """When so many predicates have changed the estimate is not trusted any more, and a cheap new plan is made."""
    cheap_share: float = 0.01
    """The share of the horizon that planning may take to be called cheap."""


def outline_of(plan: LivePlan) -> float:
    """Roughly what a good plan for these predicates costs: the children of the root, and what is below
    them.
    """
    distinct = [record for record in plan.graph.records.values() if record.predicates]
    covers, uncovered = _cover(plan, distinct)
    inner = sum(_least_share(plan, record) for record in distinct if record.run not in uncovered)
    forced = sum(1 for record in distinct if record.run in uncovered)
    return float(covers + forced) + inner


def _cover(plan: LivePlan, distinct: list[Record]) -> tuple[int, set[Run]]:
    """How many single clauses cover most predicates, and the predicates that stay by themselves.

    A clause that is a predicate is there anyway. Others are taken while they serve two predicates that are
    not served yet, the most useful first.
    """
    uses: dict[int, set[Run]] = {}
    for record in distinct:
        for clause in plan.graph.registry.closure_of(record.run):
            if (clause,) != record.run:
                uses.setdefault(clause, set()).add(record.run)
    uncovered = {record.run for record in distinct}
    for run in [run for run in sorted(uncovered) if len(run) == 1]:
        uncovered -= uses.get(run[0], set())
    queue = [(-len(runs), clause) for clause, runs in sorted(uses.items())]
    heapify(queue)
    covers = 0
    while queue:
        promised, clause = heappop(queue)
        useful = len(uses[clause] & uncovered)
        if useful < 2 or (useful - 1) - useful * plan.graph.share_of_clause(clause) <= 0.0:
            continue
        if useful < -promised:
            heappush(queue, (-useful, clause))
            continue
        uncovered -= uses[clause]
        covers += 1
    return covers, uncovered


def calibrated(plan: LivePlan) -> Calibration:
    """To be kept beside a plan that was just made."""
    outline = outline_of(plan)
    return Calibration(plan.cost / outline if outline else 1.0)


def drift_of(plan: LivePlan, calibration: Calibration) -> Drift:
    """Compare a plan with the estimate of a fresh one, which never exceeds the naive plan."""
    return Drift(plan.cost, min(outline_of(plan) * calibration.ratio, plan.naive_cost))


def should_replan(
    drift: Drift,
    *,
    rate: float,
    filter_s: float,
    planning_s: float,
    since_s: float,
    changed_share: float = 0.0,
    policy: ReplanPolicy = ReplanPolicy(),  # noqa: B008 - a frozen value
) -> bool:
    """Whether a new plan is expected to earn its making.

    `rate` is the source's items a second, `filter_s` what evaluating a filter takes, `planning_s` what planning
    took the last time, `since_s` how long ago that was, `changed_share` the share of predicates changed since.
    """
    if since_s < policy.min_interval_s:
        return False
    if changed_share > policy.max_changed_share and planning_s < policy.cheap_share * policy.horizon_s:
        return True
    saved_s = (drift.cost - drift.fresh_cost) * rate * filter_s * policy.horizon_s
    return drift.excess > policy.threshold and saved_s > planning_s


def _least_share(plan: LivePlan, record: Record) -> float:
    """The selectivity of the best candidate that a predicate shares with another."""
    above = (plan.graph.records[run] for run in record.above if run in plan.graph.records)
    return min((one.selectivity for one in above if one.predicates or len(one.below) > 1), default=1.0)
