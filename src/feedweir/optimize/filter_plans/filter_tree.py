"""A filter tree: the plan for all predicates of one source, and what it costs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from feedweir.optimize.filter_plans.numbered_clauses import Bools, Floats, Ints, Longs

ROOT = 0


@dataclass(frozen=True, slots=True, eq=False)
class FilterTree:
    """Node 0 is `true`; every other node is a conjunction of clauses that is asked only when its parent
    holds.

    Nodes stand level by level and the children of a node side by side, so that a parent has a lower number
    than its children.
    """

    parent: Ints
    """Of each node; -1 for the root."""
    starts: Longs
    clauses: Ints
    """The whole conjunction of each node, as runs."""
    selectivity: Floats
    """The share of the source's items that satisfy each node."""
    node_of: Ints
    """The node of each predicate."""

    @property
    def count(self) -> int:
        return int(self.parent.size)

    @property
    def cost(self) -> float:
        """Filters evaluated for an item of the source, on average."""
        return float(self.selectivity[self.parent[1:]].sum())

    @property
    def naive_cost(self) -> float:
        """The same when every predicate is evaluated by itself."""
        return float(self.node_of.size)

    def run(self, node: int) -> tuple[int, ...]:
        return tuple(self.clauses[self.starts[node] : self.starts[node + 1]].tolist())


def assemble(
    parent: Ints,
    starts: Longs,
    clauses: Ints,
    selectivity: Floats,
    node_of: Ints,
    is_open: Bools,
) -> FilterTree:
    """The tree of the open nodes of a graph, renumbered level by level; node 0 of the graph is the root."""
    depth = _depths(parent, is_open)
    nodes = np.flatnonzero(is_open)
    # The parent's own place decides first, so that siblings are neighbours; a level is placed once its
    # parents are.
    number = np.full(parent.size, -1, np.int32)
    number[ROOT] = 0
    ordered = [np.zeros(1, np.int64)]
    placed = 1
    for level in range(1, int(depth[nodes].max(initial=0)) + 1):
        members = nodes[depth[nodes] == level]
        members = members[np.lexsort((members, number[parent[members]]))]
        number[members] = np.arange(placed, placed + members.size, dtype=np.int32)
        placed += members.size
        ordered.append(members)
    chosen = np.concatenate(ordered)
    lengths = (starts[1:] - starts[:-1])[chosen]
    new_starts = np.zeros(chosen.size + 1, np.int64)
    np.cumsum(lengths, out=new_starts[1:])
    gather = np.repeat(starts[chosen] - new_starts[:-1], lengths) + np.arange(new_starts[-1])
    new_parent = number[parent[chosen]]
    new_parent[0] = -1
    return FilterTree(new_parent, new_starts, clauses[gather], selectivity[chosen], number[node_of])


def _depths(parent: Ints, is_open: Bools) -> Ints:
    """How far below the root each open node is."""
    depth = np.zeros(parent.size, np.int32)
    current = np.where(is_open, parent, ROOT)
    while np.any(current):
        depth += current != ROOT
        if int(depth.max()) > parent.size:
            raise ValueError("a filter tree with a cycle: two nodes subsume each other")
        current = np.where(current != ROOT, parent[current], ROOT)
    depth += is_open.astype(np.int32)
    depth[ROOT] = 0
    return depth
