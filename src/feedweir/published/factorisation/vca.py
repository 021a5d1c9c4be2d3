"""VCA over the whole subsumption graph, step by step as published: the candidates are found anew at each
step.
"""

from __future__ import annotations

from feedweir.optimize.filter_plans.filter_tree import ROOT, FilterTree
from feedweir.optimize.filter_plans.numbered_clauses import CodedPredicates
from feedweir.published.factorisation.graph import SubsumptionGraph, build_graph, tree_from

EPSILON = 1e-12


def vca(coded: CodedPredicates) -> FilterTree:
    """Greedy: insert the most selective candidate that subsumes two nodes of the border, as long as one
    helps.
    """
    graph = build_graph(coded)
    parents = dict.fromkeys(sorted(graph.terminals), ROOT)
    rejected: set[int] = set()
    while (candidate := best_candidate(graph, border_of(parents), rejected)) is not None:
        factorized = factorized_by(graph, candidate, border_of(parents))
        if is_beneficial(graph, candidate, factorized, candidate in parents):
            expand(graph, parents, candidate, factorized)
        else:
            rejected.add(candidate)
    return tree_from(graph, parents)


def border_of(parents: dict[int, int]) -> set[int]:
    """The children of `true`."""
    return {node for node, parent in parents.items() if parent == ROOT}


def best_candidate(graph: SubsumptionGraph, border: set[int], rejected: set[int]) -> int | None:
    """The most selective node, not yet rejected, that subsumes at least two nodes of the border."""
    counts: dict[int, int] = dict.fromkeys(border, 1)
    for node in border:
        for other in graph.above[node]:
            counts[other] = counts.get(other, 0) + 1
    candidates = [node for node, count in counts.items() if count >= 2 and node not in rejected]
    return min(candidates, key=graph.order_of, default=None)


def factorized_by(graph: SubsumptionGraph, candidate: int, border: set[int]) -> list[int]:
    """The nodes of the border that a candidate subsumes, itself apart."""
    return sorted(graph.below[candidate] & border)


def is_beneficial(graph: SubsumptionGraph, candidate: int, factorized: list[int], is_there: bool) -> bool:
    """Whether the plan gets cheaper. A candidate that the plan already has is inserted for nothing: each node
    that goes below it gains by itself.
    """
    if is_there:
        return graph.selectivity[candidate] < 1.0 - EPSILON
    return benefit(len(factorized), graph.selectivity[candidate], 1.0) > EPSILON


def expand(graph: SubsumptionGraph, parents: dict[int, int], candidate: int, factorized: list[int]) -> None:
    """Put a candidate between `true` and what it subsumes there, and drop nodes that no longer pay below
    it.
    """
    parents[candidate] = ROOT
    for node in factorized:
        parents[node] = candidate
        children = [child for child, parent in parents.items() if parent == node]
        if node not in graph.terminals and children and is_dispensable(graph, node, candidate, len(children)):
            reduce(parents, node, candidate, children)


def is_dispensable(graph: SubsumptionGraph, node: int, parent: int, children: int) -> bool:
    return benefit(children, graph.selectivity[node], graph.selectivity[parent]) < -EPSILON


def reduce(parents: dict[int, int], node: int, parent: int, children: list[int]) -> None:
    """Give the children of a node to its parent, and forget the node."""
    parents.update(dict.fromkeys(children, parent))
    del parents[node]


def benefit(k: int, selectivity_x: float, selectivity_y: float) -> float:
    """What the plan gains by inserting x between y and the k children of y that x subsumes."""
    return (k - 1) * selectivity_y - k * selectivity_x
