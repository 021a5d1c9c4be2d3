"""Rows in bulk, the same way on both databases."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, TypeAlias, TypeVar

from sqlalchemy import ColumnElement, Connection, Table, insert, select, update
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
        connection.execute(insert(table), chunk)


def upsert_all(
    connection: Connection, table: Table, rows: Iterable[Row], key: Sequence[str], changes: Changes
) -> int:
    """Insert rows; where `key` is there already make `changes`. Returns how many rows were touched.

    `changes` makes the new values from the row that was refused, or names the columns to take from it; None
    keeps the old row as it is.
    """
    statement = dialect_insert(connection, table)
    if changes is None:
        statement = statement.on_conflict_do_nothing(index_elements=key)
    elif callable(changes):
        statement = statement.on_conflict_do_update(index_elements=key, set_=changes(statement.excluded))
    else:
        values = {name: statement.excluded[name] for name in changes}
        statement = statement.on_conflict_do_update(index_elements=key, set_=values)
    return sum(connection.execute(statement, chunk).rowcount for chunk in chunks(rows))


def dialect_insert(connection: Connection, table: Table) -> Any:
    """Both dialects have ON CONFLICT, each in a class of its own."""
    return sqlite.insert(table) if connection.dialect.name == "sqlite" else postgresql.insert(table)


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
