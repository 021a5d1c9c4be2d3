"""Quarantined documents: what they are, why they are quarantined, and what was decided about them.

Each has a file, `quarantine/NUMBER.json`, written before the document's batch is published. Tasks check it before they
read a document: a quarantined one is left out of its batch, however often the batch is repeated. To try it again,
it is landed again as another document. A record is therefore never removed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Literal, TypeAlias

import pyarrow as pa

from feedweir.errors import DamagedFileError, LandingError
from feedweir.items.numbering import segment_of_document
from feedweir.logs.files import replace_sealed_json
from feedweir.logs.landing import Landed, LandingLog
from feedweir.logs.seals import read_json
from feedweir.storage import Place

if TYPE_CHECKING:
    from feedweir.acquire.parse.parse_process import Stopped

_PREFIX = "document {} is quarantined: "

State: TypeAlias = Literal["waiting", "retried", "dropped"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Quarantined:
    """A quarantined document."""

    number: int
    source: str
    size: int
    """In bytes."""
    reason: str
    attempts: int
    since: str
    """When it was quarantined, in ISO format."""
    state: State = "waiting"
    """What was decided about it."""

    @property
    def message(self) -> str:
        """In one line."""
        return f"{self.source}: {self.failure}"

    @property
    def failure(self) -> str:
        """The failure that is recorded against its source."""
        return _PREFIX.format(self.number) + self.reason


class Quarantine:
    """The records of one directory."""

    def __init__(self, directory: Place) -> None:
        self._directory = directory

    def numbers(self) -> frozenset[int]:
        """The documents that are left out of their batches."""
        return frozenset(self._numbers())

    def among(self, documents: pa.RecordBatch) -> list[Quarantined]:
        """The records of those documents that are quarantined, in order."""
        known = self.numbers()
        if not known:
            return []
        rows = zip(documents["number"].to_pylist(), documents["source"].to_pylist(), strict=True)
        # A damaged record does not know its source.
        return [replace(self.record(number), source=source) for number, source in rows if number in known]

    def waiting(self) -> list[Quarantined]:
        """The records that await a decision, in the order of landing."""
        records = map(self.record, sorted(self._numbers()))
        return [record for record in records if record.state == "waiting"]

    def record(self, number: int) -> Quarantined:
        """What is known about a quarantined document; of a damaged record, only that it is damaged."""
        try:
            return _read(self._path(number))
        except FileNotFoundError:
            hint = "`feedweir quarantine list` shows what is"
            raise LandingError(f"document {number} is not quarantined", hint=hint) from None
        except DamagedFileError as error:
            reason = f"its record {self._path(number).name} is damaged: {error.reason}"
            return Quarantined(number=number, source="", size=0, reason=reason, attempts=0, since="")

    def damages(self) -> dict[Place, str]:
        """By path, what is wrong with each damaged record."""
        found: dict[Place, str] = {}
        for path in map(self._path, sorted(self._numbers())):
            try:
                _read(path)
            except DamagedFileError as error:
                found[path] = error.reason
        return found

    def put(self, stopped: Stopped) -> Quarantined:
        """Quarantine a document; an existing record is not changed."""
        if not self._path(stopped.number).exists():
            since = datetime.now(UTC).isoformat(timespec="seconds")
            self._write(Quarantined(**asdict(stopped), since=since))
        return self.record(stopped.number)

    def restore(self, number: int, document: Landed, failures: Sequence[str]) -> None:
        """Rebuild a damaged record, with the reason found among the failures of its source; the decision that somebody
        took about it is lost."""
        parts = (failure.partition(_PREFIX.format(number)) for failure in failures)
        reason = next((reason for _, mark, reason in parts if mark), "its record was damaged")
        since = document.arrived.isoformat(timespec="seconds")
        self._write(
            Quarantined(
                number=number,
                source=document.source,
                size=len(document.body),
                reason=reason,
                attempts=0,
                since=since,
            )
        )

    def settle(self, number: int, state: State) -> None:
        """Record a decision."""
        self._write(replace(self.record(number), state=state))

    def _write(self, record: Quarantined) -> None:
        replace_sealed_json(self._path(record.number), asdict(record))

    def _path(self, number: int) -> Place:
        return self._directory / f"{number}.json"

    def _numbers(self) -> Iterator[int]:
        names = (path.stem for path in self._directory.glob("[0-9]*.json"))
        return (int(name) for name in names if name.isdigit())


def _read(path: Place) -> Quarantined:
    value = read_json(path)
    try:
        return Quarantined(**value)
    except TypeError as error:
        raise DamagedFileError(path, f"it is not a quarantine record: {error}") from error


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
