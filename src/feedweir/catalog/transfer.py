"""Export and import: the whole catalog as JSON objects, from either database into either."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from itertools import groupby
from typing import Any

from sqlalchemy import Connection, Table, delete, select

from feedweir.catalog import tables
from feedweir.catalog.column_types import Moment
from feedweir.catalog.database import Database
from feedweir.catalog.migrate import migrations
from feedweir.catalog.rows import insert_all
from feedweir.errors import CatalogError

FORMAT = "feedweir-catalog"

_TABLES = (
    tables.counter,
    tables.secret,
    tables.outline,
    tables.feed,
    tables.feed_read,
    tables.source,
    tables.change,
    tables.subscription,
    tables.rhythm,
    tables.feed_statistics,
    tables.atom_statistics,
    tables.failure,
    tables.outbox,
    tables.forgotten,
    tables.delivery,
    tables.batch,
)
"""What is referred to comes before what refers to it."""

_AT_ONCE = 2_000


def dump(database: Database) -> Iterator[dict[str, Any]]:
    """A header, then every row of every table, in the same order on both databases."""
    with database.reading() as connection:
        yield {"format": FORMAT, "step": len(migrations())}
        for table in _TABLES:
            yield from _rows(connection, table)


def load(database: Database, lines: Iterable[dict[str, Any]]) -> None:
    """Write what `dump` gave, all of it or nothing."""
    database.write(lambda connection: _load(connection, iter(lines)))


def _load(connection: Connection, lines: Iterator[dict[str, Any]]) -> None:
    _check_header(next(lines, {}))
    if any(
        connection.execute(select(table).limit(1)).first() for table in _TABLES if table is not tables.counter
    ):
        raise CatalogError("the catalog is not empty", hint="import into a new one")
    connection.execute(delete(tables.counter))
    by_name = {table.name: table for table in _TABLES}
    for name, group in groupby(lines, key=lambda line: line.get("table")):
        if name not in by_name:
            raise CatalogError(f"this export has a table {name!r} that this catalog does not have")
        insert_all(connection, by_name[name], (_decoded(by_name[name], line) for line in group))


def _check_header(header: dict[str, Any]) -> None:
    if header.get("format") != FORMAT:
        raise CatalogError("this is not an export of a catalog")
    known = len(migrations())
    if header.get("step") != known:
        raise CatalogError(
            f"the export has schema version {header.get('step')}, this catalog has version {known}",
            hint="export and import with the same version of Feedweir",
        )


def _rows(connection: Connection, table: Table) -> Iterator[dict[str, Any]]:
    query = select(table).order_by(*table.primary_key)
    result = connection.execute(query, execution_options={"yield_per": _AT_ONCE})
    for row in result:
        yield {"table": table.name, "row": {name: _encoded(value) for name, value in row._mapping.items()}}


def _encoded(value: Any) -> Any:
    return value.isoformat() if isinstance(value, datetime) else value


def _decoded(table: Table, line: dict[str, Any]) -> dict[str, Any]:
    row = dict(line.get("row") or {})
    missing = sorted({column.name for column in table.columns} ^ row.keys())
    if missing:
        raise CatalogError(
            f"a row of {table.name!r} in this export has other columns than this catalog: {', '.join(missing)}"
        )
    for column in table.columns:
        if isinstance(column.type, Moment) and row[column.name] is not None:
            row[column.name] = datetime.fromisoformat(row[column.name])
    return row
