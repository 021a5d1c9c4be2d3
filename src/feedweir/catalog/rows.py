"""Rows in bulk, the same way on both databases."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, TypeAlias, TypeVar

from sqlalchemy import ColumnElement, Connection, Table, bindparam, func, select, update
from sqlalchemy.dialects import postgresql, sqlite

from feedweir.catalog import tables

T = TypeVar("T")
Row: TypeAlias = Mapping[str, Any]
Changes: TypeAlias = Callable[[Any], Mapping[str, ColumnElement[Any]]] | Sequence[str] | None

CHUNK = 5_000
"""Rows, or values of an IN, that go to the database at once."""


def chunks(values: Iterable[T], size: int = CHUNK) -> Iterator[list[T]]:
    iterator = iter(values)
    while chunk := list(islice(iterator, size)):
        yield chunk


def insert_all(connection: Connection, table: Table, rows: Iterable[Row]) -> None:
    for chunk in chunks(rows):
        _execute(connection, _insert(connection, table, chunk), chunk)


def upsert_all(
    connection: Connection, table: Table, rows: Iterable[Row], key: Sequence[str], changes: Changes
) -> int:
    """Insert rows; where `key` is there already make `changes`. Returns how many rows were touched.

    `changes` makes the new values from the row that was refused, or names the columns to take from it; None
    keeps the old row as it is. No two of `rows` may have the same key, unless `changes` is None.
    """
    return sum(
        _execute(connection, _resolved(_insert(connection, table, chunk), key, changes), chunk)
        for chunk in chunks(rows)
    )


def _insert(connection: Connection, table: Table, rows: Sequence[Row]) -> Any:
    """SQLite is quickest row by row; PostgreSQL when it gets each column as one array."""
    if connection.dialect.name == "sqlite":
        return sqlite.insert(table)
    columns = [table.c[name] for name in rows[0]]
    arrays = [bindparam(column.name, type_=postgresql.ARRAY(column.type)) for column in columns]
    values = func.unnest(*arrays).table_valued(*(column.name for column in columns)).render_derived()
    return postgresql.insert(table).from_select([column.name for column in columns], select(values))


def _resolved(statement: Any, key: Sequence[str], changes: Changes) -> Any:
    if changes is None:
        return statement.on_conflict_do_nothing(index_elements=key)
    if callable(changes):
        return statement.on_conflict_do_update(index_elements=key, set_=changes(statement.excluded))
    values = {name: statement.excluded[name] for name in changes}
    return statement.on_conflict_do_update(index_elements=key, set_=values)


def _execute(connection: Connection, statement: Any, rows: Sequence[Row]) -> int:
    is_sqlite = connection.dialect.name == "sqlite"
    parameters = rows if is_sqlite else {name: [row[name] for row in rows] for name in rows[0]}
    # Without the option, SQLAlchemy asks the driver only after an UPDATE or DELETE.
    return connection.execute(statement, parameters, execution_options={"preserve_rowcount": True}).rowcount


def take_numbers(connection: Connection, name: str, count: int) -> range:
    """`count` numbers that nobody had before. Others who want numbers of this `name` wait for our commit."""
    table = tables.counter
    connection.execute(
        update(table).where(table.c.name == name).values(value=table.c.value + count),
    )
    last: int = connection.execute(select(table.c.value).where(table.c.name == name)).scalar_one()
    return range(last - count + 1, last + 1)


def existing(connection: Connection, column: ColumnElement[int], ids: Iterable[int], *where: Any) -> set[int]:
    """Which of `ids` are there, held so that nobody takes them away before our commit."""
    found: set[int] = set()
    for chunk in chunks(sorted(set(ids))):
        query = select(column).where(column.in_(chunk), *where).order_by(column)
        found.update(connection.execute(query.with_for_update(read=True, key_share=True)).scalars())
    return found
