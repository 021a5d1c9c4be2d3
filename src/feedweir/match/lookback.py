"""Runs a query over stored items, newest first, to show what it would have brought."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import date
from functools import lru_cache
from operator import attrgetter
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from feedweir.items.attributes import attribute_named
from feedweir.items.model import Item
from feedweir.items.schema import ITEM_SCHEMA, empty_column, items_of
from feedweir.match.arrays import Array
from feedweir.match.sets.compiled_set import compiled_in_memory
from feedweir.match.sets.query_store import table_of
from feedweir.match.words.scopes import WHOLE
from feedweir.plan.predicates import And, AtLeast, Compare, Contains, Not, Or, Predicate
from feedweir.plan.query import Query

_ROWS_PER_BATCH = 8192
_GROUPS_AT_ONCE = 32


@dataclass(frozen=True, slots=True)
class LookBack:
    """The newest items that a query matches, and how many matched among all items searched."""

    items: tuple[Item, ...]
    found: int
    searched: int
    per_day: tuple[tuple[date, int], ...]
    """How many each day brought, by arrival; days without any are left out."""
    skipped: tuple[str, ...] = ()
    """Files that could not be read."""


def look_back(
    query: Query, files: Sequence[Path], *, limit: int = 50, among: Array | None = None
) -> LookBack:
    """Search item files, newest file first; `limit` bounds the items returned.

    `among`, sorted, restricts the search to these items. All files are opened before the first is read, so that one
    deleted meanwhile is still searched; damaged ones are named.
    """
    search = _Search(query, limit, among)
    skipped: list[str] = []
    with ExitStack() as stack:
        opened = [(path, stack.enter_context(path.open("rb"))) for path in reversed(files)]
        for path, held in opened:
            try:
                with pq.ParquetFile(held) as file:
                    search.look_into(file)
            except (OSError, pa.ArrowException) as error:
                skipped.append(f"{path.name}: {error}")
    per_day = tuple(sorted(search.per_day.items()))
    return LookBack(tuple(search.newest), search.per_day.total(), search.searched, per_day, tuple(skipped))


class _Search:
    """What was found so far.

    Of all items only the columns are read that the query asks about, and whole rows of those only that are returned:
    most of a row is its own XML, which nobody searches.
    """

    def __init__(self, query: Query, limit: int, among: Array | None) -> None:
        self._compiled = compiled_in_memory(table_of([query]))
        self._columns = sorted({"seq", "arrived", "source", *_columns_asked(query.predicate)})
        self._limit = limit
        self._among = among
        self.newest: list[Item] = []
        self.per_day: Counter[date] = Counter()
        self.searched = 0

    def look_into(self, file: pq.ParquetFile) -> None:
        for last in range(file.num_row_groups, 0, -_GROUPS_AT_ONCE):
            groups = range(max(last - _GROUPS_AT_ONCE, 0), last)
            table = file.read_row_groups(groups, self._columns, use_threads=False)
            if self._among is not None:
                table = table.filter(pa.array(np.isin(table.column("seq").to_numpy(), self._among)))
            hits = self._hits_in(table)
            missing = self._limit - len(self.newest)
            if missing and len(hits):
                self.newest += _items_of(file, groups, np.sort(hits)[: -missing - 1 : -1])

    def _hits_in(self, table: pa.Table) -> Array:
        """The numbers of those that match."""
        found = [np.empty(0, np.int64)]
        for batch in table.combine_chunks().to_batches(_ROWS_PER_BATCH):
            hits = batch.take(pa.array(self._compiled.match(_whole(batch)).rows))
            days = pc.value_counts(hits.column("arrived").cast(pa.date32())).to_pylist()
            self.per_day.update({pair["values"]: pair["counts"] for pair in days})
            found.append(hits.column("seq").to_numpy())
        self.searched += table.num_rows
        return np.concatenate(found)


def _columns_asked(predicate: Predicate) -> set[str]:
    """The columns that decide whether an item is wanted: all of them where that is not known to be fewer."""
    match predicate:
        case And(parts) | Or(parts) | AtLeast(_, parts):
            return set[str]().union(*map(_columns_asked, parts))
        case Not(part):
            return _columns_asked(part)
        case Contains(None):
            return {one.column for one in map(attribute_named, WHOLE) if one}
        case Contains(str(name)) | Compare(name):
            attribute = attribute_named(name)
            return {attribute.column} if attribute else set()
    return set(ITEM_SCHEMA.names)


def _whole(batch: pa.RecordBatch) -> pa.RecordBatch:
    """With every column of an item; those that were not read are empty."""
    read, empty = set(batch.schema.names), _empty_rows()
    columns = [
        batch.column(one.name).cast(one.type) if one.name in read else empty[one.name].slice(0, len(batch))
        for one in ITEM_SCHEMA
    ]
    return pa.RecordBatch.from_arrays(columns, schema=ITEM_SCHEMA)


@lru_cache(maxsize=1)
def _empty_rows() -> dict[str, pa.Array]:
    return {one.name: empty_column(one.type, _ROWS_PER_BATCH) for one in ITEM_SCHEMA}


def _items_of(file: pq.ParquetFile, groups: Sequence[int], seqs: Array) -> list[Item]:
    """Whole rows by their numbers, newest first."""
    wanted = pa.array(seqs)
    parts = file.iter_batches(_ROWS_PER_BATCH, groups, ITEM_SCHEMA.names, use_threads=False)
    rows = pa.Table.from_batches([part.filter(pc.is_in(part.column("seq"), wanted)) for part in parts])
    return sorted(items_of(rows.cast(ITEM_SCHEMA)), key=attrgetter("seq"), reverse=True)
