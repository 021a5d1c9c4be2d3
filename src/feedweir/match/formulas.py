"""Queries as formulas: one by one, and for many of them in several processes."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from feedweir.match.arrays import Array
from feedweir.match.factored import left_to_index
from feedweir.match.formula import NO, Formula, reduced
from feedweir.match.formula_wire import formulas_from_bytes, formulas_to_bytes
from feedweir.match.store import whole_predicate
from feedweir.plan.columns import query_of

Progress: TypeAlias = Callable[[int, int], None]
PARALLEL_FROM = 50_000
"""Queries from which on starting processes takes less than they save."""
_MOST_PROCESSES = 16
_ROWS_AT_ONCE = 4096


@dataclass(frozen=True, slots=True)
class Note:
    """What the operator should know about a query: `costly` ones are tried on every item."""

    key: int
    kind: str
    text: str


@dataclass(slots=True)
class Formulas:
    """By row of the table; a query that cannot be read is noted and matches nothing."""

    formulas: dict[int, Formula]
    notes: list[Note]

    def __iadd__(self, other: Formulas) -> Formulas:
        self.formulas |= other.formulas
        self.notes += other.notes
        return self


InTrees: TypeAlias = Mapping[int, set[str]]
"""By row, the sources for which a tree finds the query."""


def formulas_of(table: pa.Table, plain: Array, in_trees: InTrees, progress: Progress | None) -> Formulas:
    """The formulas of the queries that are not plain, as far as trees do not find them."""
    is_general = np.ones(len(table), bool)
    is_general[plain] = False
    rows = np.flatnonzero(is_general)
    n_processes = min(os.cpu_count() or 1, _MOST_PROCESSES) if len(rows) >= PARALLEL_FROM else 1
    shares = np.array_split(rows, n_processes)

    def told(n: int) -> None:
        if progress:
            progress(len(table) - len(rows) + n * n_processes, len(table))

    if n_processes == 1:
        return read_formulas(table, rows, in_trees, told)
    with TemporaryDirectory() as scratch:
        others = [
            _Elsewhere(table, share, in_trees, Path(scratch) / str(n)) for n, share in enumerate(shares[1:])
        ]
        found = read_formulas(table, shares[0], in_trees, told)
        for other in others:
            found += other.result()
    return found


def read_formulas(
    table: pa.Table, rows: Array, in_trees: InTrees, told: Callable[[int], None] = lambda n: None
) -> Formulas:
    """The formulas of some rows; `told` hears how many are done."""
    found = Formulas({}, [])
    for first in range(0, len(rows), _ROWS_AT_ONCE):
        told(first)
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


class _Elsewhere:
    """A share of the rows that another process reads: a program of its own, which inherits nothing of this one."""

    def __init__(self, table: pa.Table, rows: Array, in_trees: InTrees, path: Path) -> None:
        self._given = (table, rows, {row: in_trees[row] for row in rows.tolist() if row in in_trees})
        self._path = path
        path.with_suffix(".in").write_bytes(pickle.dumps((table.take(pa.array(rows)), *self._given[1:])))
        code = "import sys; from feedweir.match.formulas import read_file; read_file(sys.argv[1])"
        self._process = subprocess.Popen([sys.executable, "-c", code, str(path)], stdin=subprocess.DEVNULL)

    def result(self) -> Formulas:
        """What it read; when it died, it is read here."""
        if self._process.wait() != 0:
            return read_formulas(*self._given)
        notes, plain = pickle.loads(self._path.with_suffix(".out").read_bytes())
        return Formulas(formulas_from_bytes(plain), notes)


def read_file(path: str) -> None:
    """What the other process does."""
    table, rows, in_trees = pickle.loads(Path(path).with_suffix(".in").read_bytes())
    numbers = dict(enumerate(rows.tolist()))
    local = {place: in_trees[row] for place, row in numbers.items() if row in in_trees}
    found = read_formulas(table, np.arange(len(table)), local)
    renumbered = {numbers[place]: formula for place, formula in found.formulas.items()}
    Path(path).with_suffix(".out").write_bytes(
        pickle.dumps((found.notes, formulas_to_bytes(renumbered)), pickle.HIGHEST_PROTOCOL)
    )
