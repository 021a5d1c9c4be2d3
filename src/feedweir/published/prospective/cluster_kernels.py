"""Compiled clustering of queries that share their rarest term into superqueries."""

from __future__ import annotations

import numpy as np

from feedweir.kernels import njit


@njit(cache=True)
def cluster_in_order(pools, order, offsets, terms, limit, n_terms, clusters):  # type: ignore[no-untyped-def]
    """Fill superqueries of at most `limit` terms besides the first, in the order given within each pool.

    `order[pools[p] : pools[p + 1]]` are the queries of pool p; gives the number of superqueries.
    """
    seen = np.full(n_terms, -1, np.int64)
    cluster = -1
    for pool in range(len(pools) - 1):
        cluster += 1
        size = 0
        for k in range(pools[pool], pools[pool + 1]):
            query = order[k]
            fresh = 0
            for i in range(offsets[query] + 1, offsets[query + 1]):
                fresh += seen[terms[i]] != cluster
            if size + fresh > limit and size > 0:
                cluster += 1
                size = 0
            for i in range(offsets[query] + 1, offsets[query + 1]):
                if seen[terms[i]] != cluster:
                    seen[terms[i]] = cluster
                    size += 1
            clusters[query] = cluster
    return cluster + 1


@njit(cache=True)
def cluster_by_overlap(pools, order, offsets, terms, limit, n_terms, max_looks, clusters):  # type: ignore[no-untyped-def]
    """As `cluster_in_order`, taking next the query that shares most with the superquery, relative to the union.

    In pools of more than `max_looks` queries only that many of the remaining ones are compared each time.
    """
    seen = np.full(n_terms, -1, np.int64)
    cluster = -1
    for pool in range(len(pools) - 1):
        left = order[pools[pool] : pools[pool + 1]].copy()
        n_left = len(left)
        cluster += 1
        size = 0
        while n_left > 0:
            best = -1
            best_overlap = -1.0
            for k in range(min(n_left, max_looks)):
                query = left[k]
                length = offsets[query + 1] - offsets[query] - 1
                shared = 0
                for i in range(offsets[query] + 1, offsets[query + 1]):
                    shared += seen[terms[i]] == cluster
                union = size + length - shared
                if union <= limit or size == 0:
                    overlap = (shared + 1.0) / (union + 1.0)
                    if overlap > best_overlap:
                        best, best_overlap = k, overlap
            if best < 0:
                cluster += 1
                size = 0
                continue
            query = left[best]
            for i in range(offsets[query] + 1, offsets[query + 1]):
                if seen[terms[i]] != cluster:
                    seen[terms[i]] = cluster
                    size += 1
            clusters[query] = cluster
            n_left -= 1
            left[best] = left[n_left]
    return cluster + 1


@njit(cache=True)
def fill_masks(by_cluster, members, offsets, terms, bit_of_term, masks, term_counts, out_terms):  # type: ignore[no-untyped-def]
    """Give every term of a superquery a bit, in order of first sight, and every member the mask of its terms."""
    n = 0
    for cluster in range(len(members) - 1):
        first = n
        for k in range(members[cluster], members[cluster + 1]):
            query = by_cluster[k]
            for i in range(offsets[query] + 1, offsets[query + 1]):
                if bit_of_term[terms[i]] < 0:
                    bit_of_term[terms[i]] = n - first
                    out_terms[n] = terms[i]
                    n += 1
                bit = bit_of_term[terms[i]]
                masks[k, bit >> 5] |= np.uint32(1) << np.uint32(bit & 31)
        for i in range(first, n):
            bit_of_term[out_terms[i]] = -1
        term_counts[cluster] = n - first
    return n
