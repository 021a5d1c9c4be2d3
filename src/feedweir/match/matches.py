"""What a matcher answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

Ints: TypeAlias = npt.NDArray[np.int32]
Longs: TypeAlias = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Matches:
    """Pairs (row of the batch, key), each once, sorted by row and then by key."""

    rows: Ints
    keys: Longs

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


def merged(parts: list[Matches]) -> Matches:
    """Several answers about one batch as one."""
    rows = np.concatenate([np.empty(0, np.int32), *(part.rows for part in parts)])
    keys = np.concatenate([np.empty(0, np.int64), *(part.keys for part in parts)])
    return sorted_matches(rows, keys)


def sorted_matches(rows: Ints, keys: Longs) -> Matches:
    """Pairs in order, each once."""
    order = np.lexsort((keys, rows))
    rows, keys = rows[order], keys[order]
    is_new = np.ones(len(rows), bool)
    is_new[1:] = (rows[1:] != rows[:-1]) | (keys[1:] != keys[:-1])
    return Matches(rows[is_new].astype(np.int32), keys[is_new])
