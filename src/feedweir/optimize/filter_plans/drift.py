"""How far the plan in force has drifted from what a fresh one would cost, without making one; and whether to make one.

Beside the plan that is executed stands the live one, which takes every change in place and believes every new
statistic. Improved node by node, which takes a thirtieth of planning, it costs what a fresh plan costs within a few
percent: so it is the estimate of a fresh one.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from feedweir.optimize.filter_plans.clause_registry import Run
from feedweir.optimize.filter_plans.live_plan import LivePlan
from feedweir.optimize.statistics import HALF_LIFE_S


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
    horizon_s: float = HALF_LIFE_S
    """The time in which a new plan must earn what making it takes: as long as what it goes by is believed."""
    time_share: float = 0.001
    """The share of the time since the last plan that making one may take even if it earns less."""
    min_interval_s: float = 60.0


@dataclass(frozen=True, slots=True)
class Standing:
    """How the plan of a source in force stands beside a fresh one, and why no new one is made."""

    source: str
    made_at: datetime
    made_because: str
    threshold: float
    drift: Drift | None = None
    """None before it was looked at."""
    judged_at: datetime | None = None
    waits_because: str = ""
    """Empty when a new plan should be made."""

    @property
    def is_stale(self) -> bool:
        return self.drift is not None and not self.waits_because


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
    """Compare what is in force with the live plan, improved; a fresh one is at least as good as what is in force."""
    plan.improve()
    cost = cost_in_force(plan, kept)
    return Drift(cost, min(cost, plan.cost))


def reason_to_wait(
    drift: Drift,
    *,
    rate: float,
    filter_s: float,
    making_s: float,
    since_s: float,
    policy: ReplanPolicy = ReplanPolicy(),  # noqa: B008 - a frozen value
) -> str:
    """Why no new plan should be made; empty when one should.

    `rate` is the source's items a second, `filter_s` what evaluating a filter takes, `making_s` what planning it and
    compiling the set anew takes, `since_s` how long ago the last plan was made.
    """
    if drift.excess <= policy.threshold:
        return "it costs little more than a new one"
    if since_s < policy.min_interval_s:
        return (
            f"the last one was made {since_s:.0f} s ago; at most one is made in {policy.min_interval_s:.0f} s"
        )
    saved_s = (drift.cost - drift.fresh_cost) * rate * filter_s * policy.horizon_s
    if making_s <= max(saved_s, policy.time_share * since_s):
        return ""
    return (
        f"making one takes {making_s:.4g} s and would save {saved_s:.2g} s in {policy.horizon_s / 86_400:.3g} days; "
        f"it will be made when the last one is {making_s / policy.time_share:.0f} s old"
    )
