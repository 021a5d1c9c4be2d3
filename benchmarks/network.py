"""Plan who feeds whom: tree views over XMark, one a site, with bounds on what each may feed (tables 2 and 3).

Times are CPU seconds of one thread. The paper's machine had eight cores and Gurobi; its 100,000 views took 452 s for
embeddings, 127 s for rewritings and 120 to 240 s for the solver.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from benchmarks import _xmark
from feedweir.network.covers import cheapest
from feedweir.network.embeddings import embeddings
from feedweir.network.latency import Site, latencies
from feedweir.network.latency_search import quickened
from feedweir.network.network_plan import Options, Plan, plan_of
from feedweir.network.path_counts import count_paths, estimates
from feedweir.network.problem import Problem, Source, Weights, problem_of
from feedweir.network.view_arrays import branch_arrays
from feedweir.network.views import UNLIMITED, View
from feedweir.published.loga import quick_loga

BOUNDS = (30, 50, 100, UNLIMITED)
PAPER = {"embed_s": 452.0, "rewritings_s": 127.0, "solver_s": 180.0}
MARGIN = 1.2


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--views", type=int, help="how many views (20,000; with --full 100,000)")
    parser.add_argument("--bounds", type=int, nargs="*", help="bounds of table 3; 0 is none")
    parser.add_argument("--seed", type=int, default=1)


def run(options: argparse.Namespace) -> dict[str, object]:
    count = options.views or (100_000 if options.full else 20_000)
    bounds = [bound or UNLIMITED for bound in options.bounds] if options.bounds else BOUNDS
    plan_of(_problem(300, options.seed, 10)[0])  # compiles
    result: dict[str, object] = {"views": count, "machine": "1 thread, HiGHS"}
    branches = _xmark.views(count, options.seed)
    result |= {f"set_{name}": value for name, value in _xmark.statistics(branches).items()}
    result["agree"] = _agree(options.seed)
    for number, bound in enumerate(bounds):
        problem, seconds = _problem(count, options.seed, bound)
        if not number:
            result |= {**seconds, "edges": problem.embedded, "edges_per_view": problem.embedded / count}
        name = "none" if bound == UNLIMITED else str(bound)
        plan, plan_s = _timed(lambda problem=problem: plan_of(problem, Options(seconds=300)))
        result |= {f"{key}_{name}": value for key, value in _figures(plan).items()}
        result |= {f"{key}_{name}": value for key, value in _latency_figures(plan, options.seed).items()}
        total = seconds["problem_s"] + plan_s
        result[f"plan_s_{name}"] = round(total, 1)
        result[f"speedup_{name}"] = round(sum(PAPER.values()) * count / 100_000 / total, 1)
    return result


def _timed(work: Callable[[], Any]) -> tuple[Any, float]:
    begun = time.process_time()
    found = work()
    return found, time.process_time() - begun


def _problem(count: int, seed: int, bound: int) -> tuple[Problem, dict[str, float]]:
    """The views with their pairs and costs; the source may feed those that nobody else can, and a fifth more."""
    branches = _xmark.views(count, seed)
    paths = count_paths(_xmark.documents(40, seed + 1))
    views = [View(f"v{at}", f"s{at}", (branch,), bound) for at, branch in enumerate(branches)]
    (arrays, names), arrays_s = _timed(lambda: branch_arrays(branches))
    expected = estimates(arrays, names, paths)
    _, embed_s = _timed(lambda: embeddings(arrays, share=expected.ask_share))
    problem, problem_s = _timed(lambda: problem_of(views, [Source("xmark")], paths, Weights()))
    most = np.array([np.floor(MARGIN * _not_rewritable(problem))])
    seconds = {"arrays_s": arrays_s, "embed_s": embed_s, "problem_s": problem_s}
    return replace(problem, source_capacity=most), {key: round(one, 2) for key, one in seconds.items()}


def _not_rewritable(problem: Problem) -> int:
    """How many views nobody can feed when, of two that embed in each other, only the first feeds the second."""
    pairs, n = problem.pairs, len(problem.copies)
    target = np.repeat(np.repeat(np.arange(n), np.diff(pairs.groups)), np.diff(pairs.pairs))
    forth = pairs.feeder.astype(np.int64) * n + target
    back = target * n + pairs.feeder
    is_dropped = np.isin(forth, back) & (pairs.feeder > target)
    toll = np.where(is_dropped, np.float32(1e30), np.float32(0))
    costs, _ = cheapest(pairs._replace(toll=toll), problem.work, np.zeros(n))
    return int((costs > 1e29).sum())


def _figures(plan: Plan) -> dict[str, object]:
    problem, n = plan.problem, len(plan.fillings)
    direct = sum(filling.is_direct for filling in plan.fillings)
    fed = np.zeros(n)
    for filling in plan.fillings:
        fed[list(filling.feeders)] += 1
    bounds = np.array([view.feeds_at_most for view in problem.views])
    _, level = latencies(problem, plan.fillings, {})
    return {
        **{key: round(value, 2) for key, value in plan.seconds.items()},
        "gap": float(f"{plan.gap:.3g}"),
        "columns": len(plan.columns.target),
        "utilisation": round(plan.cost),
        "rewritten_share": round(1 - direct / n, 4),
        "views_per_rewriting": round(float(fed.sum()) / max(n - direct, 1), 3),
        "most_fed": int(fed.max()),
        "levels": int(level.max()),
        "kept": bool((fed <= bounds).all() and direct <= problem.source_capacity.sum()),
    }


def _latency_figures(plan: Plan, seed: int) -> dict[str, object]:
    """LOGA over all rewritings, with half as much again as the bounds, and ours within the bounds."""
    count = len(plan.fillings)
    rng = np.random.default_rng(seed)
    places = rng.uniform((1, 0, 0), (10, 800, 800), (count, 3)).tolist()
    sites = {f"s{at}": Site(delay, x, y) for at, (delay, x, y) in enumerate(places)}
    before, levels = latencies(plan.problem, plan.fillings, sites)
    greedy, loga_s = _timed(lambda: quick_loga(plan, sites))
    quick, together_s = _timed(lambda: quickened(plan, sites))
    after, flatter = latencies(plan.problem, quick.fillings, sites)
    return {
        "loga_s": round(loga_s, 2),
        "loga_latency_cut": round(1 - float(greedy.ways.latency.sum() / before.sum()), 4),
        "loga_more_work": round(float(greedy.ways.cost.sum()) / plan.cost - 1, 4),
        "together_s": round(together_s, 2),
        "together_latency_cut": round(1 - float(after.sum() / before.sum()), 4),
        "together_more_work": round(quick.cost / plan.cost - 1, 4),
        "levels_ratio": round(float(flatter.max() / levels.max()), 3),
    }


def _agree(seed: int) -> bool:
    """Embeddings of 100 views, all pairs: against every way of laying nodes onto nodes."""
    from tests.network.naive import lies_in

    branches = _xmark.views(100, seed)
    arrays, _ = branch_arrays(branches)
    found = embeddings(arrays)
    pairs = set(zip(found.feeder.tolist(), found.target.tolist(), strict=True))
    return pairs == {
        (v, q)
        for v, one in enumerate(branches)
        for q, other in enumerate(branches)
        if v != q and lies_in(one, other)
    }
