"""Choosing one rewriting for every view: an integer program over the rewritings that can be part of a best plan.

Prices tell which: a rewriting that costs more than its view's cheapest by more than a plan may differ from the
bound is in no best plan. What is left goes to HiGHS. Equal views are one row that takes as many rewritings as there
are views; all but one may be copies.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from feedweir.errors import SettingsError
from feedweir.network.circles import larger_circles, mutual, order_rows, way_out_rows, within_components
from feedweir.network.covers import Covers, costs_of, distinct, joined, within
from feedweir.network.prices import Prices, Relaxed, with_tolls
from feedweir.network.problem import Problem

MOST_OF_ONE = 2_000
"""Rewritings of one view that are taken into the program; where there are more, the gap tells what that may cost."""


@dataclass(frozen=True, slots=True)
class Columns:
    """Rewritings: of a kind from others, of a kind from its sources, of a kind from itself, in this order."""

    covers: Covers
    target: NDArray[np.int32]
    cost: NDArray[np.float64]
    begin_direct: int
    begin_copies: int


@dataclass(frozen=True, slots=True)
class Solved:
    """How often each rewriting is used; what that costs; what HiGHS says of rows, where it solved the relaxation."""

    times: NDArray[np.float64]
    cost: float
    bound: float
    prices: Prices | None
    over: NDArray[np.float64]
    """By how much each bound of a kind, then of a source, is exceeded."""
    status: str
    seconds: float


def columns_within(problem: Problem, at: Relaxed, slack: float | NDArray[np.float64]) -> tuple[Columns, int]:
    """All rewritings that cost at most `slack` more than the cheapest at these prices; how many views had too many."""
    pairs, credit = with_tolls(problem.pairs, at.prices)
    covers, cut = within(pairs, problem.work, at.prices.kinds, at.outside + credit + slack, MOST_OF_ONE)
    direct = problem.direct_cost + problem.reads @ at.prices.sources - credit
    kinds = np.flatnonzero(direct <= at.outside + slack).astype(np.int32)
    return columns_of(problem, covers, kinds), cut


def columns_of(problem: Problem, covers: Covers, direct: NDArray[np.int32]) -> Columns:
    """Columns for these rewritings, and for copies."""
    copied = np.flatnonzero(problem.copies > 1).astype(np.int32)
    costs = costs_of(covers, problem.pairs, problem.work)
    return Columns(
        covers,
        np.concatenate([covers.target, direct, copied]).astype(np.int32),
        np.concatenate([costs, problem.direct_cost[direct], problem.copy_cost[copied]]),
        len(covers.target),
        len(covers.target) + len(direct),
    )


def united(problem: Problem, several: Sequence[Columns]) -> Columns:
    """The columns of all, each once."""
    direct = [one.target[one.begin_direct : one.begin_copies] for one in several]
    covers = distinct(joined([one.covers for one in several]))
    return columns_of(problem, covers, np.unique(np.concatenate(direct)))


def solve(
    problem: Problem,
    columns: Columns,
    *,
    is_whole: bool,
    seconds: float,
    penalty: float = 0.0,
    circles: Sequence[Sequence[int]] | None = None,
    gap: float = 0.0,
) -> Solved:
    """The cheapest choice of columns. With a `penalty` bounds may be exceeded, at that price for each place.

    A whole program has no circles, unless `circles` says which are forbidden and that others are not. In the
    relaxation only circles of two are.
    """
    highspy = _highspy()
    n, n_sources = len(problem.copies), len(problem.sources)
    capacity = np.append(problem.capacity, problem.source_capacity)
    bounded = np.flatnonzero(np.isfinite(capacity))
    row_of = np.full(n + n_sources, -1)
    row_of[bounded] = n + np.arange(len(bounded))
    rows, starts = _entries(problem, columns, row_of, n + len(bounded))
    several = np.flatnonzero(problem.copies > 1)
    first_cut = n + len(bounded) + len(several)
    within = within_components(columns) if circles is None else None
    circles = mutual(within) if within is not None else circles or ()
    cuts = [way_out_rows(columns, circles)]
    if is_whole and within is not None:
        cuts.append(way_out_rows(columns, larger_circles(within)))
        cuts.append(order_rows(problem, columns, within))
    cost, upper = columns.cost, problem.copies[columns.target].astype(float)
    entries = [(rows, np.repeat(np.arange(len(starts) - 1), np.diff(starts)), np.ones(len(rows)))]
    first_row = first_cut
    for cut in cuts:
        entries.append((first_row + cut.row, cut.column, cut.value))
        first_row += len(cut.low)
        cost, upper = np.append(cost, np.zeros(len(cut.upper))), np.append(upper, cut.upper)
    is_integer = np.concatenate([np.ones(len(columns.target), bool), *(cut.is_whole for cut in cuts)])
    first_over = len(cost)
    if penalty:
        over_rows = n + np.arange(len(bounded))
        entries.append((over_rows, first_over + np.arange(len(bounded)), np.full(len(bounded), -1.0)))
        cost = np.append(cost, np.full(len(bounded), penalty))
        upper = np.append(upper, np.full(len(bounded), np.inf))
        is_integer = np.append(is_integer, np.ones(len(bounded), bool))
    cut_low = np.concatenate([cut.low for cut in cuts])
    low = np.concatenate([problem.copies, np.full(len(bounded), -np.inf), np.ones(len(several)), cut_low])
    high = np.concatenate([problem.copies, capacity[bounded], np.full(len(several) + len(cut_low), np.inf)])
    rows, starts, values = _by_columns(entries, len(cost))
    lp = highspy.HighsLp()
    lp.num_col_, lp.num_row_ = len(cost), len(low)
    lp.col_cost_, lp.col_lower_, lp.col_upper_ = cost, np.zeros(len(cost)), upper
    lp.row_lower_, lp.row_upper_ = low.astype(float), high.astype(float)
    lp.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    lp.a_matrix_.start_, lp.a_matrix_.index_ = starts.astype(np.int32), rows.astype(np.int32)
    lp.a_matrix_.value_ = values
    if is_whole:
        kinds = (highspy.HighsVarType.kContinuous, highspy.HighsVarType.kInteger)
        lp.integrality_ = [kinds[one] for one in is_integer.tolist()]
    solver = highspy.Highs()
    solver.setOptionValue("output_flag", False)
    solver.setOptionValue("threads", 1)
    solver.setOptionValue("random_seed", 1)
    solver.setOptionValue("time_limit", float(seconds))
    solver.setOptionValue("mip_rel_gap", gap)
    solver.setOptionValue("mip_abs_gap", 1e-9)
    solver.passModel(lp)
    solver.run()
    status = solver.modelStatusToString(solver.getModelStatus())
    solution, info = solver.getSolution(), solver.getInfo()
    over = np.zeros(n + n_sources)
    if status == "Infeasible" or info.primal_solution_status != 2:
        return Solved(np.empty(0), np.inf, np.inf, None, over, status, solver.getRunTime())
    found = np.array(solution.col_value)
    times = found[: len(columns.target)]
    if penalty:
        over[bounded] = found[first_over:]
    prices = None
    if not is_whole:
        dual = -np.array(solution.row_dual)
        both = np.zeros(n + n_sources)
        both[bounded] = np.maximum(dual[n : n + len(bounded)], 0.0)
        twos = [at for at, circle in enumerate(circles) if len(circle) == 2]
        tolls = np.maximum(-dual[first_cut:][twos], 0.0) if twos else np.empty(0)
        pairs = tuple((circles[at][0], circles[at][1]) for at in twos)
        prices = Prices(both[:n], both[n:], pairs, tolls)
    bound = info.mip_dual_bound if is_whole else info.objective_function_value
    paid = float((columns.cost * times).sum())
    return Solved(
        np.round(times) if is_whole else times, paid, bound, prices, over, status, solver.getRunTime()
    )


def _entries(
    problem: Problem, columns: Columns, row_of: NDArray[np.int64], first_several: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """(rows, starts) of the matrix by columns; every entry is 1."""
    members = columns.covers.members
    n = len(problem.copies)
    several_row = np.full(n, -1)
    several = np.flatnonzero(problem.copies > 1)
    several_row[several] = first_several + np.arange(len(several))
    fed = np.where(members >= 0, row_of[:n][members], -1)
    direct = columns.target[columns.begin_direct : columns.begin_copies]
    copied = columns.target[columns.begin_copies :]
    width = max(fed.shape[1], len(problem.sources), 1)
    table = np.full((len(columns.target), width + 2), -1)
    table[:, 0] = columns.target
    table[: columns.begin_copies, 1] = several_row[columns.target[: columns.begin_copies]]
    table[: columns.begin_direct, 2 : 2 + fed.shape[1]] = fed
    from_sources = np.where(problem.reads[direct], row_of[n:], -1)
    table[columns.begin_direct : columns.begin_copies, 2 : 2 + len(problem.sources)] = from_sources
    table[columns.begin_copies :, 2] = row_of[:n][copied]
    is_entry = table >= 0
    starts = np.append(0, np.cumsum(is_entry.sum(axis=1)))
    return table[is_entry], starts


def _by_columns(
    entries: Sequence[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]], n_columns: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """(rows, starts, values) of a matrix whose entries are (row, column, value)."""
    row, column, value = (np.concatenate([part[k] for part in entries]) for k in range(3))
    order = np.lexsort((row, column))
    starts = np.searchsorted(column[order], np.arange(n_columns + 1))
    return row[order], starts, value[order]


def _highspy() -> Any:
    try:
        import highspy
    except ImportError as error:
        hint = "install it with `pip install feedweir[network]`"
        raise SettingsError("planning a network needs HiGHS, which is not installed", hint=hint) from error
    return highspy
