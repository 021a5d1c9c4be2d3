"""Quicker fillings: a plan changed so that views have what was published sooner, for little more work.

Every change is judged by what it does to the cost and, along all ways behind it, to latencies: their sum, weighed by
a price for a millisecond, has to fall. The price rises until the work that may be added is spent, so that what brings
most for its work is done first. A feeder that can feed no more is left by whichever of those it feeds loses least by
it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from feedweir.network.copies import Filling
from feedweir.network.cover_kernels import INFINITE
from feedweir.network.covers import MOST_FEEDERS
from feedweir.network.latency import Net, Site, Ways, net_of, order_of, ways_of
from feedweir.network.latency_kernels import dependants, find_evictions, improve
from feedweir.network.network_plan import Plan
from feedweir.network.problem import Problem
from feedweir.network.views import UNLIMITED

PRICES = 12
"""So many prices are tried, each twice the one before."""
PASSES = 4


class Rule(NamedTuple):
    """What counts as better: latency alone, or with the cost; and how many views may be filled from sources."""

    is_quickest: bool
    most_direct: int


class Spare(NamedTuple):
    """Room for the search of one view's filling."""

    candidate: NDArray[np.int32]
    group: NDArray[np.int64]
    cost: NDArray[np.float64]
    at: NDArray[np.float64]
    least: NDArray[np.float64]
    sender: NDArray[np.int32]
    rest: NDArray[np.uint64]
    bit_least: NDArray[np.float64]
    chosen: NDArray[np.int64]
    cover: NDArray[np.int64]
    left: NDArray[np.uint64]
    bit_of: NDArray[np.int64]
    next_of: NDArray[np.int64]
    stack: NDArray[np.int32]
    seen: NDArray[np.int64]
    stamp: NDArray[np.int64]


class Trail(NamedTuple):
    """What was before a change, so that it can be undone."""

    moves: NDArray[np.int64]
    refilled: NDArray[np.int32]
    members: NDArray[np.int32]
    cost: NDArray[np.float64]
    is_hosted: NDArray[np.bool_]
    changes: NDArray[np.int64]
    changed: NDArray[np.int32]
    latency: NDArray[np.float64]
    waiting: NDArray[np.int32]
    is_waiting: NDArray[np.bool_]
    earlier: NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Search:
    """A plan's views as arrays, and room to search in."""

    problem: Problem
    net: Net
    ways: Ways
    room: NDArray[np.int64]
    """Of each view how many it may feed."""
    spare: Spare
    trail: Trail

    def passed(
        self, rule: Rule, order: NDArray[np.int64], a_ms: float, left: float, *, with_evictions: bool
    ) -> tuple[int, float]:
        """One pass over the views: (how many were filled otherwise, what is left of the work that may be added)."""
        n = len(self.room)
        weight = np.ones(n)
        dependants(self.net, self.ways, order_of(self.ways), weight)
        pairs, work = self.problem.pairs, self.problem.work
        none, victim = np.full(n, INFINITE), np.full(n, -1, np.int32)
        eviction, found = none.copy(), np.empty((2, MOST_FEEDERS), np.int32)
        known = (self.net, pairs, work, self.ways, self.room, rule)
        if with_evictions:
            find_evictions(*known, weight, a_ms, none, self.spare, found[0], eviction, victim)
        moved, left = improve(
            *known, order, weight, a_ms, left, none, eviction, victim, self.spare, self.trail, found
        )
        return int(moved), float(left)

    def fillings(self) -> tuple[Filling, ...]:
        ways = self.ways
        return tuple(
            Filling(view, tuple(int(v) for v in members if v >= 0), float(cost), bool(is_hosted))
            for view, (members, cost, is_hosted) in enumerate(
                zip(ways.members, ways.cost, ways.is_hosted, strict=True)
            )
        )


def search_of(plan: Plan, sites: Mapping[str, Site], widened: float = 1.0) -> Search:
    """A plan to be searched from; bounds of views may be widened by a factor."""
    problem = plan.problem
    net = net_of(problem, sites)
    ways = ways_of(net, plan.fillings)
    bounds = np.array([view.feeds_at_most for view in problem.views], np.int64)
    room = np.where(bounds >= UNLIMITED, bounds, np.floor(bounds * widened)).astype(np.int64)
    return Search(
        problem, net, ways, np.maximum(room, ways.fed), _spare(problem, net), _trail(len(problem.views))
    )


def quickened(plan: Plan, sites: Mapping[str, Site], more_work: float = 0.02) -> Plan:
    """The plan with quicker fillings, within the same bounds, that cost at most so much more, in parts of its cost."""
    if not plan.fillings:
        return plan
    search = search_of(plan, sites)
    rule = Rule(False, int(search.ways.direct[0]))
    left = more_work * plan.cost
    # At the first price all that the work allows would buy the latency of all views twice over.
    price = plan.cost / max(float(search.ways.latency.sum()), 1e-12) / 2.0 ** (PRICES - 4)
    for _ in range(PRICES):
        for _ in range(PASSES):
            order = np.argsort(-search.ways.latency, kind="stable")
            moved, left = search.passed(rule, order, price, left, with_evictions=True)
            if moved <= len(order) // 1_000:
                break
        price *= 2
    cost = float(search.ways.cost.sum())
    return replace(plan, fillings=search.fillings(), cost=cost, added=plan.added + cost - plan.cost)


def _spare(problem: Problem, net: Net) -> Spare:
    pairs = problem.pairs
    copies = np.diff(net.starts)
    per_pair = np.append(0, np.cumsum(copies[pairs.feeder]))
    per_kind = np.diff(per_pair[pairs.pairs[pairs.groups]]) + copies
    most = int(per_kind.max(initial=1))
    groups = int(np.diff(pairs.groups).max(initial=1))
    words = pairs.masks.shape[1]
    depths = 64 * words + 2
    n = len(problem.views)
    return Spare(
        np.empty(most, np.int32),
        np.empty(most, np.int64),
        np.empty(most),
        np.empty(most),
        np.empty(groups),
        np.empty(groups, np.int32),
        np.empty(words, np.uint64),
        np.empty(64 * words),
        np.empty(depths, np.int64),
        np.empty(depths, np.int64),
        np.empty((depths, words), np.uint64),
        np.empty(depths, np.int64),
        np.empty(depths, np.int64),
        np.empty(n + 1, np.int32),
        np.zeros(n, np.int64),
        np.zeros(1, np.int64),
    )


def _trail(n: int) -> Trail:
    return Trail(
        np.zeros(1, np.int64),
        np.empty(4, np.int32),
        np.empty((4, MOST_FEEDERS), np.int32),
        np.empty(4),
        np.empty(4, np.bool_),
        np.zeros(1, np.int64),
        np.empty(8 * n + 16, np.int32),
        np.empty(8 * n + 16),
        np.empty(n + 1, np.int32),
        np.zeros(n, np.bool_),
        np.full(n, -1.0),
    )
