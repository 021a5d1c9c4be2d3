"""The landing log: every document as it came, in the order it came.

A directory of immutable Parquet files, `SEGMENT.parquet`, numbered 1, 2, 3, … without holes. The number of a
document is decided here and nowhere else: the order of landing is the order of the stream. A segment appears
by a rename after its bytes are on disk: a crash leaves either no segment or a whole one.
"""

from __future__ import annotations

import fcntl
import os
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from feedweir.errors import LandingError
from feedweir.items.numbering import MAX_DOCUMENTS_PER_SEGMENT, document_number
from feedweir.items.schema import DOCUMENT_SCHEMA

MAX_SEGMENT_BYTES = 64 << 20
"""How many body bytes a segment holds; a single larger document has a segment to itself."""

_SUFFIX = ".parquet"
_DIGITS = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Landed:
    """A document on its way into the log: everything but its number."""

    source: str
    url: str = ""
    media_type: str = ""
    """The Content-Type header, parameters included."""
    arrived: datetime
    body: bytes


@dataclass(slots=True, eq=False)
class _Ticket:
    """What one caller brought, and what became of it."""

    documents: Sequence[Landed]
    segment: int = 0
    error: BaseException | None = None


class LandingLog:
    """One directory of segments. Any number of readers; writers of any process take turns."""

    def __init__(self, directory: Path | str, *, max_segment_bytes: int = MAX_SEGMENT_BYTES) -> None:
        self.directory = Path(directory)
        self._max_segment_bytes = max_segment_bytes
        self._known = 0
        self._tickets: list[_Ticket] = []
        self._arriving = threading.Lock()
        self._writing = threading.Lock()

    def __reduce__(self) -> tuple[Any, ...]:
        # On its way to another process a log is its directory; what is being written here stays here.
        return partial(LandingLog, max_segment_bytes=self._max_segment_bytes), (self.directory,)

    def append(self, documents: Sequence[Landed]) -> int:
        """Land documents in order and return the last segment; all are on disk when this returns.

        More than fit one segment go into several, each whole or absent. No documents, no segment. What several
        threads bring at the same time goes into one segment: the disk is waited for once.
        """
        if not documents:
            return self.latest()
        ticket = _Ticket(documents)
        with self._arriving:
            self._tickets.append(ticket)
        with self._writing:
            if ticket in self._tickets:
                self._land_all()
        if ticket.error is not None:
            raise ticket.error
        return ticket.segment

    def _land_all(self) -> None:
        """Land what everybody has brought by now, in the order in which it came."""
        with self._arriving:
            tickets, self._tickets = self._tickets, []
        try:
            segment = self._land([document for ticket in tickets for document in ticket.documents])
        except BaseException as error:
            # Nobody may take for landed what was not, whatever ended the writer.
            for ticket in tickets:
                ticket.error = error
        else:
            for ticket in tickets:
                ticket.segment = segment

    def _land(self, documents: Sequence[Landed]) -> int:
        self.directory.mkdir(parents=True, exist_ok=True)
        with _exclusive(self.directory / "_lock"):
            for chunk in chunks(documents, self._max_segment_bytes):
                self._write(self.latest() + 1, chunk)
        return self._known

    def latest(self) -> int:
        """The highest segment such that none below is missing, 0 for an empty log: a probe, not a listing."""
        if self._known == 0:
            self._known = self._hinted() or self._listed()
        while self.path(self._known + 1).exists():
            self._known += 1
        return self._known

    def read(self, segment: int) -> pa.Table:
        """The documents of a segment (`DOCUMENT_SCHEMA`), in landing order."""
        path = self.path(segment)
        try:
            return pq.ParquetFile(path).read().cast(DOCUMENT_SCHEMA)
        except FileNotFoundError as error:
            hint = f"the latest segment is {self.latest()}"
            raise LandingError(f"landing segment {segment} does not exist", hint=hint) from error
        except (pa.ArrowException, OSError) as error:
            hint = f"restore {path} from a backup"
            raise LandingError(f"landing segment {segment} is damaged: {error}", hint=hint) from error

    def segments(self, after: int, upto: int) -> range:
        """The segments that exist with `after < segment <= upto`."""
        return range(max(after, 0) + 1, min(upto, self.latest()) + 1)

    def reach(self, after: int, max_bytes: int) -> int:
        """The last of the segments behind `after` that have no more bytes together, and at least the first of them."""
        last, size = after, 0
        for segment in self.segments(after, self.latest()):
            size += self.path(segment).stat().st_size
            if last > after and size > max_bytes:
                break
            last = segment
        return last

    def path(self, segment: int) -> Path:
        """Where a segment is, or will be."""
        return self.directory / f"{segment:0{_DIGITS}d}{_SUFFIX}"

    def _write(self, segment: int, documents: Sequence[Landed]) -> None:
        # Names that begin with an underscore are invisible to readers of the directory, Spark's included.
        temporary = self.directory / f"_{segment:0{_DIGITS}d}.tmp"
        with temporary.open("wb") as file:
            table = table_of(segment, documents)
            pq.write_table(table, file, compression="zstd", use_dictionary=["source", "media_type"])
            file.flush()
            os.fsync(file.fileno())
        os.rename(temporary, self.path(segment))
        _sync_directory(self.directory)
        self._known = segment
        self._hint(segment)

    def _hint(self, segment: int) -> None:
        # Written after the segment is safe, so that a hint is at most behind, never ahead.
        temporary = self.directory / "_latest.tmp"
        temporary.write_text(str(segment), encoding="ascii")
        os.replace(temporary, self.directory / "_latest")

    def _hinted(self) -> int:
        try:
            segment = int((self.directory / "_latest").read_text(encoding="ascii"))
        except (OSError, ValueError):
            return 0
        return segment if self.path(segment).exists() else 0

    def _listed(self) -> int:
        """The end of the run that begins at the lowest segment, which is not 1 when old ones were retired."""
        present = set(_numbers(self.directory))
        segment = min(present, default=0)
        while segment + 1 in present:
            segment += 1
        return segment


def table_of(segment: int, documents: Sequence[Landed]) -> pa.Table:
    """The rows of a segment: the documents under their numbers."""
    columns = {
        "number": [document_number(segment, row) for row in range(len(documents))],
        "source": [document.source for document in documents],
        "url": [document.url for document in documents],
        "media_type": [document.media_type for document in documents],
        "arrived": [document.arrived for document in documents],
        "body": [document.body for document in documents],
    }
    return pa.table(columns, schema=DOCUMENT_SCHEMA)


def chunks(
    documents: Sequence[Landed], max_bytes: int, max_documents: int = MAX_DOCUMENTS_PER_SEGMENT
) -> Iterator[Sequence[Landed]]:
    """Cut documents, in order, into as few segments as the two bounds allow."""
    start = size = 0
    for place, document in enumerate(documents):
        is_full = place - start == max_documents or size + len(document.body) > max_bytes
        if is_full and place > start:
            yield documents[start:place]
            start, size = place, 0
        size += len(document.body)
    if start < len(documents):
        yield documents[start:]


@contextmanager
def _exclusive(path: Path) -> Iterator[None]:
    # The kernel releases the lock when its holder dies, however it dies.
    with path.open("ab") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _sync_directory(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _numbers(directory: Path) -> Iterator[int]:
    if not directory.is_dir():
        return
    for entry in os.scandir(directory):
        stem, suffix = os.path.splitext(entry.name)
        if suffix == _SUFFIX and len(stem) == _DIGITS and stem.isdigit():
            yield int(stem)
