"""Looking back: the same query over stored items, newest first, so that a user sees what it would have brought."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import IO, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from feedweir.items.model import Item
from feedweir.items.schema import ITEM_SCHEMA, items_of
from feedweir.match.arrays import Array
from feedweir.match.compiled import compiled_in_memory
from feedweir.match.store import table_of
from feedweir.plan.query import Query

_ROWS_PER_BATCH = 8192


@dataclass(frozen=True, slots=True)
class LookBack:
    """The newest items that a query wants, and how many there are in all that was searched."""

    items: tuple[Item, ...]
    found: int
    searched: int
    per_day: tuple[tuple[date, int], ...]
    """How many each day brought, by arrival; days without any are left out."""
    skipped: tuple[str, ...] = ()
    """Files that could not be read."""


def look_back(
    query: Query,
    files: Sequence[Path],
    *,
    limit: int = 50,
    max_searched: int | None = None,
    among: Array | None = None,
) -> LookBack:
    """Search item files, newest file first; `limit` bounds the items returned, `max_searched` those looked at.

    `among` are the numbers of the items that may be looked at, sorted.
    """
    compiled = compiled_in_memory(table_of([query]))
    newest: list[pa.RecordBatch] = []
    days: dict[date, int] = {}
    skipped: list[str] = []
    found = searched = kept = 0
    for batch in _batches(files, skipped):
        if max_searched is not None and searched >= max_searched:
            break
        if among is not None:
            batch = batch.filter(pa.array(np.isin(batch.column("seq").to_numpy(), among)))
        searched += batch.num_rows
        hits = batch.take(pa.array(compiled.match(batch).rows))
        found += hits.num_rows
        for day, count in _by_day(hits):
            days[day] = days.get(day, 0) + count
        if kept < limit:
            newest.append(_newest_first(hits).slice(0, limit - kept))
            kept += newest[-1].num_rows
    items = tuple(item for hits in newest for item in items_of(hits))
    return LookBack(items, found, searched, tuple(sorted(days.items())), tuple(skipped))


def _batches(files: Sequence[Path], skipped: list[str]) -> Iterator[pa.RecordBatch]:
    """The row groups of files from the last of the last file to the first of the first; damaged files are named.

    All are opened before the first is read: whoever takes one away meanwhile has put what it held elsewhere.
    """
    with ExitStack() as stack:
        opened = [(path, stack.enter_context(path.open("rb"))) for path in reversed(files)]
        yield from _newest_groups(opened, skipped)


def _newest_groups(opened: Sequence[tuple[Path, IO[bytes]]], skipped: list[str]) -> Iterator[pa.RecordBatch]:
    for path, held in opened:
        try:
            with pq.ParquetFile(held) as file:
                for group in reversed(range(file.num_row_groups)):
                    table = file.read_row_group(group).select(ITEM_SCHEMA.names).cast(ITEM_SCHEMA)
                    batches = _newest_first(table).to_batches(max_chunksize=_ROWS_PER_BATCH)
                    yield from batches
        except (OSError, pa.ArrowException) as error:
            skipped.append(f"{path.name}: {error}")


def _newest_first(items: Any) -> Any:
    order = np.argsort(-items.column("seq").to_numpy(), kind="stable")
    return items.take(pa.array(order))


def _by_day(items: pa.RecordBatch) -> Iterator[tuple[date, int]]:
    counted = pc.value_counts(items.column("arrived").cast(pa.date32()))
    for pair in counted.to_pylist():
        yield pair["values"], pair["counts"]
