"""The filters of a source, factored: predicates in, a filter tree out.

VCA with VCB: candidates are found on the fly, each once, and taken in the order of their selectivity. The border's
candidate lists are runs of flat arrays. On the greedy tree, single nodes are then opened and closed as long as that
lowers the cost: VCA alone inserts candidates that later ones make dispensable.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from feedweir.optimize.filter_plans import graph_kernels, tree_search_kernels
from feedweir.optimize.filter_plans.filter_tree import ROOT, FilterTree, assemble
from feedweir.optimize.filter_plans.numbered_clauses import (
    Book,
    Bools,
    CodedPredicates,
    Floats,
    Ints,
    Longs,
    encode,
)
from feedweir.optimize.selectivity import Selectivity
from feedweir.plan.predicates import Predicate

MAX_WIDTH = 8
"""Of a predicate with more shared clauses than this, only the most shared ones give candidates: 2⁸ − 1
subsets at most.
"""
MAX_CLOSURE = 32
MAX_ROUNDS = 8
MAX_LINKS_FOR_MORE_STARTS = 4_000_000

State = tuple[Bools, Ints]
"""Which nodes are open, and the parent of each."""


@dataclass(frozen=True, slots=True, eq=False)
class Candidates:
    """The part of the subsumption graph that can matter: predicates, and what subsumes at least two of
    them.
    """

    starts: Longs
    clauses: Ints
    selectivity: Floats
    node_of: Ints
    terminals: int
    """Nodes 1 … `terminals` are predicates, later ones are candidates only."""
    above_starts: Longs
    above: Ints
    below_starts: Longs
    below: Ints

    @property
    def count(self) -> int:
        return int(self.starts.size - 1)


def find_candidates(coded: CodedPredicates) -> Candidates:
    """Number predicates and their shared parts, and link each with all that subsume it."""
    usable = _uses(coded)
    starts, clauses, table, node_of, terminals = graph_kernels.intern_sets(
        coded.starts, coded.clauses, usable, MAX_WIDTH
    )
    count = starts.size - 1
    wanted = np.ones(count, np.bool_)
    link = (starts, clauses, table, usable, coded.weaker_starts, coded.weaker)
    ends, found = graph_kernels.link_nodes(*link, wanted, 1, terminals, MAX_WIDTH, MAX_CLOSURE)
    shared = np.bincount(found, minlength=count)
    wanted[terminals + 1 :] = shared[terminals + 1 :] >= 2
    more_ends, more = graph_kernels.link_nodes(
        *link, wanted, terminals + 1, count - 1, MAX_WIDTH, MAX_CLOSURE
    )
    above_starts = np.concatenate((np.zeros(1, np.int64), ends, more_ends[1:] + ends[-1]))
    above_starts, above = _only(wanted, above_starts, np.concatenate((found, more)))
    below_starts, below = _transposed(count, above_starts, above)
    selectivity = graph_kernels.set_selectivities(
        starts, clauses, coded.selectivity, coded.pair_keys, coded.pair_lifts
    )
    graph_kernels.make_consistent(selectivity, above_starts, above)
    return Candidates(
        starts, clauses, selectivity, node_of, int(terminals), above_starts, above, below_starts, below
    )


def vcb(coded: CodedPredicates, *, max_rounds: int = MAX_ROUNDS) -> FilterTree:
    """A cheap filter tree for any number of predicates; `max_rounds` 0 is the paper's greedy algorithm
    alone.
    """
    return tree_of(find_candidates(coded), max_rounds=max_rounds)


def tree_of(graph: Candidates, *, max_rounds: int = MAX_ROUNDS) -> FilterTree:
    """The cheapest tree that is found from the greedy one; for graphs that are not huge, from other
    starts too.
    """
    order = _by_selectivity(graph)
    starts = [_greedy(graph, order)]
    if max_rounds and graph.above.size <= MAX_LINKS_FOR_MORE_STARTS:
        starts += [_naive(graph), _everything(graph, order)]
    found = [_improved(graph, order, start, max_rounds) for start in starts]
    is_open, parent = min(found, key=lambda state: _cost(graph, state))
    is_open[ROOT] = False
    return assemble(parent, graph.starts, graph.clauses, graph.selectivity, graph.node_of, is_open)


def _naive(graph: Candidates) -> State:
    """Every predicate by itself."""
    return _terminals(graph), np.zeros(graph.count, np.int32)


def _greedy(graph: Candidates, order: Ints) -> State:
    """The tree of VCA."""
    is_open, parent = _naive(graph)
    state = (graph.selectivity, _terminals(graph), is_open, parent)
    tree_search_kernels.sweep(order, graph.below_starts, graph.below, *state)
    return is_open, parent


def _everything(graph: Candidates, order: Ints) -> State:
    """Every candidate open, to be closed where it does not pay."""
    is_open, parent = _naive(graph)
    is_open[order] = True
    return is_open, parent


def _improved(graph: Candidates, order: Ints, state: State, max_rounds: int) -> State:
    is_open, parent = state
    if max_rounds:
        runs = (graph.above_starts, graph.above, graph.below_starts, graph.below)
        values = (graph.selectivity, _terminals(graph), is_open, parent)
        tree_search_kernels.improve(order, *runs, *values, max_rounds)
    return is_open, parent


def _terminals(graph: Candidates) -> Bools:
    """Which nodes are predicates; `true` is always there."""
    is_terminal = np.zeros(graph.count, np.bool_)
    is_terminal[: graph.terminals + 1] = True
    return is_terminal


def _cost(graph: Candidates, state: State) -> float:
    is_open, parent = state
    return float(graph.selectivity[parent[is_open]].sum())


def _uses(coded: CodedPredicates) -> Longs:
    """How many predicates, equal ones counted twice, each clause subsumes."""
    uses = np.bincount(coded.clauses, minlength=coded.selectivity.size)
    lengths = np.diff(coded.weaker_starts)
    stronger = np.repeat(np.arange(lengths.size), lengths)
    return uses + np.bincount(coded.weaker, weights=uses[stronger], minlength=uses.size).astype(np.int64)


def _by_selectivity(graph: Candidates) -> Ints:
    """The nodes that subsume another, the most selective first; of equally selective ones the longest, so
    that a node comes before those that subsume it, then in the order of their clauses.
    """
    nodes = np.flatnonzero(np.diff(graph.below_starts))
    nodes = nodes[nodes != ROOT]
    lengths = np.diff(graph.starts)[nodes]
    keys = [_clause_at(graph, nodes, at) for at in reversed(range(int(lengths.max(initial=0))))]
    ordered: Ints = nodes[np.lexsort((*keys, -lengths, graph.selectivity[nodes]))].astype(np.int32)
    return ordered


def _clause_at(graph: Candidates, nodes: Longs, at: int) -> Ints:
    starts = graph.starts[nodes] + at
    return np.where(
        starts < graph.starts[nodes + 1], graph.clauses[np.minimum(starts, graph.clauses.size - 1)], -1
    )


def _only(wanted: Bools, starts: Longs, values: Ints) -> tuple[Longs, Ints]:
    """The runs without unwanted values."""
    is_kept = wanted[values]
    kept_before = np.concatenate((np.zeros(1, np.int64), np.cumsum(is_kept, dtype=np.int64)))
    return kept_before[starts], values[is_kept]


def _transposed(count: int, starts: Longs, values: Ints) -> tuple[Longs, Ints]:
    """Runs of x for y from runs of y for x, in ascending order."""
    owners = np.repeat(np.arange(count, dtype=np.int32), np.diff(starts))
    order = np.argsort(values, kind="stable")
    back = np.zeros(count + 1, np.int64)
    np.cumsum(np.bincount(values, minlength=count), out=back[1:])
    return back, owners[order]


@dataclass(frozen=True, slots=True)
class FactoredFilters:
    """The filter tree of a source with the meaning of its numbers."""

    tree: FilterTree
    book: Book

    def predicate_of(self, node: int) -> Predicate:
        return self.book.predicate_of(self.tree.run(node))

    def residual_of(self, node: int) -> Predicate:
        """What is left to ask at a node when its parent holds."""
        above = set(self.tree.run(int(self.tree.parent[node]))) if node else set()
        return self.book.predicate_of(clause for clause in self.tree.run(node) if clause not in above)


def factorise(predicates: Sequence[Predicate], selectivity: Selectivity) -> FactoredFilters:
    """A filter tree that answers every predicate."""
    coded, book = encode(predicates, selectivity)
    return FactoredFilters(vcb(coded), book)
