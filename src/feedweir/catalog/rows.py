"""Rows in bulk, the same way on both databases."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import islice, repeat
from typing import Any, TypeAlias, TypeVar

from sqlalchemy import ColumnElement, Connection, Table, column, select, text, update
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.engine import Dialect

from feedweir.catalog import tables

T = TypeVar("T")
Row: TypeAlias = Mapping[str, Any]
Changes: TypeAlias = Callable[[Any], Mapping[str, ColumnElement[Any]]] | Sequence[str] | None

CHUNK = 5_000
"""Rows, or values of an IN, that go to the database at once."""

_WITH_ROWCOUNT = {"preserve_rowcount": True}
"""Without it, SQLAlchemy asks the driver only after an UPDATE or DELETE."""


def chunks(values: Iterable[T], size: int = CHUNK) -> Iterator[list[T]]:
    iterator = iter(values)
    while chunk := list(islice(iterator, size)):
        yield chunk


def insert_all(connection: Connection, table: Table, rows: Iterable[Row]) -> None:
    for chunk in chunks(rows):
        if connection.dialect.name == "sqlite":
            _execute_each(connection, table, chunk, None, None)
        else:
            _copy(connection, table.name, table, chunk)


def upsert_all(
    connection: Connection, table: Table, rows: Iterable[Row], key: Sequence[str], changes: Changes
) -> int:
    """Insert rows; where `key` is there already make `changes`. Returns how many rows were touched.

    `changes` makes the new values from the row that was refused, or names the columns to take from it; None
    keeps the old row as it is. No two of `rows` may have the same key, unless `changes` is None.
    """
    if connection.dialect.name == "sqlite":
        taken = changes if changes is None or callable(changes) else tuple(changes)
        return sum(_execute_each(connection, table, chunk, tuple(key), taken) for chunk in chunks(rows))
    return sum(_upsert_staged(connection, table, chunk, key, changes) for chunk in chunks(rows))


def _resolved(statement: Any, key: Sequence[str], changes: Changes) -> Any:
    if changes is None:
        return statement.on_conflict_do_nothing(index_elements=key)
    if callable(changes):
        return statement.on_conflict_do_update(index_elements=key, set_=changes(statement.excluded))
    values = {name: statement.excluded[name] for name in changes}
    return statement.on_conflict_do_update(index_elements=key, set_=values)


def _execute_each(
    connection: Connection, table: Table, rows: Sequence[Row], key: tuple[str, ...] | None, changes: Changes
) -> int:
    """Run an insert for every row, past SQLAlchemy's handling of parameters, which costs more than SQLite does."""
    sql, names, constants = _compiled(connection.dialect, table, tuple(rows[0]), key, changes)
    values = _values(connection, table, rows)
    places = [values.get(name) or repeat(constants[name]) for name in names]
    result = connection.exec_driver_sql(
        sql, list(zip(*places, strict=False)), execution_options=_WITH_ROWCOUNT
    )
    return result.rowcount


@lru_cache(maxsize=256)
def _compiled(
    dialect: Dialect, table: Table, columns: tuple[str, ...], key: tuple[str, ...] | None, changes: Changes
) -> tuple[str, Sequence[str], Mapping[str, Any]]:
    """An insert as text, with the names of its places; written once, as that costs more than to run it."""
    statement = sqlite.insert(table)
    resolved = statement if key is None else _resolved(statement, key, changes)
    compiled = resolved.compile(dialect=dialect, column_keys=list(columns))
    return str(compiled), compiled.positiontup or (), compiled.params


def _upsert_staged(
    connection: Connection, table: Table, rows: Sequence[Row], key: Sequence[str], changes: Changes
) -> int:
    """PostgreSQL reads many rows quickly by COPY only, and COPY knows no conflicts: so by way of another table."""
    staged = f"staged_{table.name}"
    connection.exec_driver_sql(
        f"CREATE TEMPORARY TABLE IF NOT EXISTS {staged} (LIKE {table.name}) ON COMMIT DELETE ROWS"
    )
    _copy(connection, staged, table, rows)
    names = list(rows[0])
    rows_there: Any = select(*(column(name) for name in names)).select_from(text(f"pg_temp.{staged}"))
    statement = _resolved(postgresql.insert(table).from_select(names, rows_there), key, changes)
    touched = connection.execute(statement, execution_options=_WITH_ROWCOUNT).rowcount
    connection.exec_driver_sql(f"DELETE FROM pg_temp.{staged}")
    return touched


def _copy(connection: Connection, target: str, table: Table, rows: Sequence[Row]) -> None:
    driver: Any = connection.connection.driver_connection
    values = _values(connection, table, rows)
    with driver.cursor() as cursor, cursor.copy(f"COPY {target} ({', '.join(values)}) FROM STDIN") as copy:
        for row in zip(*values.values(), strict=True):
            copy.write_row(row)


def _values(connection: Connection, table: Table, rows: Sequence[Row]) -> dict[str, list[Any]]:
    """The columns of `rows` as the driver wants them."""
    values: dict[str, list[Any]] = {}
    for name in rows[0]:
        encode = table.c[name].type.dialect_impl(connection.dialect).bind_processor(connection.dialect)
        plain = [row[name] for row in rows]
        values[name] = plain if encode is None else [encode(value) for value in plain]
    return values


def take_numbers(connection: Connection, name: str, count: int) -> range:
    """`count` numbers that were never given out before. Others who need numbers of this `name` wait for our commit."""
    table = tables.counter
    connection.execute(
        update(table).where(table.c.name == name).values(value=table.c.value + count),
    )
    last: int = connection.execute(select(table.c.value).where(table.c.name == name)).scalar_one()
    return range(last - count + 1, last + 1)


def existing(connection: Connection, number: ColumnElement[int], ids: Iterable[int], *where: Any) -> set[int]:
    """Which of `ids` exist, locked so that nobody deletes them before our commit."""
    found: set[int] = set()
    for chunk in chunks(sorted(set(ids))):
        query = select(number).where(number.in_(chunk), *where).order_by(number)
        found.update(connection.execute(query.with_for_update(read=True, key_share=True)).scalars())
    return found
