"""What a matcher answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

Ints: TypeAlias = npt.NDArray[np.int32]
Longs: TypeAlias = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Work:
    """What an answer cost: atoms tested, conjunctions reached, checks run, questions asked of `meaning`."""

    tests: int = 0
    candidates: int = 0
    checks: int = 0
    asked: int = 0

    def __add__(self, other: Work) -> Work:
        return Work(
            self.tests + other.tests,
            self.candidates + other.candidates,
            self.checks + other.checks,
            self.asked + other.asked,
        )


@dataclass(frozen=True, slots=True)
class Matches:
    """Pairs (row of the batch, key), each once, sorted by row and then by key."""

    rows: Ints
    keys: Longs
    work: Work = Work()

    def __len__(self) -> int:
        return len(self.rows)


@dataclass(frozen=True, slots=True)
class Span:
    """Where a clause found what it wanted: characters `start` to `end` of a value of an attribute."""

    attribute: str
    value: int
    """Which of the attribute's values, from 0."""
    start: int
    end: int


_NO_WORK = Work()


def merged(parts: list[Matches]) -> Matches:
    """Several answers about one batch as one."""
    rows = np.concatenate([np.empty(0, np.int32), *(part.rows for part in parts)])
    keys = np.concatenate([np.empty(0, np.int64), *(part.keys for part in parts)])
    return sorted_matches(rows, keys, sum((part.work for part in parts), Work()))


def sorted_matches(rows: Ints, keys: Longs, work: Work = _NO_WORK) -> Matches:
    """Pairs in order, each once."""
    order = np.lexsort((keys, rows))
    rows, keys = rows[order], keys[order]
    is_new = np.ones(len(rows), bool)
    is_new[1:] = (rows[1:] != rows[:-1]) | (keys[1:] != keys[:-1])
    return Matches(rows[is_new].astype(np.int32), keys[is_new], work)
