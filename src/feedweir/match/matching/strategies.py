"""The strategies that find the queries of a batch: by the index of rarest atoms, and by the filter trees of sources.

Each lists pairs of rows and queries up to a limit; a row that has more pairs than that is a bit for each query.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np

from feedweir.match.arrays import Array, frozen
from feedweir.match.index.filter_forest import Observed, observed_in
from feedweir.match.index.index_arrays import Index
from feedweir.match.matches import Work
from feedweir.match.matching.forest_kernels import run_forest
from feedweir.match.matching.match_kernels import OverlayArrays, Streams, Values, match_rows
from feedweir.match.matching.scratch import ScratchPool
from feedweir.match.matching.wide_kernels import match_widely

Failures: TypeAlias = tuple[tuple[int, str], ...]
"""(key, what went wrong) of queries that could not be judged."""
Verify: TypeAlias = Callable[[Array, Array], tuple[Array, Array, Failures]]
"""Of (rows, queries) those that hold by their plain meaning, and the queries that could not be judged."""


class RawPairs(NamedTuple):
    """Pairs of some rows, those that only the plain meaning can decide, and the row to continue with."""

    rows: Array
    queries: Array
    asked_rows: Array
    asked_queries: Array
    work: Work
    stopped_at: int


@dataclass(frozen=True, slots=True)
class Reporting:
    """How the queries that a strategy finds become keys."""

    keys: Array
    """The key of each query; `REMOVED` for a query that is not wanted."""
    n_first: int
    """The keys of this many queries are in order, and then those of the others."""
    verify: Verify


class Strategy(Protocol):
    @property
    def reporting(self) -> Reporting: ...

    def pairs_from(self, first: int, limit: int) -> RawPairs:
        """The pairs of rows from `first` on, until `limit` are reached; it stops at `first` if that row has more."""

    def mark_row(self, row: int, found: Array, asked: Array) -> Work:
        """Set the bits of the queries of one row, and of those that only the plain meaning can decide."""

    def observed(self) -> tuple[Observed, ...]:
        """What was counted on the sampled rows so far."""


@dataclass(frozen=True, slots=True)
class ByRarestAtom:
    index: Index
    streams: Streams
    values: Values
    overlay: OverlayArrays
    """Smaller sets, whose queries the same walk finds."""
    costs: Array
    """How often each query was a candidate; empty when candidates are not counted."""
    scratch: ScratchPool
    reporting: Reporting

    def pairs_from(self, first: int, limit: int) -> RawPairs:
        index, scratch = self.index, self.scratch.lend()
        rows, queries, asked_rows, asked_checks, work, stopped_at = match_rows(
            self.streams, self.values, index.vocabulary, index.trie, self.overlay, index.checks, index.n_words,
            scratch, self.costs, first, limit,
        )  # fmt: skip
        self.scratch.take_back(scratch)
        spent = Work(int(work[0]), int(work[1]), int(work[2]), len(asked_rows), int(work[3]))
        return RawPairs(rows, queries, asked_rows, index.checks.queries[asked_checks], spent, int(stopped_at))

    def mark_row(self, row: int, found: Array, asked: Array) -> Work:
        index, scratch = self.index, self.scratch.lend()
        work = match_widely(
            self.streams, self.values, index.vocabulary, index.trie, self.overlay, index.checks, index.n_words,
            scratch, self.costs, row, found, asked,
        )  # fmt: skip
        self.scratch.take_back(scratch)
        return Work(*work.tolist())

    def observed(self) -> tuple[Observed, ...]:
        return ()


_NO_BITS = np.empty(0, np.uint8)


@dataclass(frozen=True, slots=True)
class ByFilterTrees:
    index: Index
    trees: Array
    """The tree of each row, or -1."""
    streams: Streams
    values: Values
    costs: Array
    is_sampled: Array
    counted: tuple[Array, Array, Array, Array]
    scratch: ScratchPool
    reporting: Reporting

    def pairs_from(self, first: int, limit: int) -> RawPairs:
        rows, queries, asked_rows, asked_queries, work, stopped_at = self._run(
            first, limit, _NO_BITS, _NO_BITS
        )
        spent = Work(int(work[0]), len(rows), int(work[1]), len(asked_rows), int(work[3]))
        return RawPairs(rows, queries, asked_rows, asked_queries, spent, int(stopped_at))

    def mark_row(self, row: int, found: Array, asked: Array) -> Work:
        *_, work, _ = self._run(row, 1, found, asked)
        return Work(int(work[0]), int(np.bitwise_count(found).sum()), int(work[1]))

    def observed(self) -> tuple[Observed, ...]:
        return observed_in(self.index.trees, self.index.forest, self.counted) if len(self.is_sampled) else ()

    def _run(self, first: int, limit: int, found: Array, asked: Array) -> tuple[Any, ...]:
        index, scratch = self.index, self.scratch.lend()
        ran: tuple[Any, ...] = run_forest(
            frozen(self.trees), frozen(self.is_sampled), index.forest, self.streams, self.values, index.vocabulary,
            index.checks, index.n_words, scratch, self.costs, self.counted, first, limit, found, asked,
        )  # fmt: skip
        self.scratch.take_back(scratch)
        return ran


def nothing_counted(index: Index) -> tuple[Array, Array, Array, Array]:
    """Zeros for what trees count: rows of each, what is watched, pairs of that, nodes that held."""
    forest = index.forest
    sizes = (len(forest.roots), len(forest.watched), len(forest.pairs), int(forest.node_starts[-1]))
    sampled, watched, pairs, nodes = (np.zeros(size, np.int64) for size in sizes)
    return sampled, watched, pairs, nodes
