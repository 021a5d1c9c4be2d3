"""The cheapest filter tree there is, by integer programming: for small sets, to know how far from it a
heuristic is.

Every open node pays the selectivity of one open node that subsumes it, or 1 below `true`. So the choice is
which candidates to open and one parent for every open node:

    min  Σ sel(u)·x(u,v)      with  Σ_u x(u,v) = open(v),  x(u,v) ≤ open(u),  open(terminal) = 1
"""

from __future__ import annotations

import highspy
import numpy as np

from feedweir.optimize.filter_plans.filter_tree import ROOT, FilterTree
from feedweir.optimize.filter_plans.numbered_clauses import CodedPredicates
from feedweir.published.factorisation.graph import SubsumptionGraph, build_graph, tree_from

MAX_NODES = 2_000
"""More than the solver answers in seconds."""


def exact(coded: CodedPredicates, *, time_limit_s: float = 60.0) -> FilterTree:
    """The optimum over the subsumption graph."""
    graph = build_graph(coded)
    if graph.count > MAX_NODES:
        raise ValueError(f"{graph.count} nodes are too many for the exact solver; it takes {MAX_NODES}")
    nodes = [node for node in range(1, graph.count) if node in graph.terminals or is_closed(graph, node)]
    return tree_from(graph, _solve(graph, nodes, time_limit_s))


def is_closed(graph: SubsumptionGraph, node: int) -> bool:
    """Whether a candidate subsumes two predicates and no stronger candidate subsumes the same ones, which
    would serve them for less.
    """
    served = graph.below[node] & graph.terminals
    stronger = (other for other in graph.below[node] if other not in graph.terminals)
    return len(served) >= 2 and all(graph.below[other] & graph.terminals != served for other in stronger)


def _solve(graph: SubsumptionGraph, nodes: list[int], time_limit_s: float) -> dict[int, int]:
    solver = highspy.Highs()
    solver.setOptionValue("output_flag", False)
    solver.setOptionValue("threads", 1)
    solver.setOptionValue("time_limit", time_limit_s)
    solver.setOptionValue("mip_rel_gap", 1e-9)
    kept = set(nodes)
    opened = {node: at for at, node in enumerate(nodes)}
    edges = [(u, v) for v in nodes for u in (ROOT, *sorted(graph.above[v] & kept))]
    for node in nodes:
        solver.addVar(1.0 if node in graph.terminals else 0.0, 1.0)
    for column in range(len(nodes)):
        solver.changeColIntegrality(column, highspy.HighsVarType.kInteger)
    for u, _ in edges:
        solver.addVar(0.0, 1.0)
        solver.changeColCost(solver.getNumCol() - 1, graph.selectivity[u])
    _add_rows(solver, graph, edges, opened)
    solver.run()
    values = solver.getSolution().col_value
    chosen = [edge for at, edge in enumerate(edges) if values[len(nodes) + at] > 0.5]
    return _cheapest_parents(graph, {v for _, v in chosen})


def _add_rows(
    solver: highspy.Highs, graph: SubsumptionGraph, edges: list[tuple[int, int]], opened: dict[int, int]
) -> None:
    into: dict[int, list[int]] = {node: [] for node in opened}
    for at, (u, v) in enumerate(edges, start=len(opened)):
        into[v].append(at)
        if u in opened and u not in graph.terminals:
            _row(solver, -1.0, 0.0, [at, opened[u]], [1.0, -1.0])
    for node, columns in into.items():
        _row(solver, 0.0, 0.0, [*columns, opened[node]], [1.0] * len(columns) + [-1.0])


def _row(solver: highspy.Highs, low: float, high: float, columns: list[int], values: list[float]) -> None:
    solver.addRow(low, high, len(columns), np.array(columns, np.int32), np.array(values, np.float64))


def _cheapest_parents(graph: SubsumptionGraph, nodes: set[int]) -> dict[int, int]:
    return {
        node: min(sorted(graph.above[node] & nodes), key=graph.order_of, default=ROOT)
        for node in sorted(nodes)
    }
