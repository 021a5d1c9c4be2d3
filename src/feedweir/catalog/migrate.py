"""Migrations: an append-only list of SQL files, run when a catalog is opened.

Each opening takes a lock, runs the steps that are missing and records them, all in one transaction: a process
that dies half-way leaves the old state, and a second one that opens at the same time waits and finds it done.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import resources

from sqlalchemy import Connection, inspect, text

from feedweir.catalog.conversions import CONVERSIONS
from feedweir.catalog.database import Database
from feedweir.errors import CatalogError

_LOCK = 0x0FEED_3E1
"""PostgreSQL's advisory locks are numbers; this one is ours."""

_WORDS = {
    "sqlite": {"id": "INTEGER PRIMARY KEY", "text": "TEXT", "bytes": "BLOB", "clustered": "WITHOUT ROWID"},
    "postgresql": {
        "id": "BIGINT PRIMARY KEY",
        # Bytewise order, as in SQLite: sorted lists must not depend on the server's locale.
        "text": 'TEXT COLLATE "C"',
        "bytes": "BYTEA",
        "clustered": "",
    },
}


def migrate(database: Database, steps: Sequence[tuple[str, str]] | None = None) -> None:
    """Bring the database to the last of these steps, or to the newest; a database of a newer Feedweir is left alone."""
    steps = migrations() if steps is None else steps
    if database.read(_steps_done) == len(steps):
        return
    database.write(lambda connection: _run_missing(connection, steps, database.dialect))


def migrations() -> tuple[tuple[str, str], ...]:
    """(name, text) of every step there is, in order."""
    folder = resources.files(__package__).joinpath("migrations")
    files = sorted(
        (file for file in folder.iterdir() if file.name.endswith(".sql")), key=lambda file: file.name
    )
    return tuple((file.name.removesuffix(".sql"), file.read_text("utf-8")) for file in files)


def _run_missing(connection: Connection, steps: Sequence[tuple[str, str]], dialect: str) -> None:
    if dialect == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _LOCK})
    done = _steps_done(connection)
    if done > len(steps):
        raise CatalogError(
            f"the catalog has schema version {done}; this program knows versions up to {len(steps)}",
            hint="open it with the newer version of Feedweir that wrote it",
        )
    for number, (name, sql) in enumerate(steps[done:], start=done + 1):
        for statement in _statements(sql, dialect):
            connection.exec_driver_sql(statement)
        if name in CONVERSIONS:
            CONVERSIONS[name](connection)
        _record(connection, number, name)


def _steps_done(connection: Connection) -> int:
    if not inspect(connection).has_table("migration"):
        return 0
    return int(connection.execute(text("SELECT count(*) FROM migration")).scalar_one())


def _record(connection: Connection, number: int, name: str) -> None:
    connection.execute(
        text("CREATE TABLE IF NOT EXISTS migration (step BIGINT PRIMARY KEY, name TEXT NOT NULL)")
    )
    connection.execute(
        text("INSERT INTO migration (step, name) VALUES (:step, :name)"), {"step": number, "name": name}
    )


def _statements(sql: str, dialect: str) -> list[str]:
    lines = [line for line in sql.splitlines() if not line.lstrip().startswith("--")]
    statements = "\n".join(lines).format(**_WORDS[dialect]).split(";")
    return [statement.strip() for statement in statements if statement.strip()]
