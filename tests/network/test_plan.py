"""Plans: within every bound, without circles, and as cheap as HiGHS finds them among all rewritings at once."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from feedweir.errors import NetworkError
from feedweir.network.choice import columns_within, solve
from feedweir.network.circles import circles_in
from feedweir.network.latency import latencies
from feedweir.network.network_plan import Options, Plan, plan_of
from feedweir.network.prices import no_prices, raised, relaxed
from feedweir.network.problem import Problem
from feedweir.network.view_text import tree_branch
from tests.network import worlds


def optimum(problem: Problem) -> float:
    """The whole program over all rewritings, solved to the end; circles are forbidden as they turn up."""
    columns, cut = columns_within(problem, relaxed(problem, no_prices(problem)), 1e12)
    assert not cut
    circles: set[tuple[int, ...]] = set()
    while True:
        found = solve(problem, columns, is_whole=True, seconds=60, circles=sorted(circles))
        if not found.times.size:
            return np.inf
        more = circles_in(problem, columns, found.times)
        if not more:
            return found.cost
        circles |= set(more)


def check(plan: Plan) -> None:
    problem = plan.problem
    fed = Counter(v for filling in plan.fillings for v in filling.feeders)
    assert all(fed[at] <= view.feeds_at_most for at, view in enumerate(problem.views))
    direct = sum(filling.is_direct for filling in plan.fillings)
    assert direct <= problem.source_capacity.sum()
    assert (latencies(problem, plan.fillings, {})[1] > 0).all(), "views feed each other in a circle"
    assert plan.bound <= plan.cost * (1 + 1e-9)


def needed(problem: Problem) -> int:
    """How many views must be filled from the source whatever is done."""
    columns, _ = columns_within(problem, relaxed(problem, no_prices(problem)), 1e12)
    few = replace(problem, direct_cost=problem.direct_cost * 0 + 1e9)
    columns = replace(columns, cost=np.where(np.arange(len(columns.cost)) < columns.begin_direct, 1.0, 1e6))
    circles: set[tuple[int, ...]] = set()
    while True:
        found = solve(few, columns, is_whole=True, seconds=60, circles=sorted(circles))
        more = circles_in(few, columns, found.times)
        if not more:
            return int(found.times[columns.begin_direct : columns.begin_copies].sum())
        circles |= set(more)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("bound", [2, 4, 2**31 - 1])
def test_a_plan_costs_what_the_best_of_all_plans_does(seed: int, bound: int) -> None:
    problem = worlds.xmark(80, seed, bound)
    most = needed(problem)
    problem = worlds.xmark(80, seed, bound, most + 2)
    best = optimum(problem)
    plan = plan_of(problem, Options(gap=1e-7))
    check(plan)
    assert plan.cost == pytest.approx(best, rel=1e-6)
    assert plan.bound <= best * (1 + 1e-9)
    assert plan.gap < 0.05


def test_prices_never_prove_too_much() -> None:
    problem = worlds.xmark(60, 9, 3, 40)
    best = optimum(problem)
    for rounds in (0, 3, 10, 60):
        assert raised(problem, rounds=rounds).bound <= best * (1 + 1e-9)


def test_a_plan_is_the_same_every_time() -> None:
    plans = [plan_of(worlds.xmark(80, 1, 3)) for _ in range(2)]
    assert plans[0].fillings == plans[1].fillings


def test_a_thousand_equal_views_are_one_while_planning_and_then_a_tree() -> None:
    texts = ["path //person->p return cont p"] + ["path //person/name->n return val n"] * 1_000
    problem = worlds.problem([tree_branch(text, "xmark") for text in texts], bound=3, most_direct=1)
    assert len(problem.copies) == 2
    plan = plan_of(problem)
    check(plan)
    assert latencies(problem, plan.fillings, {})[1].max() <= 9


def test_bounds_that_nobody_can_keep_are_told_with_the_reason() -> None:
    problem = worlds.problem(
        [tree_branch(f"path //person[age = {n}]", "xmark") for n in range(5)], most_direct=3
    )
    with pytest.raises(NetworkError, match="`xmark` would have to feed 2 more") as refused:
        plan_of(problem)
    assert "raise the bounds of xmark by 2" in str(refused.value)
    assert "best effort" in str(refused.value)
    plan = plan_of(problem, Options(is_best_effort=True))
    assert plan.over == {"xmark": 2}


def test_views_that_could_only_feed_each_other_are_filled_from_the_source() -> None:
    texts = ("path //a->x[b->y] return cont x", "path //a->x[b->y] return cont x, val y")
    problem = worlds.problem([tree_branch(text, "xmark") for text in texts])
    plan = plan_of(problem)
    check(plan)
    assert sum(filling.is_direct for filling in plan.fillings) == 1


def test_capacities_of_zero() -> None:
    problem = worlds.xmark(30, 3, 0)
    plan = plan_of(problem)
    check(plan)
    assert all(filling.is_direct for filling in plan.fillings)
    with pytest.raises(NetworkError, match="bounds"):
        plan_of(worlds.xmark(30, 3, 0, 0))


def test_a_network_without_views() -> None:
    plan = plan_of(worlds.problem([]))
    assert (plan.cost, plan.gap, plan.fillings) == (0.0, 0.0, ())


def test_patterns_without_a_name() -> None:
    texts = [f"path //*->x[. = '{n}'] return val x" for n in range(200)] + ["path //*->x return val x"]
    plan = plan_of(worlds.problem([tree_branch(text, "xmark") for text in texts], bound=150, most_direct=51))
    check(plan)
