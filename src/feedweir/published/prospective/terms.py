"""Queries and documents as sets of numbered terms: the form in which the published methods are compared."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from feedweir.match.arrays import Array
from feedweir.match.index.keywords import Keywords


@dataclass(frozen=True, slots=True)
class TermSets:
    """Row r is the sorted distinct numbers `terms[offsets[r] : offsets[r + 1]]`."""

    offsets: Array
    terms: Array

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def sizes(self) -> Array:
        return np.diff(self.offsets)

    def head(self, n: int) -> TermSets:
        return TermSets(self.offsets[: n + 1], self.terms[: self.offsets[min(n, len(self))]])

    def with_terms(self) -> tuple[Array, TermSets]:
        """The rows that have terms, by number: a query without any is one that nothing finds."""
        rows = np.flatnonzero(self.sizes)
        return rows, self if len(rows) == len(self) else self.only(rows)

    def only(self, rows: Array) -> TermSets:
        """Some of the rows, in the order given."""
        sizes = self.sizes[rows]
        ends = np.cumsum(sizes)
        places = np.arange(int(ends[-1]) if len(ends) else 0) + np.repeat(
            self.offsets[rows] - ends + sizes, sizes
        )
        return TermSets(np.concatenate([[0], ends]), self.terms[places])


def term_sets(rows: Array, terms: Array, n_rows: int) -> TermSets:
    """Pairs (row, term), in any order and perhaps repeated, as sets."""
    order = np.lexsort((terms, rows))
    rows, terms = rows[order], terms[order]
    is_new = np.ones(len(rows), bool)
    is_new[1:] = (rows[1:] != rows[:-1]) | (terms[1:] != terms[:-1])
    counts = np.bincount(rows[is_new], minlength=n_rows)
    return TermSets(np.concatenate([[0], np.cumsum(counts)]), terms[is_new].astype(np.int32))


def term_queries(keywords: Keywords) -> tuple[TermSets, tuple[str, ...]]:
    """Plain queries with terms numbered by how many queries have them, the rarest first; and the terms."""
    counts = np.bincount(keywords.ids, minlength=len(keywords.words))
    order = np.argsort(counts, kind="stable")
    rank = np.empty(len(order), np.int32)
    rank[order] = np.arange(len(order))
    rows = np.repeat(np.arange(len(keywords.offsets) - 1), np.diff(keywords.offsets))
    queries = term_sets(rows, rank[keywords.ids], len(keywords.offsets) - 1)
    return queries, tuple(keywords.words.take(order).to_pylist())
