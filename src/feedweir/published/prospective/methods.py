"""The published methods and ours, each a matcher of term sets with the same answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias

import numpy as np

from feedweir.match.arrays import Array, frozen
from feedweir.match.index.trie import trie_of
from feedweir.match.matching.answer_parts import NO_LIMIT
from feedweir.match.matching.match_kernels import Streams, Trie, Values, Vocabulary, match_rows
from feedweir.match.matching.program_kernels import scratch_for_checks
from feedweir.match.matching.satisfied_kernels import Scratch, scratch_for_atoms
from feedweir.match.sets.overlay import NO_OVERLAY, UNCHECKED
from feedweir.published.prospective.cluster_kernels import cluster_by_overlap, cluster_in_order, fill_masks
from feedweir.published.prospective.counting_kernels import match_clustered, match_ordered, match_primitive
from feedweir.published.prospective.terms import TermSets

Clustering: TypeAlias = Literal["random", "alphabetical", "overlap"]
_MAX_LOOKS = 4000


@dataclass(frozen=True, slots=True)
class Found:
    """Pairs (document, query), document by document, and what was touched to find them."""

    rows: Array
    queries: Array
    postings: int = 0
    first_postings: int = 0
    accumulators: int = 0
    tests: int = 0


class Matcher(Protocol):
    """Finds the queries all of whose terms a document has; without tests only the matching phase is run, for timing."""

    def match(self, documents: TermSets, *, has_tests: bool = True) -> Found: ...

    @property
    def n_postings(self) -> int: ...


@dataclass(frozen=True, slots=True)
class Inverted:
    """The queries that have term t: `queries[starts[t] : starts[t + 1]]`."""

    starts: Array
    queries: Array


def inverted(queries: Array, terms: Array, n_terms: int) -> Inverted:
    order = np.argsort(terms, kind="stable")
    counts = np.bincount(terms, minlength=n_terms)
    return Inverted(
        np.concatenate([[0], np.cumsum(counts)]).astype(np.int32), queries[order].astype(np.int32)
    )


class Primitive:
    """Count everything."""

    def __init__(self, queries: TermSets, n_terms: int) -> None:
        self._sizes = queries.sizes.astype(np.int32)
        rows = np.repeat(np.arange(len(queries)), queries.sizes)
        self._index = inverted(rows, queries.terms, n_terms)

    @property
    def n_postings(self) -> int:
        return len(self._index.queries)

    def match(self, documents: TermSets, *, has_tests: bool = True) -> Found:
        index = self._index
        rows, queries, stats = match_primitive(
            documents.offsets, documents.terms, index.starts, index.queries, self._sizes, has_tests
        )
        return Found(rows, queries, *stats.tolist())


class Ordered:
    """Terms by frequency, accumulators by the rarest; with or without bitmap, in one or several partitions."""

    def __init__(
        self, queries: TermSets, n_terms: int, *, has_filter: bool = False, partitions: int = 1
    ) -> None:
        self._has_filter = has_filter
        self._sizes = queries.sizes.astype(np.int32)
        rows = np.repeat(np.arange(len(queries)), queries.sizes)
        is_first = np.zeros(len(rows), bool)
        is_first[queries.offsets[:-1][queries.sizes > 0]] = True
        # partitions are stretches of query numbers, which are assigned at random
        part = rows * partitions // max(len(queries), 1)
        self._firsts = _partitioned(
            rows[is_first], queries.terms[is_first], part[is_first], n_terms, partitions
        )
        self._rests = _partitioned(
            rows[~is_first], queries.terms[~is_first], part[~is_first], n_terms, partitions
        )

    @property
    def n_postings(self) -> int:
        return len(self._firsts.queries) + len(self._rests.queries)

    def match(self, documents: TermSets, *, has_tests: bool = True) -> Found:
        rows, queries, stats = match_ordered(
            documents.offsets, documents.terms, self._firsts.starts, self._firsts.queries, self._rests.starts,
            self._rests.queries, self._sizes, self._has_filter, has_tests,
        )  # fmt: skip
        return Found(rows, queries, *stats.tolist())


def _partitioned(rows: Array, terms: Array, part: Array, n_terms: int, partitions: int) -> Inverted:
    flat = inverted(rows, part * n_terms + terms, n_terms * partitions)
    starts = np.stack([flat.starts[p * n_terms : (p + 1) * n_terms + 1] for p in range(partitions)])
    return Inverted(starts, flat.queries)


class Clustered:
    """Superqueries of queries that share their rarest term, of at most `limit` terms besides.

    A query that has more is one by itself; accumulators and masks are then as long as the longest needs.
    """

    def __init__(
        self,
        queries: TermSets,
        n_terms: int,
        *,
        clustering: Clustering = "overlap",
        limit: int = 32,
        seed: int = 0,
    ) -> None:
        rows, queries = queries.with_terms()
        clusters, self.n_superqueries = _clusters(queries, n_terms, clustering, limit, seed)
        by_cluster = np.argsort(clusters, kind="stable").astype(np.int32)
        members = np.concatenate([[0], np.cumsum(np.bincount(clusters, minlength=self.n_superqueries))])
        longest = max(limit, int(queries.sizes.max(initial=1)) - 1)
        masks = np.zeros((len(queries), -(-longest // 32)), np.uint32)
        term_counts = np.zeros(self.n_superqueries, np.int64)
        terms = np.empty(len(queries.terms), np.int32)
        bit_of_term = np.full(n_terms, -1, np.int32)
        n = fill_masks(
            by_cluster, members, queries.offsets, queries.terms, bit_of_term, masks, term_counts, terms
        )
        first_terms = queries.terms[queries.offsets[by_cluster[members[:-1]]]]
        self._firsts = inverted(np.arange(self.n_superqueries), first_terms, n_terms)
        owners = np.repeat(np.arange(self.n_superqueries), term_counts)
        bits = np.arange(n) - np.repeat(np.cumsum(term_counts) - term_counts, term_counts)
        order = np.argsort(terms[:n], kind="stable")
        self._rests = inverted(owners, terms[:n], n_terms)
        self._rest_bits = bits[order].astype(np.int32)
        self._members, self._queries, self._masks = members, rows[by_cluster].astype(np.int32), masks

    @property
    def n_postings(self) -> int:
        return len(self._firsts.queries) + len(self._rests.queries)

    def match(self, documents: TermSets, *, has_tests: bool = True) -> Found:
        rows, queries, stats = match_clustered(
            documents.offsets, documents.terms, self._firsts.starts, self._firsts.queries, self._rests.starts,
            self._rests.queries, self._rest_bits, self._members, self._queries, self._masks,
            has_tests,
        )  # fmt: skip
        return Found(rows, queries, *stats.tolist())


def _clusters(
    queries: TermSets, n_terms: int, clustering: Clustering, limit: int, seed: int
) -> tuple[Array, int]:
    """The superquery of every query, and how many there are."""
    firsts = queries.terms[queries.offsets[:-1]]
    order = _pool_order(queries, firsts, clustering, seed).astype(np.int64)
    pools = np.append(np.flatnonzero(np.diff(firsts[order], prepend=-1)), len(order))
    clusters = np.empty(len(queries), np.int64)
    arguments = (pools, order, queries.offsets, queries.terms, limit, n_terms)
    if clustering == "overlap":
        return clusters, cluster_by_overlap(*arguments, _MAX_LOOKS, clusters)
    return clusters, cluster_in_order(*arguments, clusters)


def _pool_order(queries: TermSets, firsts: Array, clustering: Clustering, seed: int) -> Array:
    if clustering == "random":
        return np.lexsort((np.random.default_rng(seed).random(len(queries)), firsts))
    # reverse alphabetical: by the most common term, then the second most common, …
    depth = min(int(queries.sizes.max(initial=1)), 8)
    columns = [
        np.where(queries.sizes > k, queries.terms[np.maximum(queries.offsets[1:] - 1 - k, 0)], -1)
        for k in range(depth)
    ]
    return np.lexsort((*columns[::-1], firsts))


class Shared:
    """Ours: grouped by the rarest term, sharing the verification of common beginnings."""

    def __init__(self, queries: TermSets, n_terms: int, probabilities: Array | None = None) -> None:
        rows, queries = queries.with_terms()
        counts = np.bincount(queries.terms, minlength=n_terms) if probabilities is None else probabilities
        scale = 1.0 if probabilities is not None else 1.0 / (counts.max(initial=1) + 1.0)
        self._n_terms = n_terms
        self._trie: Trie = trie_of(
            queries.offsets.astype(np.int64), queries.terms.copy(), rows, counts * scale
        )

    @property
    def n_postings(self) -> int:
        return len(self._trie.blocks)

    @property
    def nbytes(self) -> int:
        return sum(array.nbytes for array in self._trie)

    def match(self, documents: TermSets, *, has_tests: bool = True) -> Found:
        n = len(documents)
        nothing = frozen(np.zeros(n + 1, np.int64))
        streams = Streams(
            frozen(np.ones(1, np.uint64)),
            frozen(documents.offsets.astype(np.int64)[None, :]),
            frozen(documents.terms),
            frozen(np.empty(0, np.int32)),
            1,
        )
        values = Values(
            nothing, _EMPTY, frozen(np.empty((0, n), np.int64)), frozen(np.empty((0, n), np.bool_))
        )
        rows, queries, _, _, work, _ = match_rows(
            streams, values, _PLAIN, self._trie, NO_OVERLAY, UNCHECKED, self._n_terms,
            _room(self._n_terms), np.empty(0, np.int64), 0, NO_LIMIT,
        )  # fmt: skip
        return Found(rows, queries, tests=int(work[0]), accumulators=int(work[1]))


def _room(n_atoms: int) -> Scratch:
    none = scratch_for_checks(UNCHECKED)
    return Scratch(scratch_for_atoms(n_atoms, 0), none, none, np.zeros(1, np.int64))


_EMPTY = frozen(np.empty(0, np.int32))
_ZERO = frozen(np.zeros(1, np.int32))
_PLAIN = Vocabulary(frozen(np.ones(1, np.uint64)), _ZERO, frozen(np.empty(0, np.uint64)), _EMPTY, _EMPTY)
