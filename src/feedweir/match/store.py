"""The queries of a compiled set as they were given: what explanations, residual checks and merges read.

Matching does not touch this file; it lies compressed on disk, in batches that are read one at a time.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from feedweir.items.owners import concerns
from feedweir.plan.columns import ROWS_PER_BATCH, SCHEMA, QueryTable, in_order, query_of
from feedweir.plan.predicates import And, FromFeeds, Predicate
from feedweir.plan.query import Query

FILE = "queries.arrow"


@dataclass(frozen=True, slots=True)
class KeywordQueries:
    """Many queries at once that want all of their terms anywhere in an item; a term of several words is a phrase.

    `keys` are int64, `terms` a list of strings each; the same queries as objects mean the same, only slower.
    """

    keys: pa.Array
    terms: pa.Array

    def table(self) -> pa.Table:
        n = len(self.keys)
        known = {
            "key": self.keys,
            "owner": pa.repeat("", n),
            "sources": pa.ListArray.from_arrays(np.zeros(n + 1, np.int32), pa.array([], pa.string())),
            "terms": self.terms,
            "is_any": pa.repeat(False, n),
        }
        return pa.table([known.get(one.name, pa.nulls(n, one.type)) for one in SCHEMA], schema=SCHEMA)


def table_of(queries: Iterable[Query] | KeywordQueries | pa.Table) -> pa.Table:
    """Queries as a table sorted by key; those of equal keys stay in the order given."""
    if isinstance(queries, pa.Table):
        return in_order(queries)
    return in_order(queries.table() if isinstance(queries, KeywordQueries) else QueryTable.of(queries).table)


def write_table(directory: Path, table: pa.Table) -> None:
    options = pa.ipc.IpcWriteOptions(compression="zstd")
    path = str(directory / FILE)
    with pa.OSFile(path, "wb") as sink, pa.ipc.new_file(sink, SCHEMA, options=options) as writer:
        writer.write_table(table, max_chunksize=ROWS_PER_BATCH)


def read_table(directory: Path) -> pa.Table:
    with pa.memory_map(str(directory / FILE)) as source:
        return pa.ipc.open_file(source).read_all()


class Queries(Protocol):
    """Queries by number."""

    def query(self, number: int) -> Query: ...

    def owned_by(self, owner: str) -> pa.Table: ...


class TableQueries:
    """The queries of a table in memory."""

    def __init__(self, table: pa.Table) -> None:
        self._table = table

    def query(self, number: int) -> Query:
        return query_of(self._table.slice(number, 1).to_pylist()[0])

    def owned_by(self, owner: str) -> pa.Table:
        return _owned_by(self._table, owner)


class StoredQueries:
    """The queries of a set by number, read from disk in batches when asked for."""

    def __init__(self, directory: Path) -> None:
        self._reader = pa.ipc.open_file(pa.memory_map(str(directory / FILE)))
        self._batch = lru_cache(maxsize=16)(self._reader.get_batch)
        self._known = lru_cache(maxsize=65536)(self._query)

    def query(self, number: int) -> Query:
        return self._known(number)

    def owned_by(self, owner: str) -> pa.Table:
        return _owned_by(self._reader.read_all(), owner)

    def _query(self, number: int) -> Query:
        batch = self._batch(number // ROWS_PER_BATCH)
        return query_of(batch.slice(number % ROWS_PER_BATCH, 1).to_pylist()[0])


def _owned_by(table: pa.Table, asker: str) -> pa.Table:
    """The queries that concern an owner; each owner that there is is looked at once."""
    owners = pc.unique(table.column("owner")).to_pylist()
    wanted = [owner for owner in owners if concerns(owner, asker)]
    return table.filter(pc.is_in(table.column("owner"), pa.array(wanted, pa.string())))


def whole_predicate(query: Query) -> Predicate:
    """The predicate of a query with its sources as one more clause."""
    return And((FromFeeds(query.sources), query.predicate)) if query.sources else query.predicate
