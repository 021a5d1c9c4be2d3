"""What a plan takes in seconds: the cost model with the constants of the compiled kernels.

The cost of a filter is not quite constant. A node that asks for one atom is a test of one bit; any other runs a small
program over its literals; a node that holds is entered; what is found through an index is looked up; a match is
written. How often each happens follows from the selectivities; what each takes was measured once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import astuple, dataclass

import numpy as np
from numpy.typing import NDArray

from feedweir.optimize.filter_plans.filter_tree import ROOT, FilterTree
from feedweir.optimize.filter_plans.numbered_clauses import Bools, CodedPredicates, Floats, Ints, Longs
from feedweir.optimize.filter_plans.rarest_first import RarestFirst, rarest_first


@dataclass(frozen=True, slots=True)
class Work:
    """What happens for an item on average, or (as `Prices`) what each takes in seconds."""

    items: float = 0.0
    atoms: float = 0.0
    """Atoms that the item satisfies, of all that the set knows."""
    roots: float = 0.0
    """Of those: looked up in the common index."""
    slots: float = 0.0
    """Of those: looked up in the index of the source's own tree."""
    tests: float = 0.0
    """Nodes that ask for one atom."""
    programs: float = 0.0
    """Nodes that ask for anything else."""
    literals: float = 0.0
    """Literals that programs read."""
    blocks: float = 0.0
    """Nodes entered that have children."""
    matches: float = 0.0

    def __add__(self, other: Work) -> Work:
        return Work(*(a + b for a, b in zip(astuple(self), astuple(other), strict=True)))


Prices = Work

PRICES: Prices = Work(
    items=1.6e-7,
    atoms=3.0e-9,
    roots=4.0e-9,
    slots=4.0e-9,
    tests=9.4e-10,
    programs=1.1e-7,
    literals=3.0e-9,
    blocks=8.0e-8,
    matches=1.0e-8,
)
"""Seconds, as `python -m benchmarks factorise` measures them; plans are compared, so that only ratios matter."""


@dataclass(frozen=True, slots=True, eq=False)
class Clauses:
    """The clauses of a source's predicates, as what evaluates them sees them."""

    starts: Longs
    literals: Ints
    """Literals of each clause as runs; literal 2·a is atom a, 2·a + 1 its negation."""
    atom_share: Floats
    is_listed: Bools
    """Whether an item lists the atom among what it satisfies, so that it is one bit and can find what needs it."""
    selectivity: Floats
    """Of each clause."""

    @property
    def count(self) -> int:
        return int(self.selectivity.size)

    def is_bit(self) -> Bools:
        """Which clauses are one listed atom."""
        if not self.literals.size:
            return np.zeros(self.count, np.bool_)
        is_single = np.diff(self.starts) == 1
        first = self.literals[np.minimum(self.starts[:-1], max(self.literals.size - 1, 0))]
        found: Bools = is_single & (first % 2 == 0) & self.is_listed[first >> 1]
        return found

    def finds(self) -> Bools:
        """Which clauses can find what has them: disjunctions of listed atoms."""
        is_finder = (self.literals % 2 == 0) & self.is_listed[self.literals >> 1]
        return _every(self.starts, is_finder)

    def literals_read(self) -> Floats:
        """Literals of each clause that are read until one holds."""
        share = self.atom_share[self.literals >> 1]
        misses = np.where(self.literals & 1, share, 1.0 - share)
        return _expected_steps(self.starts, misses, np.ones(misses.size))

    def atoms_met(self) -> Floats:
        """Expected number of the atoms of each clause that an item satisfies."""
        return _summed(self.starts, self.atom_share[self.literals >> 1])


def work_of_tree(tree: FilterTree, clauses: Clauses, *, is_indexed: bool) -> Work:
    """The expected work of a source's own tree for one of its items; `is_indexed` has its top level found by atoms."""
    part_starts, parts = residuals(tree, clauses.selectivity)
    rate = np.where(tree.parent >= 0, tree.selectivity[tree.parent], 0.0)
    is_top = tree.parent == ROOT
    keyed = _keys(is_top, part_starts, parts, clauses) if is_indexed else np.full(tree.count, -1, np.int64)
    is_found = keyed >= 0
    rate = np.where(is_found, np.append(clauses.atoms_met(), 0.0)[keyed], rate)
    asks = _asks(part_starts, parts, clauses, keyed)
    has_children = np.bincount(tree.parent[1:], minlength=tree.count) > 0
    outs = np.bincount(tree.node_of, minlength=tree.count)
    has_block = has_children | (outs != 1)
    n_atoms = float(clauses.atom_share[clauses.is_listed].sum())
    return Work(
        items=1.0,
        atoms=n_atoms,
        slots=n_atoms if is_found.any() else 0.0,
        tests=float((rate * asks.tests)[1:].sum()),
        programs=float((rate * asks.programs)[1:].sum()),
        literals=float((rate * asks.literals)[1:].sum()),
        blocks=float(
            tree.selectivity[has_block].sum()
            + (rate * asks.between)[1:].sum()
            + _filed_blocks(keyed, clauses)
        ),
        matches=float((tree.selectivity * outs).sum()),
    )


def work_of_index(coded: CodedPredicates, clauses: Clauses, *, origin_share: float) -> Work:
    """The expected work when the common index finds the predicates by their rarest atoms.

    That the item is of this source is one more atom of each, thought to hold for a share `origin_share` of all items;
    it always holds here. Clauses that are not atoms are programs at the ends.
    """
    laid = rarest_first(coded, clauses.is_bit(), origin_share)
    n_atoms = float(clauses.atom_share[clauses.is_listed].sum()) + 1.0
    rest = _ends(laid, clauses)
    return Work(
        items=1.0,
        atoms=n_atoms,
        roots=n_atoms,
        tests=float(laid.tests),
        programs=float((laid.end_share * (rest > 0)).sum()),
        literals=float((laid.end_share * rest).sum()),
        blocks=float(laid.blocks),
        matches=float(laid.matches),
    )


