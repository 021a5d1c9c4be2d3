"""Covers: the cheapest at any prices and all within a limit, compared with trying all sets of views."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from feedweir.network.covers import Covers, cheapest, costs_of, full_masks, within
from feedweir.network.problem import Problem
from feedweir.network.view_text import tree_branch
from feedweir.network.views import TreeBranch
from tests.network import worlds
from tests.network.naive import minimal_covers
from tests.network.strategies import branches

Way = tuple[int, frozenset[int]]
"""The host, or -1; and all feeders."""


def ways_of(problem: Problem, q: int) -> dict[Way, float]:
    """Every cover of a view without a superfluous feeder, with its cost: joined at the view, or at one of the
    feeders."""
    pairs, work = problem.pairs, problem.work
    held: dict[int, tuple[int, float, float]] = {}
    for g in range(pairs.groups[q], pairs.groups[q + 1]):
        for k in range(pairs.pairs[g], pairs.pairs[g + 1]):
            held[int(pairs.feeder[k])] = (mask_of(pairs.masks[g]), pairs.sizes[g], float(pairs.share[k]))
    full = mask_of(pairs.full[q])

    def sending(v: int) -> float:
        _, size, share = held[v]
        cpu = 1e8 * 1e-6 * (work.tuples[v] + work.tuples[v] * share)
        return float(cpu + work.tuples[v] * share * size * 2)

    def hosting(v: int) -> float:
        return float(1e8 * 1e-6 * work.tuples[v] + work.tuples[q] * work.size[q] * 2)

    def covers(chosen: tuple[int, ...]) -> bool:
        return sum_of(held[v][0] for v in chosen) == full

    found: dict[Way, float] = {}
    for size in range(1, 5):
        for chosen in combinations(sorted(held), size):
            if not covers(chosen) or any(covers(rest) for rest in combinations(chosen, size - 1) if rest):
                continue
            found[-1, frozenset(chosen)] = sum(map(sending, chosen))
            for host in chosen:
                rest = [v for v in chosen if v != host]
                found[host, frozenset(chosen)] = hosting(host) + sum(map(sending, rest))
    return found


def mask_of(words: np.ndarray) -> int:  # type: ignore[type-arg]
    return sum(int(word) << (64 * at) for at, word in enumerate(words))


def sum_of(masks: object) -> int:
    total = 0
    for mask in masks:  # type: ignore[attr-defined]
        total |= mask
    return total


def way(covers: Covers, at: int) -> Way:
    members = [int(v) for v in covers.members[at] if v >= 0]
    return (members[0] if covers.is_hosted[at] else -1), frozenset(members)


def compare(problem: Problem, price: np.ndarray) -> None:  # type: ignore[type-arg]
    costs, best = cheapest(problem.pairs, problem.work, price)
    everything, cut = within(problem.pairs, problem.work, price, np.full(len(price), 1e12), 100_000)
    assert not cut
    listed: dict[int, dict[Way, float]] = {}
    real = costs_of(everything, problem.pairs, problem.work)
    for at, q in enumerate(everything.target.tolist()):
        assert way(everything, at) not in listed.setdefault(q, {})
        listed[q][way(everything, at)] = real[at]
    for q in range(len(price)):
        ways = ways_of(problem, q)
        assert listed.get(q, {}) == pytest.approx(ways)
        asked = [cost + price[list(feeders)].sum() for (_, feeders), cost in ways.items()]
        assert costs[q] == pytest.approx(min(asked, default=np.inf))
        if asked:
            host, feeders = way(best, q)
            assert ways[host, feeders] + price[list(feeders)].sum() == pytest.approx(costs[q])


@pytest.mark.parametrize("seed", range(3))
def test_the_cheapest_cover_at_any_prices_is_found_and_every_one_is_listed_once(seed: int) -> None:
    problem = worlds.xmark(60, seed)
    rng = np.random.default_rng(seed)
    n = len(problem.copies)
    compare(problem, np.zeros(n))
    compare(problem, rng.random(n) * 300 * (rng.random(n) < 0.5))


@given(st.lists(branches(), min_size=2, max_size=6, unique=True), st.randoms(use_true_random=False))
@settings(max_examples=60, deadline=None)
def test_small_views_too(views: list[TreeBranch], random: object) -> None:
    problem = worlds.problem(views, source="S")
    n = len(problem.copies)
    compare(problem, np.array([random.choice((0.0, 50.0, 500.0)) for _ in range(n)]))  # type: ignore[attr-defined]


@given(st.lists(branches(), min_size=2, max_size=5, unique=True))
@settings(max_examples=100, deadline=None)
def test_covers_are_those_of_the_definition(views: list[TreeBranch]) -> None:
    problem = worlds.problem(views, source="S")
    firsts = [views[int(at)] for at in np.unique(problem.kind_of, return_index=True)[1]]
    n = len(problem.copies)
    found, _ = within(problem.pairs, problem.work, np.zeros(n), np.full(n, 1e12), 100_000)
    for q in range(n):
        others = [v for v in range(n) if v != q]
        expected = {
            frozenset(others[v] for v in chosen)
            for chosen in minimal_covers(firsts[q], [firsts[v] for v in others])
        }
        mine = {way(found, int(at))[1] for at in np.flatnonzero(found.target == q)}
        assert {one for one in mine if len(one) <= 4} == expected


def test_the_views_of_the_paper_are_joined_by_ids() -> None:
    texts = ("path //a[.//c]//b", "path //a", "path //a[.//c]", "path //a//b")
    problem = worlds.problem([tree_branch(text, "S") for text in texts], source="S")
    found, _ = within(problem.pairs, problem.work, np.zeros(4), np.full(4, 1e12))
    assert {way(found, int(at))[1] for at in np.flatnonzero(found.target == 0)} == {frozenset((2, 3))}


def test_views_of_more_than_64_parts_are_covered() -> None:
    steps = "".join(f"[s{k}->x{k}]" for k in range(50))
    half = "".join(f"[s{k}->x{k}]" for k in range(25))
    other = "".join(f"[s{k}->x{k}]" for k in range(25, 50))
    wide = ", ".join(f"val x{k}" for k in range(50))
    views = [
        tree_branch(f"path //a{steps} return {wide}", "S"),
        tree_branch(f"path //a{half} return " + ", ".join(f"val x{k}" for k in range(25)), "S"),
        tree_branch(f"path //a{other} return " + ", ".join(f"val x{k}" for k in range(25, 50)), "S"),
    ]
    problem = worlds.problem(views, source="S")
    assert problem.pairs.masks.shape[1] == 2
    costs, best = cheapest(problem.pairs, problem.work, np.zeros(3))
    assert way(best, 0)[1] == {1, 2}
    assert np.isfinite(costs[0])
    assert not np.isfinite(costs[1:]).any()


def test_full_masks() -> None:
    masks = full_masks(np.array([0, 1, 63, 64, 65, 128]), 2)
    assert [mask_of(row) for row in masks] == [2**n - 1 for n in (0, 1, 63, 64, 65, 128)]
