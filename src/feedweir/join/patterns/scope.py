"""What of a level is evaluated: everything, or one part of it where a batch is divided among tasks.

Joins that compare values and only give pairs of items are divided by the value that they compare: a match is found by
the task that has the key group of the value at which its join is begun, and verified there. Which edge that is follows
from the whole batch, so that all tasks begin alike. Chains and constructions stay together.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from feedweir.join.patterns.pattern_set import Level, TemplateRelation

Longs = NDArray[np.int64]

KEY_GROUPS = 4096
_SHIFT = np.uint64(64 - 12)


def key_groups(values: Longs) -> Longs:
    """The key groups of values, which are spread evenly; history is sorted by value, and so by group."""
    return (values.view(np.uint64) >> _SHIFT).astype(np.int64)


@dataclass(frozen=True, slots=True)
class ValueSlice:
    """The key groups that one of several tasks has."""

    number: int
    of: int

    def has(self, values: Longs) -> NDArray[np.bool_]:
        return np.asarray(key_groups(values) * self.of // KEY_GROUPS == self.number)


@dataclass(frozen=True, slots=True)
class Scope:
    """Which joins are evaluated, all of them if that is not said, and for which values."""

    is_divided: bool | None = None
    part: ValueSlice | None = None


EVERYTHING = Scope()
UNDIVIDED = Scope(is_divided=False)


def divided_rows(level: Level, relation: TemplateRelation) -> NDArray[np.bool_]:
    """The rows of R_T whose results are all pairs of items."""
    if relation.template.outputs or not len(relation.mode):
        return np.zeros(len(relation.mode), np.bool_)
    results = level.results
    is_pair = (results.select == 0) & (results.stream == 0)
    return np.logical_and.reduceat(is_pair[relation.members], relation.members_ptr[:-1])
