"""What a plan takes in seconds: the cost model with the constants of this machine.

The cost of a filter is not quite constant: a node that is asked costs a visit and the literals it reads, a
node that holds is entered, a match is written, and the index costs the item's atoms and a jump for each node
that it finds. How often each happens follows from the selectivities; what each takes is measured once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass, fields

import numpy as np

from feedweir.optimize.coded import Floats
from feedweir.optimize.execute import ExecutablePlan
from feedweir.optimize.tree import ROOT


@dataclass(frozen=True, slots=True)
class Work:
    """What happens for an item on average, or (as `Prices`) what each takes in seconds."""

    items: float
    visits: float
    """Nodes asked one after another."""
    jumps: float
    """Nodes found through the index."""
    literals: float
    entered: float
    """Nodes that hold."""
    matches: float
    atoms: float
    """Atoms of the item that the index looks up, and the words of its bitset that are searched for them."""


Prices = Work


def work_of(plan: ExecutablePlan, selectivity: Floats, atom_share: Floats) -> Work:
    """The expected work of a plan for an item; `selectivity` is that of clauses."""
    tree = plan.tree
    rate = np.where(tree.parent >= 0, tree.selectivity[tree.parent], 0.0)
    keyed = np.unique(plan.key_nodes)
    jumps = 0.0
    if plan.is_indexed:
        met = np.array([_key_share(plan, int(node), atom_share) for node in keyed])
        rate[keyed] = met
        jumps = float(met.sum())
    below = tree.parent > ROOT
    return Work(
        items=1.0,
        visits=float(rate[below].sum()) + float(plan.scanned.size),
        jumps=jumps,
        literals=float((rate * _literals_read(plan, atom_share, selectivity)).sum()),
        entered=float(tree.selectivity[1:].sum()),
        matches=float((tree.selectivity * np.diff(plan.out_starts)).sum()),
        atoms=float(atom_share.sum()) + (atom_share.size + 63) // 64 if plan.is_indexed else 0.0,
    )


def seconds_of(work: Work, prices: Prices) -> float:
    """Predicted seconds for an item."""
    return float(np.dot(astuple(work), astuple(prices)))


def calibrate(measured: Sequence[tuple[Work, float]]) -> Prices:
    """The prices that explain measured seconds an item best, by relative error; no price is negative."""
    rows = np.array([np.array(astuple(work)) / seconds for work, seconds in measured])
    return Work(*_nonnegative_fit(rows, np.ones(len(measured))))


def error_of(predicted: float, measured: float) -> float:
    """The factor between prediction and measurement, at least 1."""
    return max(predicted / measured, measured / predicted)


def choose(plans: Mapping[str, ExecutablePlan], works: Mapping[str, Work], prices: Prices) -> str:
    """The name of the plan with the least predicted time; the first name of equal ones."""
    return min(sorted(plans), key=lambda name: seconds_of(works[name], prices))


def _key_share(plan: ExecutablePlan, node: int, atom_share: Floats) -> float:
    """The chance that an item has one of the atoms under which a node is filed: those of one of its
    clauses.
    """
    for clause in plan.parts[plan.part_starts[node] : plan.part_starts[node + 1]].tolist():
        literals = plan.literals[plan.literal_starts[clause] : plan.literal_starts[clause + 1]]
        if not np.any(literals & 1):
            return float(1.0 - np.prod(1.0 - atom_share[literals >> 1]))
    return 0.0


def _literals_read(plan: ExecutablePlan, atom_share: Floats, selectivity: Floats) -> Floats:
    """Expected literals read at each node: clauses until one fails, of each the literals until one holds."""
    share = atom_share[plan.literals >> 1]
    chance = np.where(plan.literals & 1, 1.0 - share, share)
    in_clause = _expected_steps(plan.literal_starts, 1.0 - chance, np.ones(chance.size))
    return _expected_steps(plan.part_starts, selectivity[plan.parts], in_clause[plan.parts])


def _expected_steps(starts: np.ndarray, goes_on: Floats, cost: Floats) -> Floats:
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


def _nonnegative_fit(rows: Floats, targets: Floats, sweeps: int = 2_000) -> list[float]:
    """Least squares without negative coefficients, one coordinate at a time."""
    scale = np.linalg.norm(rows, axis=0)
    scale[scale == 0.0] = 1.0
    matrix = rows / scale
    result = np.zeros(len(fields(Work)))
    rest = targets.copy()
    for _ in range(sweeps):
        for column in range(result.size):
            new = max(0.0, result[column] + float(matrix[:, column] @ rest))
            rest += matrix[:, column] * (result[column] - new)
            result[column] = new
    return [float(value) for value in result / scale]
