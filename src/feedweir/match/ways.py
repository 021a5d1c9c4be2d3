"""The ways to find the queries of a batch: by the index of rarest atoms, and by the trees of sources.

Each gives pairs of rows and queries as a list that it never lets grow beyond a limit, and those of a row that has more
than that as bits.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np

from feedweir.match.arrays import Array, frozen
from feedweir.match.factored import Observed, observed_in
from feedweir.match.factored_kernels import run_forest
from feedweir.match.index import Index
from feedweir.match.match_kernels import Beside, Streams, Values, match_rows
from feedweir.match.matches import Work
from feedweir.match.wide_kernels import match_widely


class Listed(NamedTuple):
    """Pairs of some rows, those that only the plain meaning can decide, and the row to go on with."""

    rows: Array
    queries: Array
    asked_rows: Array
    asked_queries: Array
    work: Work
    stopped_at: int


class Way(Protocol):
    def listed(self, first: int, limit: int) -> Listed:
        """The pairs of rows from `first` on, until `limit` are reached; it stops at `first` if that row has more."""

    def marked(self, row: int, found: Array, asked: Array) -> Work:
        """Set the bits of the queries of one row, and of those that only the plain meaning can decide."""

    def observed(self) -> tuple[Observed, ...]:
        """What was counted on the sampled rows so far."""


@dataclass(frozen=True, slots=True)
class ByIndex:
    index: Index
    streams: Streams
    values: Values
    beside: Beside
    """What is found on the way, of smaller sets."""
    costs: Array
    """Counts of how often each query was a candidate; empty when nobody wants to know."""

    def listed(self, first: int, limit: int) -> Listed:
        index = self.index
        rows, queries, asked_rows, asked_checks, work, stopped_at = match_rows(
            self.streams, self.values, index.vocabulary, index.trie, self.beside, index.checks, index.n_words,
            index.n_entries, index.n_atoms, self.costs, first, limit,
        )  # fmt: skip
        spent = Work(int(work[0]), int(work[1]), int(work[2]), len(asked_rows), int(work[3]))
        return Listed(rows, queries, asked_rows, index.checks.queries[asked_checks], spent, int(stopped_at))

    def marked(self, row: int, found: Array, asked: Array) -> Work:
        index = self.index
        work = match_widely(
            self.streams, self.values, index.vocabulary, index.trie, self.beside, index.checks, index.n_words,
            index.n_entries, index.n_atoms, self.costs, row, found, asked,
        )  # fmt: skip
        return Work(*work.tolist())

    def observed(self) -> tuple[Observed, ...]:
        return ()


_NO_BITS = np.empty(0, np.uint8)


@dataclass(frozen=True, slots=True)
class ByTrees:
    index: Index
    trees: Array
    """The tree of each row, or -1."""
    streams: Streams
    values: Values
    costs: Array
    is_sampled: Array
    counted: tuple[Array, Array, Array, Array]

    def listed(self, first: int, limit: int) -> Listed:
        rows, queries, asked_rows, asked_queries, work, stopped_at = self._run(
            first, limit, _NO_BITS, _NO_BITS
        )
        spent = Work(int(work[0]), len(rows), int(work[1]), len(asked_rows), int(work[3]))
        return Listed(rows, queries, asked_rows, asked_queries, spent, int(stopped_at))

    def marked(self, row: int, found: Array, asked: Array) -> Work:
        *_, work, _ = self._run(row, 1, found, asked)
        return Work(int(work[0]), int(np.bitwise_count(found).sum()), int(work[1]))

    def observed(self) -> tuple[Observed, ...]:
        return observed_in(self.index.trees, self.index.forest, self.counted) if len(self.is_sampled) else ()

    def _run(self, first: int, limit: int, found: Array, asked: Array) -> tuple[Any, ...]:
        index = self.index
        ran: tuple[Any, ...] = run_forest(
            frozen(self.trees), frozen(self.is_sampled), index.forest, self.streams, self.values, index.vocabulary,
            index.checks, index.n_words, index.n_entries, index.n_atoms, self.costs, self.counted, first, limit,
            found, asked,
        )  # fmt: skip
        return ran


def nothing_counted(index: Index) -> tuple[Array, Array, Array, Array]:
    """Zeros for what trees count: rows of each, what is watched, pairs of that, nodes that held."""
    forest = index.forest
    sizes = (len(forest.roots), len(forest.watched), len(forest.pairs), int(forest.node_starts[-1]))
    sampled, watched, pairs, nodes = (np.zeros(size, np.int64) for size in sizes)
    return sampled, watched, pairs, nodes
