"""The plan: who feeds whom, what that costs, and how far it may be from the best."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from feedweir.errors import FeedweirError, NetworkError
from feedweir.network.choice import (
    Columns,
    Solved,
    columns_of,
    columns_within,
    solve,
    united,
)
from feedweir.network.circles import within_components
from feedweir.network.copies import Filling, filled
from feedweir.network.prices import Prices, Relaxed, between, no_prices, raised, relaxed
from feedweir.network.problem import Problem

GAP = 1e-4
"""A plan that is proven to be this near to the best is good enough."""
ROUNDS = 25
NARROW = 2e-3
"""How much more than the cheapest a rewriting may cost to be taken into a relaxed program, in parts of a view's
mean."""
MOST_PENALTY = 1e3
ATTEMPTS = 8
MOST_COLUMNS = 60_000
"""A program of more rewritings than these is not widened any more: its plan is as near as the gap says."""


@dataclass(frozen=True, slots=True)
class Options:
    seconds: float = 120.0
    """How long HiGHS may take, for all whole programs together; the first is never left out."""
    is_best_effort: bool = False
    """Exceed bounds as little as possible instead of failing."""
    gap: float = GAP


@dataclass(frozen=True, slots=True)
class Plan:
    problem: Problem
    columns: Columns
    times: NDArray[np.float64]
    cost: float
    bound: float
    """No plan within the bounds costs less, whatever its rewritings."""
    prices: Prices
    fillings: tuple[Filling, ...]
    """Of each view what it is filled from, in the order of the views."""
    over: dict[str, int]
    """By how much the bounds of views and sources are exceeded; empty unless that was allowed."""
    seconds: dict[str, float]
    added: float = 0.0
    """How much of the cost was added for lower latencies."""

    @property
    def gap(self) -> float:
        """How far the cheapest plan that was found may be from the best, in parts of its cost."""
        cheapest = self.cost - self.added
        return max(0.0, cheapest - self.bound) / cheapest if cheapest else 0.0


def plan_of(
    problem: Problem,
    options: Options | None = None,
    start: Prices | None = None,
    clock: Callable[[], float] = time.process_time,
) -> Plan:
    """The cheapest way to fill all views within their bounds."""
    options = options or Options()
    begun = clock()
    if not problem.views:
        nothing = columns_within(problem, relaxed(problem, no_prices(problem)), 0.0)[0]
        return Plan(problem, nothing, np.empty(0), 0.0, 0.0, no_prices(problem), (), {}, {})
    relaxation = raised(problem, start)
    priced = clock()
    columns, solved, relaxation = _solved(problem, relaxation, options)
    over = _exceeded(problem, solved)
    if over and not options.is_best_effort:
        raise infeasible(problem, columns, solved, over)
    cost = float((columns.cost * solved.times).sum())
    fillings = filled(problem, columns, solved.times)
    seconds = {"prices_s": priced - begun, "exact_s": clock() - priced}
    bound = min(relaxation.bound, cost)
    return Plan(problem, columns, solved.times, cost, bound, relaxation.prices, fillings, over, seconds)


def _solved(problem: Problem, at: Relaxed, options: Options) -> tuple[Columns, Solved, Relaxed]:
    """A whole program over the rewritings in question."""
    pool, at, penalty = _priced(problem, at, options)
    return _chosen(problem, at, options, pool, penalty)


def _priced(problem: Problem, at: Relaxed, options: Options) -> tuple[Columns, Relaxed, float]:
    """The relaxed program over ever more rewritings, until its prices prove that none is missing."""
    narrow = NARROW * (abs(at.bound) / max(len(problem.copies), 1) + 1e-9)
    dearest = float(problem.direct_cost.max(initial=1.0))
    pool = with_ways_out(problem, columns_within(problem, at, narrow)[0])
    penalty = 2 * dearest
    is_within = False
    for _ in range(ROUNDS):
        line = solve(problem, pool, is_whole=False, seconds=options.seconds, penalty=penalty)
        if line.prices is None:
            break
        is_within = not line.over.any()
        reached = line.cost + penalty * float(line.over.sum())
        middle = relaxed(problem, between(at.prices, line.prices))
        there = relaxed(problem, line.prices)
        at = max((at, middle, there), key=lambda one: one.bound)
        if reached - at.bound <= 0.5 * options.gap * abs(reached) + 1e-9:
            if is_within or penalty >= MOST_PENALTY * dearest:
                break
            penalty *= 10
        more = [columns_within(problem, one, narrow)[0] for one in (middle, there)]
        wider = with_ways_out(problem, united(problem, [pool, *more]))
        if len(wider.target) == len(pool.target) and at is not middle and at is not there:
            # Circles of three and more have no row in the relaxation, so that the bound may stay below.
            break
        pool = wider
    return pool, at, 0.0 if is_within else penalty


def with_ways_out(problem: Problem, columns: Columns) -> Columns:
    """The columns, and for all that could feed each other the one from the sources, so that no circle must be."""
    direct = columns.target[columns.begin_direct : columns.begin_copies]
    more = np.union1d(direct, within_components(columns).kinds).astype(np.int32)
    return columns if len(more) == len(direct) else columns_of(problem, columns.covers, more)


def _chosen(
    problem: Problem,
    at: Relaxed,
    options: Options,
    pool: Columns,
    penalty: float,
) -> tuple[Columns, Solved, Relaxed]:
    """Whole programs over the rewritings that cost little more than the cheapest, until none is left that could
    matter."""
    best: tuple[Columns, Solved] | None = None
    value, columns, slack, cut, left = np.inf, pool, 0.0, 0, options.seconds
    unit = abs(at.bound) / max(len(problem.copies), 1)
    for attempt in range(ATTEMPTS):
        whole = solve(
            problem,
            columns,
            is_whole=True,
            seconds=left,
            penalty=penalty,
            gap=options.gap / 4,
        )
        if whole.times.size and whole.cost + penalty * whole.over.sum() < value:
            best, value = (columns, whole), whole.cost + penalty * float(whole.over.sum())
        left -= whole.seconds
        missing = value - at.bound
        if best is not None and (missing <= options.gap * value or (attempt and slack >= missing)):
            # Whatever was left out costs more than the plan does.
            if slack >= missing and not cut and whole.status == "Optimal" and not penalty:
                at = replace(at, bound=max(at.bound, min(whole.bound, value)))
            break
        left = max(left, 1.0)
        if best is None and not penalty and attempt == ATTEMPTS - 2:
            penalty = 1e3 * float(problem.direct_cost.max(initial=1.0))
        if best is not None and (left <= 0 or len(columns.target) > MOST_COLUMNS):
            break
        slack = min(missing, unit * 0.01 * 4**attempt)
        if attempt == ATTEMPTS - 2 and len(columns.target) < MOST_COLUMNS // 10:
            # A small set can be solved to the end.
            slack = missing
        more, cut = columns_within(problem, at, slack)
        columns = with_ways_out(problem, united(problem, [pool, more]))
        if best is not None and len(columns.target) > 2 * MOST_COLUMNS:
            break
    if best is None:
        raise NetworkError("no plan was found in the time given", hint="give it more time, or wider bounds")
    return *best, at


def _exceeded(problem: Problem, solved: Solved) -> dict[str, int]:
    names = _names(problem)
    return {names[at]: round(solved.over[at]) for at in np.flatnonzero(solved.over > 0.5)}


def _names(problem: Problem) -> list[str]:
    first: dict[int, str] = {}
    for view, kind in zip(problem.views, problem.kind_of.tolist(), strict=True):
        first.setdefault(kind, view.name)
    return [first[kind] for kind in range(len(problem.copies))] + [source.name for source in problem.sources]


def infeasible(problem: Problem, columns: Columns, solved: Solved, over: dict[str, int]) -> FeedweirError:
    """Which views compete for which feeders, and the least enlargement that would do."""
    names = _names(problem)
    number = {name: at for at, name in enumerate(names)}
    told = []
    for name, more in list(over.items())[:5]:
        rivals = _fed_by(problem, columns, solved, number[name], names)
        shown = ", ".join(f"`{one}`" for one in rivals[:5]) + (" and others" if len(rivals) > 5 else "")
        told.append(f"`{name}` would have to feed {more} more ({len(rivals)} views compete for it: {shown})")
    wider = ", ".join(f"{name} by {more}" for name, more in list(over.items())[:5])
    return NetworkError(
        "no plan keeps within the bounds: " + "; ".join(told),
        hint=f"the least that would do is to raise the bounds of {wider}; or ask for `best effort`",
    )


def _fed_by(problem: Problem, columns: Columns, solved: Solved, feeder: int, names: list[str]) -> list[str]:
    n = len(problem.copies)
    chosen = np.flatnonzero(solved.times > 0.5)
    found = []
    for column in chosen.tolist():
        target = int(columns.target[column])
        if column >= columns.begin_copies:
            is_fed = target == feeder
        elif column >= columns.begin_direct:
            is_fed = feeder >= n and bool(problem.reads[target, feeder - n])
        else:
            is_fed = feeder in columns.covers.members[column]
        if is_fed:
            found.append(names[target])
    return sorted(found)
