"""STA: the general approximation of minimal Steiner trees in directed graphs, for acyclic ones.

It repeatedly takes the tree of least density: cost for each predicate that it newly covers. Below a vertex
such a tree is found the same way, so the search is exhaustive in the vertices and in the number of predicates
to cover, and answers only small sets in reasonable time.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf

from feedweir.optimize.filter_plans.filter_tree import ROOT, FilterTree
from feedweir.optimize.filter_plans.numbered_clauses import CodedPredicates
from feedweir.published.factorisation.graph import SubsumptionGraph, build_graph, tree_from

Edge = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Branch:
    """Some edges below a vertex, what they cost, and the predicates they cover."""

    edges: tuple[Edge, ...] = ()
    cost: float = 0.0
    covered: frozenset[int] = frozenset()

    @property
    def density(self) -> float:
        return self.cost / len(self.covered) if self.covered else inf

    def joined(self, other: Branch) -> Branch:
        return Branch(self.edges + other.edges, self.cost + other.cost, self.covered | other.covered)


@dataclass(frozen=True, slots=True)
class _Search:
    graph: SubsumptionGraph
    known: dict[tuple[int, int, frozenset[int]], Branch] = field(default_factory=dict)
    """What was found for (vertex, predicates to cover, predicates still uncovered below the vertex)."""

    def below(self, vertex: int, wanted: int, uncovered: frozenset[int]) -> Branch:
        """A tree rooted at a vertex that covers `wanted` of the uncovered predicates."""
        key = (vertex, wanted, uncovered)
        if key not in self.known:
            self.known[key] = self._grow(vertex, wanted, uncovered)
        return self.known[key]

    def _grow(self, vertex: int, wanted: int, uncovered: frozenset[int]) -> Branch:
        tree = Branch(covered=frozenset({vertex}) & uncovered)
        while len(tree.covered) < wanted:
            best = self._densest(vertex, wanted - len(tree.covered), uncovered - tree.covered)
            tree = tree.joined(best)
        return tree

    def _densest(self, vertex: int, wanted: int, uncovered: frozenset[int]) -> Branch:
        best = Branch()
        for child in self._children(vertex):
            reachable = self._reachable(child) & uncovered
            for size in range(1, min(wanted, len(reachable)) + 1):
                found = self.below(child, size, reachable)
                edge = Branch(((vertex, child),), self.graph.selectivity[vertex])
                candidate = edge.joined(found)
                if candidate.density < best.density - 1e-12:
                    best = candidate
        return best

    def _children(self, vertex: int) -> list[int]:
        children = range(1, self.graph.count) if vertex == ROOT else self.graph.below[vertex]
        return sorted(children)

    def _reachable(self, vertex: int) -> frozenset[int]:
        return (self.graph.below[vertex] | {vertex}) & self.graph.terminals


def sta(coded: CodedPredicates) -> FilterTree:
    """The tree that the search finds for all predicates, each node once and below its most selective
    parent.
    """
    graph = build_graph(coded)
    tree = _Search(graph).below(ROOT, len(graph.terminals), graph.terminals)
    nodes = {child for _, child in tree.edges}
    parents = {
        node: min(sorted(graph.above[node] & nodes), key=graph.order_of, default=ROOT)
        for node in sorted(nodes)
    }
    return tree_from(graph, parents)
