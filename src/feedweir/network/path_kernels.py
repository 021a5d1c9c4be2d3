"""Compiled estimates over counted label paths."""

from __future__ import annotations

import numpy as np

from feedweir.kernels import njit

_kernel = njit(cache=True)


@_kernel
def tuples_of(branches, keeps, above, label, nodes, documents):  # type: ignore[no-untyped-def]
    """How many ways each branch has of lying in a document, if what stands below a node depends on its path alone.

    `ways[i, p]`: the ways of node i of the branch and all below it, given a node with path p; `below[i, p]`: those
    that a node with path p has of continuing with i below it.
    """
    n_paths = len(label)
    found = np.zeros(len(branches.source))
    below = np.empty((64, n_paths))
    for b in range(len(found)):
        first, n = branches.first[b], branches.first[b + 1] - branches.first[b]
        below[:n] = 0.0
        for i in range(n - 1, -1, -1):
            wanted = branches.label[first + i]
            for p in range(n_paths):
                if (
                    wanted != label[p]
                    and not (wanted == -2 and label[p] % 2 == 0)
                    and not (wanted == -1 and label[p] % 2 != 0)
                ):
                    continue
                ways = keeps[first + i]
                for c in range(i + 1, n):
                    if branches.above[first + c] == i:
                        ways *= below[c, p]
                if ways == 0.0:
                    continue
                if i == 0:
                    if branches.is_below[first] or above[p] < 0:
                        found[b] += nodes[p] * ways / documents
                    continue
                up = above[p]
                while up >= 0:
                    below[i, up] += nodes[p] / nodes[up] * ways
                    up = above[up] if branches.is_below[first + i] else -1
    return found
