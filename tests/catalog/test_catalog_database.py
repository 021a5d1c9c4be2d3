from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import inspect, text

from feedweir.catalog import Catalog, open_catalog
from feedweir.catalog.migrate import migrations
from feedweir.catalog.tables import metadata
from feedweir.errors import CatalogError, StorageError

PUBLISHED = {
    "0001_beginning": "7559a54406f4448d",
    "0002_due_subscriptions": "7fd7a68567ceec3e",
    "0003_secrets": "5cb2e7b60efcc5f9",
    "0004_feed_names": "c2f4f4f11cc01a04",
    "0005_candidates": "1986d53db7020ecb",
    "0006_forgotten": "20959a5518c782be",
    "0007_outlines": "4e526a7ea372e1b3",
    "0008_returned": "0b7a21391e22e52f",
    "0009_first_documents": "9e96b66b033d1b01",
    "0010_leases_once": "153b00d17f0a8d24",
    "0011_source_columns": "87844af5ca2368a9",
    "0012_no_refresh": "462596e34710d619",
    "0013_no_bytes": "10edb176f3029645",
}
"""Steps that somebody may have run are never edited: a change is a new step, and a new line here."""


def test_published_steps_are_not_edited() -> None:
    assert {name: hashlib.sha256(sql.encode()).hexdigest()[:16] for name, sql in migrations()} == PUBLISHED


def test_the_tables_are_what_the_queries_think_they_are(catalog: Catalog) -> None:
    with catalog.database.reading() as connection:
        inspector = inspect(connection)
        there = {name: _shape(inspector, name) for name in inspector.get_table_names() if name != "migration"}
    assert there == {
        table.name: ([column.name for column in table.columns], [column.name for column in table.primary_key])
        for table in metadata.tables.values()
    }


def _shape(inspector: Any, table: str) -> tuple[list[str], list[str]]:
    columns = [column["name"] for column in inspector.get_columns(table)]
    return columns, inspector.get_pk_constraint(table)["constrained_columns"]


def test_a_catalog_of_a_newer_program_is_left_alone(url: str) -> None:
    with open_catalog(url) as catalog:
        statement = text("INSERT INTO migration (step, name) VALUES (99, 'from the future')")
        catalog.database.write(lambda connection: connection.execute(statement))
    with pytest.raises(CatalogError, match="newer version"):
        open_catalog(url)


def test_opening_again_finds_what_was_there(url: str) -> None:
    with open_catalog(url) as catalog:
        before = list(catalog.dump())
    with open_catalog(url) as catalog:
        assert list(catalog.dump()) == before


def test_readers_see_one_moment_while_others_write(catalog: Catalog) -> None:
    def value(connection: Any) -> object:
        return connection.execute(text("SELECT value FROM counter WHERE name = 'batch'")).scalar_one()

    with catalog.database.reading() as connection:
        assert value(connection) == 0
        raise_it = text("UPDATE counter SET value = 5 WHERE name = 'batch'")
        catalog.database.write(lambda writer: writer.execute(raise_it))
        assert value(connection) == 0
    assert catalog.database.read(value) == 5


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("catalog.db", "not a database URL"),
        ("", "not a database URL"),
        ("sqlite://", "give it a file"),
        ("sqlite:///:memory:", "give it a file"),
        ("mysql://host/x", "cannot be kept in 'mysql'"),
        ("sqlite:////nowhere/at/all/catalog.db", "unable to open"),
        ("postgresql://nobody@/none?host=/nowhere/at/all", "refused"),
    ],
)
def test_a_database_that_cannot_be_opened_is_an_error_that_says_why(url: str, message: str) -> None:
    with pytest.raises((CatalogError, StorageError), match=message):
        open_catalog(url)


def test_a_file_that_is_no_database_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("not a database, but long enough to be looked at\n" * 100)
    with pytest.raises(CatalogError, match="not a database"):
        open_catalog(f"sqlite:///{tmp_path}/notes.txt")


def test_sqlite_is_set_up_for_several_processes(tmp_path: Path) -> None:
    def pragma(name: str) -> Callable[[Any], object]:
        return lambda connection: connection.exec_driver_sql(f"PRAGMA {name}").scalar_one()

    with open_catalog(f"sqlite:///{tmp_path}/catalog.db") as catalog:
        names = ("journal_mode", "foreign_keys", "synchronous", "busy_timeout")
        assert [catalog.database.read(pragma(name)) for name in names] == ["wal", 1, 2, 30_000]
