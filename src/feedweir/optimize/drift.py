"""How far the plan in force has drifted from what a fresh one would cost, without making one; and whether to make one.

Beside the plan that is executed stands the live one, which takes every change in place and believes every new
statistic. Improved node by node, which takes a thirtieth of planning, it costs what a fresh plan costs within a few
percent: so it is the estimate of a fresh one.
"""

from __future__ import annotations

from dataclasses import dataclass

from feedweir.optimize.maintain import LivePlan
from feedweir.optimize.registry import Run


@dataclass(frozen=True, slots=True)
class InForce:
    """A plan as it was put in force: for every node its clauses and those of its parent."""

    nodes: tuple[tuple[Run, Run], ...]


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
    """The excess from which on a new plan is worth a thought: twice what the estimate errs."""
    horizon_s: float = 3_600.0
    """The time in which a new plan must earn what making it takes."""
    min_interval_s: float = 60.0


def in_force(plan: LivePlan) -> InForce:
    """To be kept when a live plan is put in force as it is now."""
    nodes = ((record.run, record.parent or ()) for record in plan.graph.open_records())
    return InForce(tuple(sorted(nodes)))


def cost_in_force(plan: LivePlan, kept: InForce) -> float:
    """Filters evaluated for an item by the plan in force, by what the live plan believes now.

    What was dropped since is still evaluated; what was added since is evaluated for every item.
    """
    evaluated = sum(plan.graph.estimate(parent) for _, parent in kept.nodes)
    known = {run for run, _ in kept.nodes}
    added = [
        record for record in plan.graph.records.values() if record.predicates and record.run not in known
    ]
    return evaluated + len(added)


def drift_of(plan: LivePlan, kept: InForce) -> Drift:
    """Compare what is in force with the live plan, improved."""
    plan.improve()
    return Drift(cost_in_force(plan, kept), plan.cost)


def should_replan(
    drift: Drift,
    *,
    rate: float,
    filter_s: float,
    planning_s: float,
    since_s: float,
    policy: ReplanPolicy = ReplanPolicy(),  # noqa: B008 - a frozen value
) -> bool:
    """Whether a new plan is expected to earn its making.

    `rate` is the source's items a second, `filter_s` what evaluating a filter takes, `planning_s` what planning
    took the last time, `since_s` how long ago that was.
    """
    if since_s < policy.min_interval_s:
        return False
    saved_s = (drift.cost - drift.fresh_cost) * rate * filter_s * policy.horizon_s
    return drift.excess > policy.threshold and saved_s > planning_s
