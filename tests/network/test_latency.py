"""Latency: what a way through the network takes, LOGA against itself as printed, and quicker plans for little work."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence

import numpy as np
import pytest

from feedweir.network.copies import Filling
from feedweir.network.covers import costs_of, within
from feedweir.network.latency import Net, Site, latencies, net_of, ways_of
from feedweir.network.latency_search import quickened
from feedweir.network.network_plan import Options, Plan, plan_of
from feedweir.network.problem import Problem
from feedweir.published.loga import WIDENED, loga, quick_loga
from tests.network import worlds


def scattered(count: int, seed: int) -> dict[str, Site]:
    rng = random.Random(seed)
    return {
        f"s{at}": Site(rng.uniform(1, 10), rng.uniform(0, 800), rng.uniform(0, 800)) for at in range(count)
    }


def planned(count: int, seed: int, bound: int) -> Plan:
    most = int(worlds.xmark(count, seed).direct_cost.size)
    free = plan_of(worlds.xmark(count, seed, bound, most))
    direct = sum(filling.is_direct for filling in free.fillings)
    return plan_of(worlds.xmark(count, seed, bound, direct + 2), Options(gap=1e-6))


def naive_latencies(net: Net, fillings: Sequence[Filling]) -> list[float]:
    """Every view as late as its latest feeder and the way from there; of a hosted one, as late as its host has all."""

    def delay(one: int, other: int) -> float:
        way = 0.01 * float(np.hypot(net.x[one] - net.x[other], net.y[one] - net.y[other]))
        speed = min(net.speed[one], net.speed[other])
        return float(net.delay[one] + net.delay[other] + way + 1e3 * net.size[other] / speed)

    def late(view: int) -> float:
        filling = fillings[view]
        if filling.is_direct:
            return float(net.direct_ms[view])
        if not filling.is_hosted:
            return max(late(feeder) + delay(feeder, view) for feeder in filling.feeders)
        host, *others = filling.feeders
        return max(late(host), *(late(u) + delay(u, host) for u in others), 0.0) + delay(host, view)

    return [late(view) for view in range(len(fillings))]


def check(plan: Plan, sites: Mapping[str, Site], most_direct: int, widened: float = 1.0) -> None:
    """Filled without a circle, within bounds, and by rewritings that cost what is said."""
    problem = plan.problem
    ways = ways_of(net_of(problem, sites), plan.fillings)
    assert (ways.level > 0).all()
    assert ways.direct[0] <= most_direct
    bounds = np.array([view.feeds_at_most for view in problem.views])
    assert (ways.fed <= np.floor(bounds * widened)).all()
    assert plan.cost == pytest.approx(sum(filling.cost for filling in plan.fillings))
    for filling in plan.fillings:
        assert any(
            set(filling.feeders) == set(one.feeders) and filling.cost == pytest.approx(one.cost)
            for one in [*rewritings(problem, filling.view), direct(problem, filling.view)]
        )


def rewritings(problem: Problem, view: int) -> list[Filling]:
    """All minimal ones, the cheapest first; equal views are not looked at."""
    n = len(problem.copies)
    limit = np.where(np.arange(n) == view, 1e200, -1.0)
    covers, _ = within(problem.pairs, problem.work, np.zeros(n), limit)
    costs = costs_of(covers, problem.pairs, problem.work)
    return sorted(
        (
            Filling(view, tuple(int(v) for v in members if v >= 0), float(cost), bool(hosted))
            for members, cost, hosted in zip(covers.members, costs, covers.is_hosted, strict=True)
        ),
        key=lambda filling: (filling.cost, filling.feeders),
    )


def direct(problem: Problem, view: int) -> Filling:
    return Filling(view, (), float(problem.direct_cost[view]))


@pytest.mark.parametrize("seed", range(3))
def test_a_view_is_as_late_as_its_latest_feeder(seed: int) -> None:
    plan, sites = planned(60, seed, 3), scattered(60, seed)
    found, level = latencies(plan.problem, plan.fillings, sites)
    assert found.tolist() == pytest.approx(naive_latencies(net_of(plan.problem, sites), plan.fillings))
    assert level.max() > 1


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("bound", [2, 4])
def test_loga_need_not_work_out_the_whole_configuration(seed: int, bound: int) -> None:
    plan, sites = planned(40, seed, bound), scattered(40, seed)
    net = net_of(plan.problem, sites)
    alternatives = [
        [one for one in rewritings(plan.problem, view) if len(one.feeders) == 1 or not one.is_hosted]
        for view in range(40)
    ]
    fed = ways_of(net, plan.fillings).fed
    bounds = np.maximum(
        np.floor(WIDENED * np.array([v.feeds_at_most for v in plan.problem.views])), fed
    ).astype(int)
    printed = loga(net, plan.fillings, alternatives, bounds)
    quick = quick_loga(plan, sites)
    assert [set(one.feeders) for one in quick.fillings()] == [set(one.feeders) for one in printed]
    assert quick.ways.latency.sum() <= ways_of(net, plan.fillings).latency.sum()


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("bound", [2, 5])
def test_a_quicker_plan_keeps_its_bounds_and_its_budget(seed: int, bound: int) -> None:
    plan, sites = planned(60, seed, bound), scattered(60, seed)
    before, _ = latencies(plan.problem, plan.fillings, sites)
    most_direct = sum(filling.is_direct for filling in plan.fillings)
    for more_work in (0.0, 0.02, 1.0):
        quick = quickened(plan, sites, more_work)
        check(quick, sites, most_direct)
        assert quick.cost <= plan.cost * (1 + more_work) * (1 + 1e-9)
        after, _ = latencies(plan.problem, quick.fillings, sites)
        assert after.sum() <= before.sum() + 1e-6


def test_more_work_buys_more() -> None:
    plan, sites = planned(80, 1, 3), scattered(80, 1)
    before, _ = latencies(plan.problem, plan.fillings, sites)
    cut = []
    for more_work in (0.0, 0.05, 2.0):
        after, _ = latencies(plan.problem, quickened(plan, sites, more_work).fillings, sites)
        cut.append(1 - after.sum() / before.sum())
    assert cut[0] < cut[2]
    assert cut == sorted(cut)


def test_nothing_is_looked_for_in_an_empty_network() -> None:
    plan = plan_of(worlds.problem([]))
    assert quickened(plan, {}) is plan
