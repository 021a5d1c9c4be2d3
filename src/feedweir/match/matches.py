"""The answer of a matcher."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from feedweir.match.index.filter_forest import Observed
from feedweir.match.matching.pair_kernels import merge_pairs

Ints: TypeAlias = npt.NDArray[np.int32]
Longs: TypeAlias = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Work:
    """The cost of an answer: atoms tested, conjunctions reached, checks run, pairs verified by `meaning`."""

    tests: int = 0
    candidates: int = 0
    checks: int = 0
    asked: int = 0
    held: int = 0
    """The most pairs that there was room for at a time."""

    def __add__(self, other: Work) -> Work:
        return Work(
            self.tests + other.tests,
            self.candidates + other.candidates,
            self.checks + other.checks,
            self.asked + other.asked,
            max(self.held, other.held),
        )


@dataclass(frozen=True, slots=True)
class Matches:
    """Pairs (row of the batch, key), each once, sorted by row and then by key."""

    rows: Ints
    keys: Longs
    work: Work = Work()
    failures: tuple[tuple[int, str], ...] = ()
    """(key, what went wrong) of queries that could not be evaluated; the others were."""
    observed: tuple[Observed, ...] = ()
    """What was counted on sampled rows."""

    def __len__(self) -> int:
        return len(self.rows)


NOTHING = Matches(np.empty(0, np.int32), np.empty(0, np.int64))


@dataclass(frozen=True, slots=True)
class Span:
    """Where a clause matched: characters `start` to `end` of a value of an attribute."""

    attribute: str
    value: int
    """Which of the attribute's values, from 0."""
    start: int
    end: int


def merged(parts: Sequence[Matches]) -> Matches:
    """Several answers about one batch as one; the small ones first, so that the large one is copied once."""
    work = sum((part.work for part in parts), Work())
    failures = tuple(failure for part in parts for failure in part.failures)
    rows, keys = np.empty(0, np.int32), np.empty(0, np.int64)
    for part in sorted(parts, key=len):
        is_first = len(rows) == 0
        rows, keys = (part.rows, part.keys) if is_first else merge_pairs(rows, keys, part.rows, part.keys)
    observed = tuple(one for part in parts for one in part.observed)
    return Matches(rows, keys, work, failures, observed)
