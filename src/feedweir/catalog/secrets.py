"""Secrets of the installation, generated on first use and stored."""

from __future__ import annotations

from collections.abc import Callable

from sqlalchemy import select

from feedweir.catalog import tables
from feedweir.catalog.database import Database
from feedweir.catalog.rows import upsert_all

_secret = tables.secret


class Secrets:
    def __init__(self, database: Database) -> None:
        self._database = database

    def of(self, name: str, make: Callable[[], str]) -> str:
        """The secret of this name; the first caller generates it, all others get the same."""
        query = select(_secret.c.value).where(_secret.c.name == name)
        found = self._database.read(lambda connection: connection.execute(query).scalar_one_or_none())
        if found is None:
            row = {"name": name, "value": make()}
            self._database.write(lambda connection: upsert_all(connection, _secret, [row], ["name"], None))
            found = self._database.read(lambda connection: connection.execute(query).scalar_one())
        return str(found)
