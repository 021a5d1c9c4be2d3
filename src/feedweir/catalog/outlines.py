"""The outline that feeds were imported in, kept as it was."""

from __future__ import annotations

from sqlalchemy import select

from feedweir.catalog import tables
from feedweir.catalog.database import Database
from feedweir.catalog.rows import upsert_all

_outline = tables.outline
_NAME = "imported"


class Outlines:
    def __init__(self, database: Database) -> None:
        self._database = database

    def read(self) -> str:
        """The outline as OPML; empty when nothing was ever imported."""
        query = select(_outline.c.document).where(_outline.c.name == _NAME)
        found = self._database.read(lambda connection: connection.execute(query).scalar_one_or_none())
        return str(found or "")

    def write(self, document: str) -> None:
        row = {"name": _NAME, "document": document}
        self._database.write(
            lambda connection: upsert_all(connection, _outline, [row], ["name"], ["document"])
        )
