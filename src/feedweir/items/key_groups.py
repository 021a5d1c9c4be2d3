"""Key groups: the unit in which keyed work is divided among tasks.

There are 4,096 of them, for ever; the group of a key is the first twelve bits of its 64-bit hash, so what is sorted
by hash is sorted by group, and a range of groups is a slice of a sorted file. Tasks take ranges of neighbouring groups.
How many tasks there are is decided for each batch, and nothing is moved when their number changes.

What was seen is divided by the groups of source and identity. Whatever else is divided among tasks by key, such as the
shards of joins, takes its groups from here, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

BITS = 12
KEY_GROUPS = 1 << BITS
_SHIFT = 64 - BITS


@dataclass(frozen=True, slots=True, order=True)
class GroupRange:
    """The groups `first <= group < end`."""

    first: int
    end: int

    def slice_of(self, hashes: NDArray[np.uint64]) -> slice:
        """Where the hashes of these groups are among sorted ones."""
        start = np.searchsorted(hashes, _least_hash(self.first), "left") if self.first else 0
        stop = (
            np.searchsorted(hashes, _least_hash(self.end), "left") if self.end < KEY_GROUPS else len(hashes)
        )
        return slice(int(start), int(stop))


ALL_GROUPS = GroupRange(0, KEY_GROUPS)


def groups_of(hashes: NDArray[np.uint64]) -> NDArray[np.int16]:
    """The groups of 64-bit hashes."""
    return (hashes >> np.uint64(_SHIFT)).astype(np.int16)


def divided(tasks: int) -> tuple[GroupRange, ...]:
    """All groups in at most `tasks` ranges that differ by one group at most."""
    tasks = max(1, min(tasks, KEY_GROUPS))
    ends = [KEY_GROUPS * task // tasks for task in range(tasks + 1)]
    return tuple(GroupRange(first, end) for first, end in pairwise(ends))


def divided_by_weight(hashes: NDArray[np.uint64], tasks: int) -> tuple[GroupRange, ...]:
    """All groups in `tasks` ranges that have about the same number of these hashes."""
    sums = np.cumsum(np.bincount(groups_of(hashes), minlength=KEY_GROUPS))
    ends = np.searchsorted(sums, sums[-1] * np.arange(1, tasks) / tasks, "left") + 1
    return tuple(GroupRange(*pair) for pair in pairwise([0, *ends.tolist(), KEY_GROUPS]))


def shares_of(hashes: NDArray[np.uint64], ranges: Sequence[GroupRange]) -> NDArray[np.int64]:
    """How many of these hashes each range has."""
    ordered = np.sort(hashes)
    found = [one.slice_of(ordered) for one in ranges]
    return np.array([one.stop - one.start for one in found], np.int64)


def _least_hash(group: int) -> np.uint64:
    return np.uint64(group << _SHIFT)
