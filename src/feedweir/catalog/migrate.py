"""Migrations: an append-only list of SQL files, and of functions for what SQL alone cannot do, run when a catalog is
opened.

Each opening takes a lock, runs the steps that are missing and records them, all in one transaction: a process
that dies half-way leaves the old state, and a second one that opens at the same time waits and finds it done.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from importlib import resources
from typing import Any

from sqlalchemy import Connection, inspect, text

from feedweir.catalog.column_types import canonical_json, cleaned, microseconds
from feedweir.catalog.database import Database
from feedweir.errors import CatalogError

_MOMENTS = ("not_before", "pushed_until", "pushed_since")
_TEXTS = ("failure", "page")
_AT_ONCE = 1_000


def _source_columns(connection: Connection) -> None:
    """Until this step all that was known of a source was one JSON text inside another."""
    rows = connection.execute(text("SELECT feed_id, refresh FROM source ORDER BY feed_id")).all()
    names = tuple(_columns({}))
    changes = ", ".join(f"{name} = :{name}" for name in names)
    statement = text(f"UPDATE source SET {changes} WHERE feed_id = :feed_id")
    for start in range(0, len(rows), _AT_ONCE):
        some = rows[start : start + _AT_ONCE]
        connection.execute(
            statement, [{"feed_id": row.feed_id, **_columns(json.loads(row.refresh))} for row in some]
        )


def _columns(refresh: Mapping[str, Any]) -> dict[str, Any]:
    """The columns of a source, as both databases keep them, from its `refresh`."""
    state = json.loads(refresh.get("state") or "{}")
    validators, hints = state.get("validators", {}), state.get("hints", {})
    return {
        "validated_url": cleaned(validators.get("url", "")),
        "body_hash": validators.get("body_hash", ""),
        "is_unreadable": int(state.get("is_unreadable", False)),
        "hosts": canonical_json(state.get("hosts", [])),
        "every_s": float(refresh.get("every_s", 0.0)),
        "id_path": cleaned(str(refresh.get("id_path", ""))),
        "ttl_s": int(hints.get("ttl_s", 0)),
        "skip_hours": canonical_json(hints.get("skip_hours", [])),
        "skip_days": canonical_json(hints.get("skip_days", [])),
        "history": canonical_json(state.get("history", {})),
        "hub": cleaned(str(refresh.get("hub", ""))),
        "lease": canonical_json(refresh.get("lease") or {}),
        "imported_from": canonical_json(refresh.get("imported_from", [])),
        **{name: cleaned(state.get(name, "")) for name in _TEXTS},
        **{name: _moment(state.get(name)) for name in _MOMENTS},
    }


def _moment(value: str | None) -> int | None:
    return microseconds(datetime.fromisoformat(value)) if value else None


CONVERSIONS: dict[str, Callable[[Connection], None]] = {"0011_source_columns": _source_columns}


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
