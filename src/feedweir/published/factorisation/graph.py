"""The subsumption graph as the paper draws it: every sub-expression of every predicate, and all that subsumes
what.

It is complete, and so for small sets: STA, VCA and the exact solver read it. `vcb` finds the part it needs
by itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np

from feedweir.optimize.filter_plans.filter_tree import ROOT, FilterTree, assemble
from feedweir.optimize.filter_plans.graph_kernels import set_selectivities
from feedweir.optimize.filter_plans.numbered_clauses import CodedPredicates, flat

Run = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class SubsumptionGraph:
    """Node 0 is `true`. `above` and `below` are transitive and leave out `true`, which subsumes every
    node.
    """

    runs: tuple[Run, ...]
    selectivity: tuple[float, ...]
    above: tuple[frozenset[int], ...]
    below: tuple[frozenset[int], ...]
    terminals: frozenset[int]
    """The nodes that are predicates, `true` apart."""
    node_of: tuple[int, ...]
    """The node of each predicate."""

    @property
    def count(self) -> int:
        return len(self.runs)

    def order_of(self, node: int) -> tuple[float, int, Run]:
        """Ascending by selectivity; of equally selective nodes the longer first, then by clauses."""
        return (self.selectivity[node], -len(self.runs[node]), self.runs[node])


def build_graph(coded: CodedPredicates) -> SubsumptionGraph:
    """All sub-expressions of all predicates, linked by subsumption."""
    predicates = [coded.run(predicate) for predicate in range(coded.count)]
    parts = {part for run in set(predicates) for part in sub_expressions(run)}
    runs = ((), *sorted(parts - {()}))
    number = {run: node for node, run in enumerate(runs)}
    above = _all_above(coded, runs)
    return SubsumptionGraph(
        runs=runs,
        selectivity=_consistent(selectivities_of(coded, runs), above),
        above=above,
        below=_turned(above),
        terminals=frozenset(number[run] for run in predicates) - {ROOT},
        node_of=tuple(number[run] for run in predicates),
    )


def sub_expressions(run: Run) -> list[Run]:
    """Every conjunction of clauses of a predicate, the empty one and itself included."""
    return [part for size in range(len(run) + 1) for part in combinations(run, size)]


def closure_of(coded: CodedPredicates, run: Run) -> set[int]:
    """The clauses that a predicate implies one by one."""
    weaker = (coded.weaker[coded.weaker_starts[c] : coded.weaker_starts[c + 1]].tolist() for c in run)
    return set(run).union(*weaker)


def selectivities_of(coded: CodedPredicates, runs: tuple[Run, ...]) -> tuple[float, ...]:
    starts, clauses = flat(runs)
    known = set_selectivities(starts, clauses, coded.selectivity, coded.pair_keys, coded.pair_lifts)
    return tuple(known.tolist())


def _consistent(estimated: tuple[float, ...], above: tuple[frozenset[int], ...]) -> tuple[float, ...]:
    """No estimate above that of a node that subsumes it."""
    return tuple(
        min([own, *(estimated[other] for other in others)])
        for own, others in zip(estimated, above, strict=True)
    )


def tree_from(graph: SubsumptionGraph, parents: dict[int, int]) -> FilterTree:
    """The filter tree in which the nodes named by `parents` are open."""
    starts, clauses = flat(graph.runs)
    parent = np.zeros(graph.count, np.int32)
    is_open = np.zeros(graph.count, np.bool_)
    for node, above in parents.items():
        parent[node], is_open[node] = above, True
    node_of = np.array(graph.node_of, np.int32)
    return assemble(parent, starts, clauses, np.array(graph.selectivity), node_of, is_open)


def _all_above(coded: CodedPredicates, runs: tuple[Run, ...]) -> tuple[frozenset[int], ...]:
    """Whoever subsumes a node has a clause of its closure, so those with none are never looked at."""
    with_clause: dict[int, list[int]] = {}
    for node, run in enumerate(runs):
        for clause in run[:1]:
            with_clause.setdefault(clause, []).append(node)
    result = []
    for node, run in enumerate(runs):
        closure = closure_of(coded, run)
        near = (other for clause in closure for other in with_clause.get(clause, ()))
        result.append(frozenset(o for o in near if o != node and closure.issuperset(runs[o])))
    return tuple(result)


def _turned(above: tuple[frozenset[int], ...]) -> tuple[frozenset[int], ...]:
    below: list[set[int]] = [set() for _ in above]
    for node, others in enumerate(above):
        for other in others:
            below[other].add(node)
    return tuple(frozenset(nodes) for nodes in below)