def seconds_of(work: Work, prices: Prices = PRICES) -> float:
    """Predicted seconds for an item."""
    return float(np.dot(astuple(work), astuple(prices)))


def cheapest(works: Mapping[str, Work], prices: Prices = PRICES) -> str:
    """The name of the way with the least predicted time; the first name of equal ones."""
    return min(sorted(works), key=lambda name: seconds_of(works[name], prices))


def residuals(tree: FilterTree, selectivity: Floats) -> tuple[Longs, Ints]:
    """Clauses that a node has and its parent has not, as runs, the most selective first."""
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


@dataclass(frozen=True, slots=True, eq=False)
class _Asks:
    """What a visit to each node is expected to do: atoms one after the other, and then a program of all else."""

    tests: Floats
    between: Floats
    """Steps entered on the way to the node's own."""
    programs: Floats
    literals: Floats


def _asks(part_starts: Longs, parts: Ints, clauses: Clauses, keyed: Longs) -> _Asks:
    """What is asked when the clause that found a node (`keyed`, or -1) need not be asked again."""
    owner = np.repeat(np.arange(part_starts.size - 1), np.diff(part_starts))
    is_single = np.diff(clauses.starts) == 1
    is_known = (parts == keyed[owner]) & is_single[parts]
    starts, left = _without(part_starts, parts, is_known)
    is_bit = clauses.is_bit()[left]
    bit_starts, bits = _without(starts, left, ~is_bit)
    rest_starts, rest = _without(starts, left, is_bit)
    share = clauses.selectivity
    n_bits, n_rest = np.diff(bit_starts), np.diff(rest_starts)
    tests = _expected_steps(bit_starts, share[bits], np.ones(bits.size))
    through = _products(bit_starts, share[bits])
    has_rest = (n_rest > 0) | ((n_bits == 0) & (np.diff(starts) > 0))
    # every step but the last is entered when it holds; a node of which nothing is left is asked for what found it
    held = _expected_steps(bit_starts, share[bits], share[bits])
    between = np.where(has_rest, held, held - np.where(n_bits > 0, through, 0.0))
    return _Asks(
        np.where(np.diff(starts) == 0, 1.0, tests),
        between,
        np.where(has_rest, through, 0.0),
        through * _expected_steps(rest_starts, share[rest], clauses.literals_read()[rest]),
    )


def _products(starts: Longs, values: Floats) -> Floats:
    """The product of each run."""
    result = np.ones(starts.size - 1)
    np.multiply.at(result, np.repeat(np.arange(starts.size - 1), np.diff(starts)), values)
    return result


def _keys(is_top: Bools, part_starts: Longs, parts: Ints, clauses: Clauses) -> Longs:
    """For each child of the root the clause that finds it: of those that can, the one met least; else -1."""
    keyed = np.full(part_starts.size - 1, -1, np.int64)
    finds, met = clauses.finds(), clauses.atoms_met()
    owner = np.repeat(np.arange(part_starts.size - 1), np.diff(part_starts))
    usable = is_top[owner] & finds[parts]
    owner, parts = owner[usable], parts[usable]
    order = np.lexsort((parts, met[parts], owner))
    nodes, first = np.unique(owner[order], return_index=True)
    keyed[nodes] = parts[order][first]
    return keyed


def _filed_blocks(keyed: Longs, clauses: Clauses) -> float:
    """Expected blocks found by atoms: one for each atom under which anything is filed."""
    used = np.unique(keyed[keyed >= 0])
    atoms = [clauses.literals[clauses.starts[c] : clauses.starts[c + 1]] >> 1 for c in used.tolist()]
    return float(clauses.atom_share[np.unique(np.concatenate(atoms))].sum()) if atoms else 0.0


def _ends(laid: RarestFirst, clauses: Clauses) -> Floats:
    """Literals read by the programs at the ends of the index's paths."""
    return _expected_steps(
        laid.rest_starts, clauses.selectivity[laid.rest], clauses.literals_read()[laid.rest]
    )


def _without(starts: Longs, values: Ints, is_dropped: Bools) -> tuple[Longs, Ints]:
    kept_before = np.concatenate((np.zeros(1, np.int64), np.cumsum(~is_dropped, dtype=np.int64)))
    return kept_before[starts], values[~is_dropped]


def _every(starts: Longs, holds: Bools) -> Bools:
    """For each run whether there is something in it and all of it holds."""
    kept_before = np.concatenate((np.zeros(1, np.int64), np.cumsum(holds, dtype=np.int64)))
    lengths = np.diff(starts)
    found: Bools = (kept_before[starts[1:]] - kept_before[starts[:-1]] == lengths) & (lengths > 0)
    return found


def _summed(starts: Longs, values: Floats) -> Floats:
    before = np.concatenate((np.zeros(1), np.cumsum(values)))
    total: Floats = before[starts[1:]] - before[starts[:-1]]
    return total


def _expected_steps(starts: NDArray[np.int64], goes_on: Floats, cost: Floats) -> Floats:
    """For each run: the cost of its steps, each taken when those before it went on."""
    lengths = np.diff(starts)
    reached = np.ones(lengths.size)
    total = np.zeros(lengths.size)
    for step in range(int(lengths.max(initial=0))):
        is_there = lengths > step
        at = starts[:-1][is_there] + step
        total[is_there] += reached[is_there] * cost[at]
        reached[is_there] *= goes_on[at]
    return total
