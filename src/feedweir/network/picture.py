"""A plan as text, as a value for JSON, and for Graphviz."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from feedweir.network.copies import Filling
from feedweir.network.covers import cheapest
from feedweir.network.latency import Site, latencies
from feedweir.network.network_plan import Plan
from feedweir.network.prices import no_prices
from feedweir.network.problem import Problem
from feedweir.network.view_text import format_tree_branch
from feedweir.network.views import TreeBranch

MOST_SHOWN = 200


def as_value(plan: Plan, sites: Mapping[str, Site]) -> dict[str, Any]:
    """Everything that was decided."""
    problem = plan.problem
    late, level = latencies(problem, plan.fillings, sites)
    return {
        "views": len(problem.views),
        "cost": round(plan.cost, 6),
        "bound": round(plan.bound, 6),
        "gap": round(plan.gap, 8),
        "added_for_latency": round(plan.added, 6),
        "mean_latency_ms": round(float(late.mean()), 3) if len(late) else 0.0,
        "over": plan.over,
        "fillings": [
            {
                "view": problem.views[filling.view].name,
                "site": problem.views[filling.view].site,
                "from": feeders_of(problem, filling),
                "level": int(level[filling.view]),
                "latency_ms": round(float(late[filling.view]), 3),
            }
            for filling in plan.fillings
        ],
    }


def feeders_of(problem: Problem, filling: Filling) -> list[str]:
    """The names of what a view is filled from."""
    if not filling.is_direct:
        return [problem.views[v].name for v in filling.feeders]
    kind = problem.kind_of[filling.view]
    return [
        source.name for source, is_read in zip(problem.sources, problem.reads[kind], strict=True) if is_read
    ]


def as_text(plan: Plan, sites: Mapping[str, Site]) -> str:
    """What a plan costs and how far it may be from the best, then who feeds whom, level by level."""
    value = as_value(plan, sites)
    rows = sorted(value["fillings"], key=lambda row: (row["level"], row["view"]))
    lines = [
        f"{value['views']} views, {sum(row['level'] == 1 for row in rows)} of them filled from their sources",
        f"cost {value['cost'] - value['added_for_latency']:g}; no plan costs less than {value['bound']:g}: "
        f"gap {100 * value['gap']:.4f} %",
        f"{value['mean_latency_ms']:g} ms from publication to a view in the mean, for "
        f"{value['added_for_latency']:g} of work on top",
    ]
    lines += [f"bound of {name} exceeded by {more}" for name, more in plan.over.items()]
    for row in rows[:MOST_SHOWN]:
        lines.append(
            f"  {row['level']}  {row['view']} at {row['site']}  <-  {', '.join(row['from'])}"
            f"  ({row['latency_ms']:g} ms)"
        )
    if len(rows) > MOST_SHOWN:
        lines.append(f"  … and {len(rows) - MOST_SHOWN} more")
    return "\n".join(lines)


def as_dot(plan: Plan) -> str:
    """For Graphviz: a box for each view, a circle where several are joined."""
    problem = plan.problem
    lines = ["digraph network {", "  rankdir=LR;", "  node [shape=box];"]
    lines += [f"  {_quoted(source.name)} [shape=ellipse];" for source in problem.sources]
    for filling in plan.fillings:
        name = problem.views[filling.view].name
        feeders = feeders_of(problem, filling)
        if len(feeders) == 1:
            lines.append(f"  {_quoted(feeders[0])} -> {_quoted(name)};")
            continue
        join = _quoted(f"∧ {name}")
        lines.append(f'  {join} [shape=circle, label="∧"];')
        lines += [f"  {_quoted(feeder)} -> {join};" for feeder in feeders]
        lines.append(f"  {join} -> {_quoted(name)};")
    return "\n".join([*lines, "}"])


def _quoted(name: str) -> str:
    return '"' + name.replace("\\", "\\\\").replace('"', '\\"') + '"'


def explained(plan: Plan, name: str, sites: Mapping[str, Site]) -> str:
    """Why a view is filled as it is: what it costs so, directly, and at best if there were no bounds."""
    problem = plan.problem
    view = next(at for at, one in enumerate(problem.views) if one.name == name)
    kind = int(problem.kind_of[view])
    late, level = latencies(problem, plan.fillings, sites)
    filling = plan.fillings[view]
    free, _ = cheapest(problem.pairs, problem.work, no_prices(problem).kinds, kind, kind + 1)
    at_prices, _ = cheapest(problem.pairs, problem.work, plan.prices.kinds, kind, kind + 1)
    fed = sorted(problem.views[f.view].name for f in plan.fillings if view in f.feeders)
    able = int(
        problem.pairs.pairs[problem.pairs.groups[kind + 1]] - problem.pairs.pairs[problem.pairs.groups[kind]]
    )
    lines = [
        f"{name} at {problem.views[view].site}: filled from {', '.join(feeders_of(problem, filling))}",
        *(
            f"  {format_tree_branch(one)}"
            for one in problem.views[view].branches
            if isinstance(one, TreeBranch)
        ),
        f"  level {level[view]}, {late[view]:.1f} ms; {problem.work.tuples[kind]:.3g} tuples of "
        f"{problem.work.size[kind]:.0f} bytes expected of a document",
        f"  costs {filling.cost:.6g}; from its sources {problem.direct_cost[kind]:.6g}; without bounds "
        + (f"{free[0]:.6g}" if free[0] < float("inf") else "no other view would do"),
        f"  {able} views can serve a part of it; the cheapest rewriting at the prices in force: "
        + (f"{at_prices[0]:.6g}" if at_prices[0] < float("inf") else "none"),
        f"  a place at it is worth {plan.prices.kinds[kind]:.6g}; it feeds {len(fed)}"
        + (f": {', '.join(fed[:10])}" if fed else ""),
    ]
    return "\n".join(lines)
