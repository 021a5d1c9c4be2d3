"""Queries that are not compiled by columns, as formulas."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from feedweir.match.arrays import Array
from feedweir.match.families import reduced
from feedweir.match.formula import NO, Formula
from feedweir.match.index.filter_forest import left_to_index
from feedweir.match.sets.query_store import whole_predicate
from feedweir.plan.query_columns import query_of

Progress: TypeAlias = Callable[[int, int], None]
_ROWS_AT_ONCE = 4096


@dataclass(frozen=True, slots=True)
class Note:
    """What the operator should know about a query: `costly` ones are tried on every item."""

    key: int
    kind: str
    text: str


@dataclass(slots=True)
class Formulas:
    """Formulas by row of the table; a query that cannot be read gets a note and matches nothing."""

    formulas: dict[int, Formula]
    notes: list[Note]


InTrees: TypeAlias = Mapping[int, set[str]]
"""By row, the sources for which a tree finds the query."""


def formulas_of(table: pa.Table, plain: Array, in_trees: InTrees, progress: Progress | None) -> Formulas:
    """The formulas of the queries that are not plain, except where trees find them."""
    is_general = np.ones(len(table), bool)
    is_general[plain] = False
    rows = np.flatnonzero(is_general)
    found = Formulas({}, [])
    for first in range(0, len(rows), _ROWS_AT_ONCE):
        if progress:
            progress(len(plain) + first, len(table))
        some = rows[first : first + _ROWS_AT_ONCE]
        for number, row in zip(some.tolist(), table.take(pa.array(some)).to_pylist(), strict=True):
            _read(found, number, row, in_trees)
    return found


def _read(found: Formulas, number: int, row: dict[str, Any], in_trees: InTrees) -> None:
    try:
        query = left_to_index(query_of(row), in_trees.get(number, set()))
        if query is not None:
            found.formulas[number] = reduced(whole_predicate(query))
        elif reduced(query_of(row).predicate) == NO:
            found.notes.append(Note(row["key"], "never", "no item can satisfy it"))
    except Exception as error:  # one broken query is one broken query
        found.notes.append(Note(row["key"], "broken", f"{type(error).__name__}: {error}"))
