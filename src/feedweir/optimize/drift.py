"""How far a plan has drifted from what a fresh one would cost, without making one; and whether to make one.

A quantity that is cheap to compute follows the cost of fresh plans closely: every predicate pays at least the
selectivity of the best candidate that it shares with others, and predicates that have nothing in common, not
even a weaker clause, need a child of the root each. When a plan is made, the ratio of its cost to this
quantity is kept; later the same ratio times the quantity of that moment estimates what a fresh plan would
cost. One pass over the predicates, no search.
"""

from __future__ import annotations

from dataclasses import dataclass

from feedweir.optimize.maintain import LivePlan, Record


@dataclass(frozen=True, slots=True)
class Calibration:
    """What a fresh plan cost, in terms of the floor of that time."""

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


def floor_of(plan: LivePlan) -> float:
    """What every plan for these predicates pays at least, roughly."""
    paid = 0.0
    seen: set[int] = set()
    for record in _by_rarity(plan):
        closure = plan.registry.closure_of(record.run)
        if seen.isdisjoint(closure):
            paid += 1.0
        else:
            paid += _least_share(plan, record)
        seen |= closure
    return paid


def calibrated(plan: LivePlan) -> Calibration:
    """To be kept beside a plan that was just made."""
    floor = floor_of(plan)
    return Calibration(plan.cost / floor if floor else 1.0)


def drift_of(plan: LivePlan, calibration: Calibration) -> Drift:
    """Compare a plan with the estimate of a fresh one, which never exceeds the naive plan."""
    return Drift(plan.cost, min(floor_of(plan) * calibration.ratio, plan.naive_cost))


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

    `rate` is the source's items a second, `filter_s` what evaluating a filter takes, `planning_s` what
    planning took the last time, `since_s` how long ago that was.
    """
    saved_s = (drift.cost - drift.fresh_cost) * rate * filter_s * policy.horizon_s
    is_due = since_s >= policy.min_interval_s
    return is_due and drift.excess > policy.threshold and saved_s > planning_s


def _by_rarity(plan: LivePlan) -> list[Record]:
    """Predicates, those with few clauses first: they are the parents of others."""
    distinct = [record for record in plan.records.values() if record.predicates]
    return sorted(distinct, key=lambda record: (len(record.run), record.selectivity, record.run))


def _least_share(plan: LivePlan, record: Record) -> float:
    """The selectivity of the best candidate that a predicate shares with another."""
    above = (plan.records[run] for run in record.above if run in plan.records)
    return min((one.selectivity for one in above if one.predicates or len(one.below) > 1), default=1.0)
