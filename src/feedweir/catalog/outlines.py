"""The feeds that were imported as OPML, and which virtual feeds their folders became."""

from __future__ import annotations

import json
from collections.abc import Mapping

from sqlalchemy import select

from feedweir.catalog import tables
from feedweir.catalog.database import Database
from feedweir.catalog.rows import upsert_all

_outline = tables.outline
_DOCUMENT = "imported"
_FOLDERS = "folders"


class Outlines:
    def __init__(self, database: Database) -> None:
        self._database = database

    def read(self) -> str:
        """The imported feeds as OPML; empty when nothing was ever imported."""
        return self._read(_DOCUMENT)

    def write(self, document: str) -> None:
        self._write(_DOCUMENT, document)

    def folders(self) -> dict[tuple[str, ...], tuple[int, str]]:
        """By path of a folder, outermost first, the feed that was made of it: its id, and its name at that time."""
        return {tuple(path): (id_, name) for path, id_, name in json.loads(self._read(_FOLDERS) or "[]")}

    def write_folders(self, folders: Mapping[tuple[str, ...], tuple[int, str]]) -> None:
        rows = [[list(path), id_, name] for path, (id_, name) in sorted(folders.items())]
        self._write(_FOLDERS, json.dumps(rows, ensure_ascii=False))

    def _read(self, name: str) -> str:
        query = select(_outline.c.document).where(_outline.c.name == name)
        found = self._database.read(lambda connection: connection.execute(query).scalar_one_or_none())
        return str(found or "")

    def _write(self, name: str, document: str) -> None:
        row = {"name": name, "document": document}
        self._database.write(
            lambda connection: upsert_all(connection, _outline, [row], ["name"], ["document"])
        )
