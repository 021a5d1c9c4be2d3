"""Covers: the sets of views that a view can be filled from, and what filling it costs.

A set of views covers a view when each part of it is covered by one of them: each node, condition, value and subtree of
each branch. Its rewriting joins their tuples by structural ids, tests what is not said yet, and projects.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from feedweir.network.cover_kernels import INFINITE, cheapest_covers, cost_of_covers, covers_within
from feedweir.network.embeddings import Masks

MOST_FEEDERS = 16
"""A cover of more views than these is not looked for."""
ROOM = 1 << 18


class Pairs(NamedTuple):
    """Who can serve whom, in part: by target, of each target by what is covered."""

    groups: NDArray[np.int64]
    """Of each target its groups: pairs that cover the same."""
    pairs: NDArray[np.int64]
    """Of each group its pairs."""
    masks: Masks
    sizes: NDArray[np.float64]
    """Of each group the bytes in a tuple of what is covered."""
    feeder: NDArray[np.int32]
    share: NDArray[np.float32]
    toll: NDArray[np.float32]
    """What a pair costs besides, while circles are priced."""
    full: Masks
    """Of each target all that must be covered."""
    bits: NDArray[np.int64]


class Work(NamedTuple):
    """What serving takes: of each view its tuples for a document and their size, and the price of resources at its
    site."""

    tuples: NDArray[np.float64]
    size: NDArray[np.float64]
    site: NDArray[np.int32]
    cpu: NDArray[np.float64]
    out: NDArray[np.float64]
    into: NDArray[np.float64]
    per_tuple: float
    """CPU seconds."""
    joins_at_sender: bool


@dataclass(frozen=True, slots=True)
class Covers:
    """Rewritings as arrays: feeders with -1 behind the last; where hosted, the first joins and sends the result."""

    target: NDArray[np.int32]
    members: NDArray[np.int32]
    is_hosted: NDArray[np.bool_]


def grouped(
    n: int,
    target: NDArray[np.int32],
    feeder: NDArray[np.int32],
    mask: Masks,
    share: NDArray[np.float32],
    full: Masks,
    ask_bytes: NDArray[np.float64],
    asked: NDArray[np.int64],
) -> Pairs:
    """Pairs in the order of targets, then of what they cover. Those that cover nothing are left out."""
    words = int(mask.shape[1])
    some = mask.any(axis=1)
    target, feeder, mask, share = target[some], feeder[some], mask[some], share[some]
    keys: list[Any] = [feeder, *(mask[:, word] for word in range(words)), target]
    order = np.lexsort(keys)
    target, feeder, mask, share = target[order], feeder[order], mask[order], share[order]
    is_first = np.ones(len(target), bool)
    is_first[1:] = (target[1:] != target[:-1]) | (mask[1:] != mask[:-1]).any(axis=1)
    starts = np.flatnonzero(is_first)
    of_group = target[starts]
    bits = np.diff(asked)
    sizes = np.zeros(len(starts))
    for bit in range(int(bits.max(initial=0))):
        has = (mask[starts, bit >> 6] >> np.uint64(bit & 63) & np.uint64(1)).astype(bool)
        has &= bit < bits[of_group]
        sizes[has] += ask_bytes[asked[of_group[has]] + bit]
    return Pairs(
        np.searchsorted(of_group, np.arange(n + 1)),
        np.append(starts, len(target)),
        np.ascontiguousarray(mask[starts]),
        sizes,
        feeder,
        share,
        np.zeros(len(share), np.float32),
        full,
        bits,
    )


def full_masks(bits: NDArray[np.int64], words: int) -> Masks:
    """As many ones as each view has bits."""
    found = np.zeros((len(bits), words), np.uint64)
    for word in range(words):
        here = np.clip(bits - 64 * word, 0, 64).astype(np.uint64)
        ones = np.left_shift(np.uint64(1), np.minimum(here, np.uint64(63))) - np.uint64(1)
        found[:, word] = np.where(here == 64, ~np.uint64(0), ones)
    return found


def cheapest(
    pairs: Pairs, work: Work, price: NDArray[np.float64], low: int = 0, high: int | None = None
) -> tuple[NDArray[np.float64], Covers]:
    """The cheapest cover of each target at these prices, and what it costs; infinite where there is none."""
    high = len(pairs.bits) if high is None else high
    costs = np.empty(high - low)
    members = np.empty((high - low, MOST_FEEDERS), np.int32)
    is_hosted = np.zeros(high - low, np.bool_)
    cheapest_covers(pairs, work, price, low, high, costs, members, is_hosted)
    costs[costs >= INFINITE] = np.inf
    return costs, Covers(np.arange(low, high, dtype=np.int32), members, is_hosted)


def within(
    pairs: Pairs, work: Work, price: NDArray[np.float64], limit: NDArray[np.float64], most: int = 2_000
) -> tuple[Covers, int]:
    """All covers without a superfluous view that cost at most so much at these prices, each once; and of how many
    targets only the first `most` were taken."""
    parts, start, n, cut = [], 0, len(pairs.bits), 0
    while start < n:
        target = np.empty(max(ROOM, most), np.int32)
        members = np.empty((len(target), MOST_FEEDERS), np.int32)
        is_hosted = np.empty(len(target), np.bool_)
        count, start, more = covers_within(
            pairs, work, price, limit, most, start, n, target, members, is_hosted
        )
        cut += more
        parts.append(distinct(Covers(target[:count], members[:count], is_hosted[:count])))
    if not parts:
        return Covers(np.empty(0, np.int32), np.empty((0, MOST_FEEDERS), np.int32), np.empty(0, np.bool_)), 0
    return joined(parts), cut


def joined(parts: list[Covers]) -> Covers:
    return Covers(
        np.concatenate([part.target for part in parts]),
        np.concatenate([part.members for part in parts]),
        np.concatenate([part.is_hosted for part in parts]),
    )


def distinct(found: Covers) -> Covers:
    """Each once, members in order of their number; a host stays first."""
    members = np.where(found.members < 0, np.int32(2**31 - 1), found.members)
    hosts = np.where(found.is_hosted, members[:, 0], -1)
    rest = members.copy()
    rest[found.is_hosted, 0] = 2**31 - 1
    rest.sort(axis=1)
    rows = np.column_stack([found.target, hosts, rest])
    rows = np.unique(rows, axis=0)
    target, host, rest = rows[:, 0], rows[:, 1], rows[:, 2:]
    is_hosted = host >= 0
    members = rest.copy()
    members[is_hosted, 1:] = rest[is_hosted, :-1]
    members[is_hosted, 0] = host[is_hosted]
    members = np.where(members == 2**31 - 1, -1, members).astype(np.int32)
    return Covers(target.astype(np.int32), members, is_hosted)


def place_of(pairs: Pairs, target: int, feeder: int) -> int:
    """Where a pair stands; -1 if there is none."""
    low, high = pairs.pairs[pairs.groups[target]], pairs.pairs[pairs.groups[target + 1]]
    found = np.flatnonzero(pairs.feeder[low:high] == feeder)
    return int(low + found[0]) if len(found) else -1


def costs_of(covers: Covers, pairs: Pairs, work: Work) -> NDArray[np.float64]:
    """What each rewriting costs, without prices for feeding."""
    found = np.empty(len(covers.target))
    cost_of_covers(pairs, work, covers.target, covers.members, covers.is_hosted, found)
    return found
