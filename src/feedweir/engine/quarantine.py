"""Documents that are set aside: what they are, why, and what became of them.

A file for each, `quarantine/NUMBER.json`, written before the batch of the document is published. Tasks ask here before
they read anything: a document that was set aside is left out of its batch for ever, however often the batch is run
again. Whoever wants to try it once more lands it anew, as another document. A record is therefore never removed.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal, TypeAlias

import pyarrow as pa

from feedweir.acquire.landing import Landed, LandingLog
from feedweir.acquire.parse_process import Stopped
from feedweir.engine.files import replace_json
from feedweir.errors import LandingError
from feedweir.items.numbering import segment_of_document

State: TypeAlias = Literal["waiting", "retried", "dropped"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SetAside:
    """A document that its batch goes on without."""

    number: int
    source: str
    size: int
    """In bytes."""
    reason: str
    attempts: int
    since: str
    """When it was set aside, in ISO format."""
    state: State = "waiting"
    """What a person decided."""

    @property
    def told(self) -> str:
        """In one line."""
        return f"{self.source}: {self.failure}"

    @property
    def failure(self) -> str:
        """What is told of its source."""
        return f"document {self.number} was set aside: {self.reason}"


class Quarantine:
    """The records of one directory."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def numbers(self) -> frozenset[int]:
        """The documents that are left out of their batches."""
        return frozenset(self._numbers())

    def among(self, documents: pa.RecordBatch) -> list[SetAside]:
        """The records of those documents that were set aside, in their order."""
        known = self.numbers()
        if not known:
            return []
        return [self.record(number) for number in documents.column("number").to_pylist() if number in known]

    def waiting(self) -> list[SetAside]:
        """The records that nobody has decided on yet, in the order of landing."""
        records = map(self.record, sorted(self._numbers()))
        return [record for record in records if record.state == "waiting"]

    def record(self, number: int) -> SetAside:
        try:
            return SetAside(**json.loads(self._path(number).read_bytes()))
        except FileNotFoundError:
            hint = "`feedweir quarantine list` shows what is"
            raise LandingError(f"document {number} is not set aside", hint=hint) from None

    def put(self, stopped: Stopped) -> SetAside:
        """Set a document aside; a record that is there stays as it was."""
        if not self._path(stopped.number).exists():
            since = datetime.now(UTC).isoformat(timespec="seconds")
            self._write(SetAside(**asdict(stopped), since=since))
        return self.record(stopped.number)

    def settle(self, number: int, state: State) -> None:
        """Note what a person decided."""
        self._write(replace(self.record(number), state=state))

    def _write(self, record: SetAside) -> None:
        replace_json(self._path(record.number), asdict(record))

    def _path(self, number: int) -> Path:
        return self._directory / f"{number}.json"

    def _numbers(self) -> Iterator[int]:
        try:
            names = os.listdir(self._directory)
        except FileNotFoundError:
            return
        for name in names:
            stem, suffix = os.path.splitext(name)
            if suffix == ".json" and stem.isdigit():
                yield int(stem)


def document_in(log: LandingLog, number: int) -> Landed:
    """A document of the landing log."""
    for row in log.read(segment_of_document(number)).to_pylist():
        if row["number"] == number:
            return Landed(
                source=row["source"],
                url=row["url"] or "",
                media_type=row["media_type"] or "",
                arrived=row["arrived"],
                body=row["body"] or b"",
                id_path=row["id_path"] or "",
            )
    raise LandingError(f"there is no document {number} in the landing log")
