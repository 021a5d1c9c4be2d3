"""Predicates in numbers: clauses are numbered, a predicate is a sorted run of clause numbers."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


def no_runs(count: int) -> Longs:
    """The starts of `count` empty runs."""
    return np.zeros(count + 1, np.int64)


def no_numbers() -> Ints:
    return np.empty(0, np.int32)


@dataclass(frozen=True, slots=True, eq=False)
class CodedPredicates:
    """Conjunctions of numbered clauses, as runs of a flat array; the empty conjunction is `true`.

    A run is sorted, has each clause once, and no clause that another of the run implies: so two predicates
    are equivalent exactly when their runs are equal.
    """

    starts: Longs
    clauses: Ints
    selectivity: Floats
    """Of each clause: the share of items that satisfy it."""
    weaker_starts: Longs
    weaker: Ints
    """For each clause, as runs, all other clauses that it implies."""
    pair_keys: Longs = field(default_factory=lambda: np.empty(0, np.int64))
    """Pairs of clauses (lower << 32 | higher), sorted, whose joint frequency is known."""
    pair_lifts: Floats = field(default_factory=lambda: np.empty(0, np.float64))
    """Their joint frequency over that of independent clauses."""

    @property
    def count(self) -> int:
        return int(self.starts.size - 1)

    def run(self, predicate: int) -> tuple[int, ...]:
        return tuple(self.clauses[self.starts[predicate] : self.starts[predicate + 1]].tolist())


def conjunctions(runs: list[tuple[int, ...]], selectivity: list[float] | Floats) -> CodedPredicates:
    """Predicates over clauses that do not imply each other."""
    weights = np.asarray(selectivity, np.float64)
    starts = np.zeros(len(runs) + 1, np.int64)
    np.cumsum([len(set(run)) for run in runs], out=starts[1:])
    clauses = np.array([clause for run in runs for clause in sorted(set(run))], np.int32)
    return CodedPredicates(starts, clauses, weights, no_runs(weights.size), no_numbers())
