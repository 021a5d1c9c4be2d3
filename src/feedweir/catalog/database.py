"""One way into either database: `read` a snapshot, or `write` in one transaction."""

from __future__ import annotations

import sqlite3
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar

from sqlalchemy import URL, Connection, Engine, create_engine, event, make_url
from sqlalchemy.exc import ArgumentError, OperationalError, StatementError

from feedweir.errors import CatalogError, StorageError

T = TypeVar("T")

PATIENCE_S = 30.0
"""How long a writer waits for another by default."""
_WRITES = "feedweir_writes"
_ATTEMPTS = 5
_TRY_AGAIN = frozenset({"40001", "40P01"})
"""PostgreSQL's serialisation failure and deadlock: the transaction was undone and may simply be run again."""


class Database:
    """A pool of connections to one database."""

    def __init__(self, engine: Engine) -> None:
        self._reading = engine
        self._writing = engine.execution_options(**{_WRITES: True})
        self.dialect = engine.dialect.name
        self._open: ContextVar[Connection | None] = ContextVar("open transaction", default=None)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Everything that this thread reads and writes in the block is one transaction, undone when it raises."""
        with _foreign_errors_converted(), self._writing.begin() as connection:
            token = self._open.set(connection)
            try:
                yield
            finally:
                self._open.reset(token)

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """Everything that this thread reads in the block is as of one moment; it writes nothing in it."""
        with self.reading() as connection:
            token = self._open.set(connection)
            try:
                yield
            finally:
                self._open.reset(token)

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A connection that sees one snapshot until the block ends."""
        if connection := self._open.get():
            yield connection
            return
        with _foreign_errors_converted(), self._reading.connect() as connection:
            yield connection

    def read(self, step: Callable[[Connection], T]) -> T:
        with self.reading() as connection:
            return step(connection)

    def read_committed(self, step: Callable[[Connection], T]) -> T:
        """As all others see it: without what this thread's open transaction has written."""
        with _foreign_errors_converted(), self._reading.connect() as connection:
            return step(connection)

    def write(self, step: Callable[[Connection], T]) -> T:
        """Run `step` in one transaction, and again when the database undid it for another's sake."""
        if connection := self._open.get():
            return step(connection)
        with _foreign_errors_converted():
            for _ in range(_ATTEMPTS - 1):
                try:
                    return self._write_once(step)
                except _undoing() as error:
                    if _sqlstate(error) not in _TRY_AGAIN:
                        raise
            return self._write_once(step)

    def close(self) -> None:
        self._reading.dispose()

    def _write_once(self, step: Callable[[Connection], T]) -> T:
        with self._writing.begin() as connection:
            return step(connection)


def connect(url: str, *, patience_s: float = PATIENCE_S) -> Database:
    """A database by its URL; nothing is opened yet. In SQLite, a writer waits this long for another."""
    address = _address(url)
    if address.get_backend_name() == "sqlite":
        return Database(_sqlite(address, patience_s))
    return Database(_postgresql(address))


def _address(url: str) -> URL:
    try:
        address = make_url(url)
    except ArgumentError:
        raise CatalogError("this is not a database URL", hint=_EXAMPLES) from None
    backend = address.get_backend_name()
    if backend == "sqlite":
        if address.database in (None, "", ":memory:"):
            raise CatalogError("the catalog must survive a restart: give it a file", hint=_EXAMPLES)
        return address.set(drivername="sqlite+pysqlite")
    if backend in ("postgresql", "postgres"):
        return address.set(drivername="postgresql+psycopg")
    raise CatalogError(f"a catalog cannot be kept in {backend!r}", hint=_EXAMPLES)


_EXAMPLES = "sqlite:///data/catalog.db or postgresql://user@host/database"


def _sqlite(address: URL, patience_s: float) -> Engine:
    engine = create_engine(address, connect_args={"timeout": patience_s})
    event.listen(engine, "connect", _prepare_sqlite)
    event.listen(engine, "begin", _begin_sqlite)
    return engine


def _prepare_sqlite(connection: sqlite3.Connection, _record: object) -> None:
    # The driver must not begin transactions by itself: `_begin_sqlite` does.
    connection.isolation_level = None
    connection.execute("PRAGMA journal_mode = WAL")
    # An entry of the outbox that is marked as sent must stay so after a power cut.
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("PRAGMA foreign_keys = ON")
    # 64 MB of pages: names arrive in any order, and a small cache would write each page of their index many times.
    connection.execute("PRAGMA cache_size = -65536")
    connection.create_function("power", 2, pow, deterministic=True)


def _begin_sqlite(connection: Connection) -> None:
    # A writer takes the lock at once: a reader that becomes a writer half-way can only fail.
    writes = connection.get_execution_options().get(_WRITES)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


def _postgresql(address: URL) -> Engine:
    engine = create_engine(address, pool_pre_ping=True)
    event.listen(engine, "begin", _begin_postgresql)
    return engine


def _begin_postgresql(connection: Connection) -> None:
    if not connection.get_execution_options().get(_WRITES):
        connection.exec_driver_sql("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")


@contextmanager
def _foreign_errors_converted() -> Iterator[None]:
    try:
        yield
    except StatementError as error:
        if isinstance(error.orig, CatalogError):
            raise error.orig from None
        if isinstance(error.orig, sqlite3.OperationalError):
            _refuse_storage(error.orig)
        raise CatalogError(f"the catalog's database refused: {_reason(error.orig)}") from error
    except _driver_errors() as error:
        raise CatalogError(f"the catalog's database refused: {_reason(error)}") from error


def _undoing() -> tuple[type[Exception], ...]:
    return (OperationalError, *_driver_errors())


def _driver_errors() -> tuple[type[Exception], ...]:
    """What PostgreSQL's driver raises directly, if SQLAlchemy has imported it; SQLite does not need it."""
    driver = sys.modules.get("psycopg")
    return (driver.Error,) if driver else ()


def _refuse_storage(error: sqlite3.OperationalError) -> None:
    """Errors of the file, the disk or its other users, as opposed to errors of the query."""
    told = _STORAGE.get(getattr(error, "sqlite_errorcode", 0) & 0xFF)
    if told:
        raise StorageError(f"the catalog cannot be used: {_reason(error)}", hint=told) from error


_STORAGE = {
    sqlite3.SQLITE_BUSY: "another process has been writing to it for a long time; try again, or stop that process",
    sqlite3.SQLITE_LOCKED: "another process has been writing to it for a long time; try again, or stop that process",
    sqlite3.SQLITE_FULL: "make room on the disk",
    sqlite3.SQLITE_READONLY: "the file and its directory must be writable",
    sqlite3.SQLITE_CANTOPEN: "its directory must exist and be writable, and files must be left to open (ulimit -n)",
    sqlite3.SQLITE_IOERR: "the disk reports an error; is it full or gone?",
    sqlite3.SQLITE_PERM: "the file and its directory must be writable",
}


def _sqlstate(error: Exception) -> str | None:
    return getattr(getattr(error, "orig", error), "sqlstate", None)


def _reason(error: Any) -> str:
    return " ".join(str(error).split()) or type(error).__name__
