"""Filter trees made ready to run: what is left to ask at each node, and how the top level is found.

This is the plan by itself, over bitsets of atoms: to measure plans, and to check that they answer alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from feedweir.optimize import tree_kernels
from feedweir.optimize.coded import CodedPredicates, Floats, Ints, Longs
from feedweir.optimize.graph_kernels import set_selectivities
from feedweir.optimize.tree import ROOT, FilterTree

Bits = NDArray[np.uint64]


@dataclass(frozen=True, slots=True, eq=False)
class ExecutablePlan:
    """A tree in the arrays of the kernel."""

    tree: FilterTree
    child_starts: Longs
    part_starts: Longs
    parts: Ints
    """The clauses left to ask at each node, the most selective first."""
    literal_starts: Longs
    literals: Ints
    out_starts: Longs
    outs: Ints
    """The predicates of each node, as runs."""
    scanned: Ints
    key_starts: Longs
    key_nodes: Ints

    @property
    def is_indexed(self) -> bool:
        return bool(self.key_nodes.size)


def literals_of(clauses: Sequence[frozenset[int]]) -> tuple[Longs, Ints]:
    """The literals of each clause as runs."""
    starts = np.zeros(len(clauses) + 1, np.int64)
    np.cumsum([len(clause) for clause in clauses], out=starts[1:])
    return starts, np.array([literal for clause in clauses for literal in sorted(clause)], np.int32)


def words_as_clauses(count: int) -> tuple[Longs, Ints]:
    """Clause n is atom n."""
    return np.arange(count + 1, dtype=np.int64), np.arange(0, 2 * count, 2, dtype=np.int32)


def unfactored(coded: CodedPredicates) -> FilterTree:
    """The naive plan: every predicate by itself below the root, equal ones too."""
    predicates = coded.count
    parent = np.zeros(predicates + 1, np.int32)
    parent[ROOT] = -1
    starts = np.concatenate((np.zeros(1, np.int64), coded.starts))
    selectivity = set_selectivities(
        starts, coded.clauses, coded.selectivity, coded.pair_keys, coded.pair_lifts
    )
    node_of = np.arange(1, predicates + 1, dtype=np.int32)
    return FilterTree(parent, starts, coded.clauses, selectivity, node_of)


def make_executable(
    tree: FilterTree, literals: tuple[Longs, Ints], selectivity: Floats, *, atoms: int, is_indexed: bool
) -> ExecutablePlan:
    """The arrays for a tree; `selectivity` is that of clauses."""
    part_starts, parts = _residuals(tree, selectivity)
    out_starts = np.zeros(tree.count + 1, np.int64)
    np.cumsum(np.bincount(tree.node_of, minlength=tree.count), out=out_starts[1:])
    top = np.flatnonzero(tree.parent == ROOT).astype(np.int32)
    keys = _keys(top, part_starts, parts, literals) if is_indexed else []
    keyed = {node for _, node in keys}
    key_starts = np.zeros(atoms + 1, np.int64)
    np.cumsum(np.bincount([atom for atom, _ in keys], minlength=atoms)[:atoms], out=key_starts[1:])
    return ExecutablePlan(
        tree=tree,
        child_starts=np.searchsorted(tree.parent[1:], np.arange(tree.count + 1)).astype(np.int64) + 1,
        part_starts=part_starts,
        parts=parts,
        literal_starts=literals[0],
        literals=literals[1],
        out_starts=out_starts,
        outs=np.argsort(tree.node_of, kind="stable").astype(np.int32),
        scanned=np.array([node for node in top.tolist() if node not in keyed], np.int32),
        key_starts=key_starts,
        key_nodes=np.array([node for _, node in sorted(keys)], np.int32),
    )


def run(plan: ExecutablePlan, bits: Bits) -> tuple[Ints, Ints, int]:
    """The (items, predicates) that match, and how many nodes were asked."""
    expected = float((plan.tree.selectivity * np.diff(plan.out_starts)).sum())
    # Room for more than expected: what does not fit has to be found a second time.
    room = (1 << 12) + int(1.5 * expected * len(bits))
    while True:
        items, predicates = np.empty(room, np.int32), np.empty(room, np.int32)
        found, asked = tree_kernels.run_tree(bits, *_arrays(plan), items, predicates)
        if found <= room:
            return items[:found], predicates[:found], asked
        room = found


def matches(plan: ExecutablePlan, bits: Bits) -> set[tuple[int, int]]:
    """(item, predicate) for everything that matches."""
    items, predicates, _ = run(plan, bits)
    return set(zip(items.tolist(), predicates.tolist(), strict=True))


def bitsets(rows: Sequence[Sequence[int]], atoms: int) -> Bits:
    """Items as bitsets, from the atoms each satisfies."""
    bits = np.zeros((len(rows), (atoms + 63) // 64 or 1), np.uint64)
    for row, satisfied in enumerate(rows):
        for atom in satisfied:
            bits[row, atom >> 6] |= np.uint64(1) << np.uint64(atom & 63)
    return bits


def _arrays(plan: ExecutablePlan) -> tuple[NDArray[np.generic], ...]:
    return (
        plan.child_starts,
        plan.part_starts,
        plan.parts,
        plan.literal_starts,
        plan.literals,
        plan.out_starts,
        plan.outs,
        plan.scanned,
        plan.key_starts,
        plan.key_nodes,
    )


def _residuals(tree: FilterTree, selectivity: Floats) -> tuple[Longs, Ints]:
    """Clauses that a node has and its parent has not, the most selective first."""
    lengths = np.diff(tree.starts)
    owner = np.repeat(np.arange(tree.count, dtype=np.int64), lengths)
    clauses = tree.clauses.astype(np.int64)
    width = int(clauses.max(initial=0)) + 1
    own = owner * width + clauses
    inherited = tree.parent[owner].astype(np.int64) * width + clauses
    is_left = ~np.isin(inherited, own)
    owner, clauses = owner[is_left], clauses[is_left]
    order = np.lexsort((clauses, selectivity[clauses], owner))
    starts = np.zeros(tree.count + 1, np.int64)
    np.cumsum(np.bincount(owner, minlength=tree.count), out=starts[1:])
    return starts, clauses[order].astype(np.int32)


def _keys(top: Ints, part_starts: Longs, parts: Ints, literals: tuple[Longs, Ints]) -> list[tuple[int, int]]:
    """(atom, node) for every atom of the rarest clause without negations of a child of the root."""
    starts, flat = literals[0].tolist(), literals[1].tolist()
    keys: list[tuple[int, int]] = []
    for node in top.tolist():
        for clause in parts[part_starts[node] : part_starts[node + 1]].tolist():
            chosen = flat[starts[clause] : starts[clause + 1]]
            if all(literal % 2 == 0 for literal in chosen):
                keys += [(literal >> 1, node) for literal in chosen]
                break
        # A node with an empty clause has no keys and is never met: it never holds.
    return keys
