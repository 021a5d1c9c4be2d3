"""The tables of an installation as others read them, and as the engine does."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa
from deltalake import DeltaTable

from feedweir.logs.store import Store
from feedweir.tables.table_kinds import TABLES, TableKind

Rows = list[tuple[Any, ...]]


def by_engine(kind: TableKind, root: Path) -> pa.Table:
    """What manifests name, read by the engine."""
    store = Store(root)
    manifests = store.manifests()
    read: dict[str, Callable[[], pa.Table]] = {
        "items": lambda: store.item_table(manifests),
        "elements": lambda: store.element_table(manifests),
        "annotations": lambda: store.joined.annotation_table(manifests),
        "made": lambda: store.joined.made_table(manifests),
    }
    return read[kind.name]()


def by_deltalake(kind: TableKind, root: Path) -> pa.Table:
    return DeltaTable(kind.place(root)).to_pyarrow_table()


def by_polars(kind: TableKind, root: Path) -> pa.Table:
    return pl.scan_delta(str(kind.place(root))).collect().to_arrow()


def by_duckdb(kind: TableKind, root: Path) -> pa.Table:
    table = DeltaTable(kind.place(root)).to_pyarrow_dataset()
    with duckdb.connect() as connection:
        connection.execute("set timezone = 'UTC'")
        return connection.register("t", table).sql("select * from t").to_arrow_table()


READERS = (by_deltalake, by_polars, by_duckdb)
LOGGED = [one for one in TABLES.values() if one.has_manifests]


def rows_of(table: pa.Table, kind: TableKind) -> Rows:
    """Rows in an order of their own, to be compared."""
    named = table.select(kind.schema.names).to_pylist()
    return sorted(tuple(map(repr, row.values())) for row in named)


def assert_equal(root: Path) -> int:
    """All readers find in each table what the engine finds; how many rows there were."""
    count = 0
    for kind in LOGGED:
        wanted = rows_of(by_engine(kind, root), kind)
        count += len(wanted)
        if not wanted and not (kind.place(root) / "_delta_log").exists():
            continue
        for read in READERS:
            assert rows_of(read(kind, root), kind) == wanted, f"{kind.name} by {read.__name__}"
    return count
