"""The queries of a compiled set as they were given, for explanations, verification and merges.

MatchQuestions does not touch this file; it lies compressed on disk, in batches that are read one at a time.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from feedweir.items.owners import concerns
from feedweir.plan.predicates import And, FromFeeds, Predicate
from feedweir.plan.query import Query
from feedweir.plan.query_columns import ROWS_PER_BATCH, SCHEMA, QueryTable, in_order, query_of

FILE = "queries.arrow"


@dataclass(frozen=True, slots=True)
class KeywordQueries:
    """Many queries that each want all of their terms anywhere in an item; a term of several words is a phrase.

    `keys` are int64, `terms` a list of strings each; the same queries as objects mean the same, only slower.
    """

    keys: pa.Array
    terms: pa.Array

    def table(self) -> pa.Table:
        n = len(self.keys)
        starts, no_names = np.zeros(n + 1, np.int32), pa.array([], pa.string())
        known = {
            "key": self.keys,
            "owner": pa.repeat("", n),
            "sources": pa.ListArray.from_arrays(starts, no_names),
            "terms": _coded(self.terms),
            # nulls of this type would be written with offsets for all rows in every batch
            "attributes": pa.ListArray.from_arrays(starts, no_names, mask=pa.repeat(True, n)),
            "is_any": pa.repeat(False, n),
        }
        return pa.table([known.get(one.name, pa.nulls(n, one.type)) for one in SCHEMA], schema=SCHEMA)


def _coded(terms: pa.Array) -> pa.Array:
    """Lists of strings as lists of numbers into the distinct ones."""
    offsets = np.concatenate([[0], np.cumsum(pc.fill_null(pc.list_value_length(terms), 0))])
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), terms.flatten().dictionary_encode())


def table_of(queries: Iterable[Query] | KeywordQueries | pa.Table) -> pa.Table:
    """Queries as a table sorted by key; those of equal keys stay in the order given."""
    if isinstance(queries, pa.Table):
        return in_order(queries)
    return in_order(queries.table() if isinstance(queries, KeywordQueries) else QueryTable.of(queries).table)


def write_table(directory: Path, table: pa.Table) -> None:
    options = pa.ipc.IpcWriteOptions(compression="lz4")
    path = str(directory / FILE)
    with pa.OSFile(path, "wb") as sink, pa.ipc.new_file(sink, SCHEMA, options=options) as writer:
        writer.write_table(_without_unused(table), max_chunksize=ROWS_PER_BATCH)


def _without_unused(table: pa.Table) -> pa.Table:
    """The same queries without terms that only removed queries named."""
    lists = table.column("terms").combine_chunks()
    terms = lists.flatten()
    numbers = terms.indices.to_numpy()
    is_used = np.bincount(numbers, minlength=len(terms.dictionary)) > 0
    if is_used.all():
        return table
    coded = pa.DictionaryArray.from_arrays(
        pa.array((np.cumsum(is_used) - 1)[numbers], pa.int32()), terms.dictionary.filter(pa.array(is_used))
    )
    offsets = np.concatenate([[0], np.cumsum(pc.fill_null(pc.list_value_length(lists), 0))])
    again = pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), coded, mask=pc.is_null(lists))
    return table.set_column(table.schema.get_field_index("terms"), "terms", again)


def read_table(directory: Path) -> pa.Table:
    # merges run beside matching: with threads they would end sooner and take twice the CPU time
    options = pa.ipc.IpcReadOptions(use_threads=False)
    with pa.memory_map(str(directory / FILE)) as source:
        return pa.ipc.open_file(source, options=options).read_all()


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
        self._file = pa.memory_map(str(directory / FILE))
        self._batch = lru_cache(maxsize=16)(lambda number: self._reader.get_batch(number))
        self._known = lru_cache(maxsize=65536)(self._query)

    @cached_property
    def _reader(self) -> pa.ipc.RecordBatchFileReader:
        return pa.ipc.open_file(self._file)

    def query(self, number: int) -> Query:
        return self._known(number)

    def owned_by(self, owner: str) -> pa.Table:
        return _owned_by(self._reader.read_all(), owner)

    def _query(self, number: int) -> Query:
        batch = self._batch(number // ROWS_PER_BATCH)
        return query_of(batch.slice(number % ROWS_PER_BATCH, 1).to_pylist()[0])


def _owned_by(table: pa.Table, asker: str) -> pa.Table:
    """The queries that concern an owner; each distinct owner is compared once."""
    owners = pc.unique(table.column("owner")).to_pylist()
    wanted = [owner for owner in owners if concerns(owner, asker)]
    return table.filter(pc.is_in(table.column("owner"), pa.array(wanted, pa.string())))


def whole_predicate(query: Query) -> Predicate:
    """The predicate of a query with its sources as one more clause."""
    return And((FromFeeds(query.sources), query.predicate)) if query.sources else query.predicate
