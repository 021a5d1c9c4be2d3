"""Circles: the program that forbids all of them against one that forbids only those that turn up."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from feedweir.network.choice import Columns, columns_within, solve
from feedweir.network.circles import circles_in, components, within_components
from feedweir.network.network_plan import Options, plan_of
from feedweir.network.prices import no_prices, relaxed
from feedweir.network.problem import Problem
from feedweir.network.view_text import tree_branch
from tests.network import worlds


@settings(max_examples=200, deadline=None)
@given(st.sets(st.tuples(st.integers(0, 7), st.integers(0, 7))))
def test_components_are_the_sets_that_reach_each_other(edges: set[tuple[int, int]]) -> None:
    reaches = np.zeros((8, 8), bool)
    for one, other in edges:
        reaches[one, other] = True
    for _ in range(3):
        reaches |= reaches @ reaches
    sets = {
        tuple(np.flatnonzero(reaches[k] & reaches[:, k] | (np.arange(8) == k)).tolist()) for k in range(8)
    }
    found = components(np.array([one * 8 + other for one, other in edges], np.int64), 8)
    assert found == sorted(one for one in sets if len(one) > 1)


def alike(copies: int, seed: int, count: int = 5) -> Problem:
    """Views of the same documents, any of which can fill any other from its subtree; `copies` of each of the first
    two. What a rewriting costs is drawn."""
    more = [
        ", ".join(chosen) for size in range(4) for chosen in combinations(("val y", "val z", "val w"), size)
    ]
    texts = [f"path //a->x[b->y][c->z][d->w] return cont x, {given}".rstrip(", ") for given in more[:count]]
    views = [tree_branch(text, "xmark") for text in [*texts, *texts[:2] * (copies - 1)]]
    problem = worlds.problem(views)
    rng = np.random.default_rng(seed)
    return replace(
        problem, direct_cost=rng.integers(50, 90, count).astype(np.float64), copy_cost=np.full(count, 1.0)
    )


def priced(problem: Problem, seed: int) -> Columns:
    columns, cut = columns_within(problem, relaxed(problem, no_prices(problem)), 1e12)
    assert not cut
    cost = columns.cost.copy()
    cost[: columns.begin_direct] = np.random.default_rng(seed + 1).integers(1, 60, columns.begin_direct)
    return replace(columns, cost=cost)


def never_filled(columns: Columns, times: NDArray[np.float64]) -> tuple[int, ...]:
    """Kinds none of whose chosen rewritings ever gets all that it waits for."""
    left = set(columns.target.tolist())
    while True:
        ready = set()
        for column in np.flatnonzero(times[: columns.begin_copies] > 0.5).tolist():
            fed = columns.covers.members[column].tolist() if column < columns.begin_direct else []
            if not left.intersection(fed):
                ready.add(int(columns.target[column]))
        if not left & ready:
            return tuple(sorted(left))
        left -= ready


@pytest.mark.parametrize("copies", [1, 3])
@pytest.mark.parametrize("seed", range(8))
def test_no_circle_is_chosen_and_no_plan_without_one_is_lost(seed: int, copies: int) -> None:
    problem = alike(copies, seed)
    columns = priced(problem, seed)
    assert max(map(len, within_components(columns).components)) == 5
    circles: set[tuple[int, ...]] = set()
    lengths = set()
    while True:
        best = solve(problem, columns, is_whole=True, seconds=60, circles=sorted(circles))
        waiting = never_filled(columns, best.times)
        if not waiting:
            break
        assert waiting not in circles
        circles.add(waiting)
        lengths.add(len(waiting))
    assert lengths, "nothing was to be forbidden"
    found = solve(problem, columns, is_whole=True, seconds=60)
    assert not circles_in(problem, columns, found.times)
    assert found.cost == pytest.approx(best.cost)


def test_orders_alone_forbid_every_circle(monkeypatch: pytest.MonkeyPatch) -> None:
    """Components that are too large for a row of each set."""
    monkeypatch.setattr("feedweir.network.circles.MOST_IN_ALL_SETS", 0)
    monkeypatch.setattr("feedweir.network.circles.MOST_IN_THREES", 0)
    for seed in range(8):
        test_no_circle_is_chosen_and_no_plan_without_one_is_lost(seed, 1 + 2 * (seed % 2))


def test_views_of_which_each_could_fill_each_are_planned() -> None:
    plan = plan_of(alike(2, 0, 8), Options(gap=1e-9))
    assert sum(filling.is_direct for filling in plan.fillings) == 1
    assert plan.gap < 1e-6
