"""The embedding graph: which views embed in which, complete, and what each covers of the other.

Branches are filed under their rarest feature; a branch is compared with those filed under one of its own features, and
of these a signature leaves hardly a false one to be tested.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from feedweir.network.embedding_kernels import all_features, find_embeddings
from feedweir.network.view_arrays import BranchArrays

CHUNK = 1 << 21
Masks = NDArray[np.uint64]


class FeatureIndex(NamedTuple):
    starts: NDArray[np.int64]
    has: NDArray[np.int32]
    sign: NDArray[np.uint64]
    files: NDArray[np.int64]
    filed: NDArray[np.int32]
    filed_sign: NDArray[np.uint64]


@dataclass(frozen=True, slots=True)
class Embeddings:
    """Pairs of branches in the order of the branch that is served, then of the one that serves it."""

    feeder: NDArray[np.int32]
    target: NDArray[np.int32]
    mask: Masks
    """Of each pair the bits of what is covered, in as many words as the widest view needs."""
    share: NDArray[np.float32]
    """Of each pair the share of the feeder's tuples that pass the conditions that can be tested on them."""
    tested: int


def feature_index(branches: BranchArrays) -> FeatureIndex:
    """Every branch with its features, filed under the one that the fewest others have."""
    n = len(branches.source)
    starts = np.zeros(n + 1, np.int64)
    all_features(branches, np.empty(0, np.uint64), starts)
    found = np.empty(starts[-1], np.uint64)
    all_features(branches, found, starts)
    owner = np.repeat(np.arange(n), np.diff(starts))
    _, number = np.unique(found, return_inverse=True)
    pairs = np.unique(owner * np.int64(len(found) + 1) + number)
    owner, has = np.divmod(pairs, np.int64(len(found) + 1))
    starts = np.searchsorted(owner, np.arange(n + 1))
    frequency = np.bincount(has, minlength=1)
    rarest = np.full(n, len(frequency), np.int64)
    order = np.lexsort((has, frequency[has], owner))
    firsts = np.flatnonzero(np.diff(owner[order], prepend=-1))
    rarest[owner[order][firsts]] = has[order][firsts]
    sign = np.zeros((n, 2), np.uint64)
    place = (has * 0x9E3779B1 >> 7) % 128
    for word in (0, 1):
        here = place // 64 == word
        bits = np.left_shift(np.uint64(1), (place[here] % 64).astype(np.uint64))
        np.bitwise_or.at(sign[:, word], owner[here], bits)
    filed = np.argsort(rarest, kind="stable").astype(np.int32)
    files = np.searchsorted(rarest[filed], np.arange(len(frequency) + 2))
    return FeatureIndex(starts, has.astype(np.int32), sign, files, filed, sign[filed])


def embeddings(
    branches: BranchArrays,
    bits: NDArray[np.int64] | None = None,
    words: int = 1,
    share: NDArray[np.float64] | None = None,
    shares: Sequence[tuple[int, int]] | None = None,
) -> Embeddings:
    """All pairs. `bits` says where a branch's bits begin among its view's, `share` what share of a condition's values
    satisfies it; `shares` are the ranges of targets to be done, all of them if omitted."""
    n = len(branches.source)
    bits = np.zeros(n, np.int64) if bits is None else bits
    share = np.ones(len(branches.ask_node)) if share is None else share
    index = feature_index(branches)
    ranges = [(0, n)] if shares is None else shares
    found = [part for low, high in ranges for part in _found(branches, index, bits, words, share, low, high)]
    feeder, target, mask, passing = (np.concatenate([part[k] for part in found]) for k in range(4))
    order = np.lexsort((feeder, target))
    return Embeddings(
        feeder[order], target[order], mask[order], passing[order], sum(part[4] for part in found)
    )


def _found(
    branches: BranchArrays,
    index: FeatureIndex,
    bits: NDArray[np.int64],
    words: int,
    share: NDArray[np.float64],
    low: int,
    high: int,
) -> Iterator[tuple[NDArray[np.int32], NDArray[np.int32], Masks, NDArray[np.float32], int]]:
    """Portions of what is found; each has room for at least the pairs of one target."""
    room = max(CHUNK, len(branches.source))
    while True:
        feeder, target = np.empty(room, np.int32), np.empty(room, np.int32)
        mask, passing = np.empty((room, words), np.uint64), np.empty(room, np.float32)
        count, low, tested = find_embeddings(
            branches, index, bits, share, low, high, feeder, target, mask, passing
        )
        yield feeder[:count], target[:count], mask[:count], passing[:count], tested
        if low >= high:
            return
