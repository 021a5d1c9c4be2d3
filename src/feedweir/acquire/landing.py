"""The landing log: every document as it came, in the order it came.

A directory of immutable Parquet files, `SEGMENT.parquet`, numbered 1, 2, 3, …. The number of a document is decided
here and nowhere else: the order of landing is the order of the stream. A segment appears by a rename after its bytes
are on disk: a crash leaves either no segment or a whole one. Writers leave no number out and use none twice; where a
segment is missing nevertheless, or damaged, the ones behind it are read all the same.
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
from zlib import crc32

import pyarrow as pa
import pyarrow.parquet as pq

from feedweir import seals
from feedweir.errors import LandingError
from feedweir.items.numbering import MAX_DOCUMENTS_PER_SEGMENT, document_number
from feedweir.items.schema import DOCUMENT_SCHEMA

MAX_SEGMENT_BYTES = 64 << 20
"""How many body bytes a segment holds; a single larger document has a segment to itself."""

_SUFFIX = ".parquet"
_DIGITS = 12
_REPEATING = ["source", "media_type"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Landed:
    """A document on its way into the log: everything but its number."""

    source: str
    url: str = ""
    media_type: str = ""
    """The Content-Type header, parameters included."""
    arrived: datetime
    body: bytes
    id_path: str = ""
    """Where its items name their ids: landed with it, so that a replay identifies them as before."""


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
        segment = 0
        with _exclusive(self.directory / "_lock"):
            for chunk in chunks(documents, self._max_segment_bytes):
                segment = self.latest() + 1
                self._write(segment, chunk)
        return segment

    def latest(self) -> int:
        """The highest segment that was landed, 0 for an empty log: a probe, not a listing.

        Any thread may ask while another writes: what is known is only ever set to a segment that was seen to exist.
        """
        latest = max(self._known, self._hinted())
        if latest == 0:
            latest = max(_numbers(self.directory), default=0)
        while self.path(latest + 1).exists():
            latest += 1
        self._known = latest
        return latest

    def read(self, segment: int) -> pa.Table:
        """The documents of a segment (`DOCUMENT_SCHEMA`), in landing order."""
        path = self.path(segment)
        try:
            data = path.read_bytes()
        except FileNotFoundError as error:
            hint = f"the latest segment is {self.latest()}"
            raise LandingError(f"landing segment {segment} does not exist", hint=hint) from error
        try:
            return _documents_in(data, path.name)
        except (pa.ArrowException, OSError, ValueError) as error:
            hint = f"restore {path} from a backup"
            raise LandingError(f"landing segment {segment} is damaged: {error}", hint=hint) from error

    def segments(self, after: int, upto: int) -> range:
        """The numbers `after < segment <= upto` that were given to segments."""
        return range(max(after, 0) + 1, min(upto, self.latest()) + 1)

    def reach(self, after: int, max_bytes: int) -> int:
        """The last of the segments behind `after` that have no more bytes together, and at least the first of them."""
        last, size = after, 0
        for segment in self.segments(after, self.latest()):
            size += self._size(segment)
            if last > after and size > max_bytes:
                break
            last = segment
        return last

    def write_empty(self, segment: int) -> None:
        """Put an empty segment where one is missing or was damaged, so that nobody asks for it again."""
        with _exclusive(self.directory / "_lock"):
            self._put(segment, ())

    def _size(self, segment: int) -> int:
        try:
            return self.path(segment).stat().st_size
        except FileNotFoundError:
            return 0  # whoever reads it will tell that it is missing

    def path(self, segment: int) -> Path:
        """Where a segment is, or will be."""
        return self.directory / f"{segment:0{_DIGITS}d}{_SUFFIX}"

    def _write(self, segment: int, documents: Sequence[Landed]) -> None:
        self._put(segment, documents)
        self._known = segment
        self._hint(segment)

    def _put(self, segment: int, documents: Sequence[Landed]) -> None:
        # Names that begin with an underscore are invisible to readers of the directory, Spark's included.
        temporary = self.directory / f"_{segment:0{_DIGITS}d}.tmp"
        with temporary.open("w+b") as file:
            table = table_of(segment, documents)
            with pq.ParquetWriter(
                file, table.schema, compression="zstd", use_dictionary=_REPEATING
            ) as writer:
                writer.write_table(table)
                writer.add_key_value_metadata(seals.METADATA)
            seals.seal(file, self.path(segment).name)
            file.flush()
            os.fsync(file.fileno())
        os.rename(temporary, self.path(segment))
        _sync_directory(self.directory)

    def _hint(self, segment: int) -> None:
        # Written after the segment is safe, so that a hint is at most behind, never ahead.
        temporary = self.directory / "_latest.tmp"
        temporary.write_text(f"{segment} {_check_digits(segment)}", encoding="ascii")
        os.replace(temporary, self.directory / "_latest")

    def _hinted(self) -> int:
        """The segment that was written last. Its number stays taken, also when the segment is gone; a hint without
        check digits, as written earlier, is believed when there is such a segment."""
        try:
            number, *digits = (self.directory / "_latest").read_text(encoding="ascii").split()
            segment = int(number)
        except (OSError, ValueError):
            return 0
        is_known = digits == [_check_digits(segment)] if digits else self.path(segment).exists()
        return segment if is_known else 0


def _check_digits(segment: int) -> str:
    return f"{crc32(str(segment).encode()):08x}"


def _documents_in(data: bytes, name: str) -> pa.Table:
    if not seals.fits(data, name):
        raise ValueError("its checksum does not fit")
    return _complete(pq.ParquetFile(pa.BufferReader(data)).read())


def table_of(segment: int, documents: Sequence[Landed]) -> pa.Table:
    """The rows of a segment: the documents under their numbers."""
    columns = {
        "number": [document_number(segment, row) for row in range(len(documents))],
        "source": [document.source for document in documents],
        "url": [document.url for document in documents],
        "media_type": [document.media_type for document in documents],
        "arrived": [document.arrived for document in documents],
        "body": [document.body for document in documents],
        "id_path": [document.id_path for document in documents],
    }
    return pa.table(columns, schema=DOCUMENT_SCHEMA)


def _complete(documents: pa.Table) -> pa.Table:
    """Documents as an older version wrote them, as we write them now."""
    if "id_path" not in documents.schema.names:
        documents = documents.append_column("id_path", pa.array([""] * len(documents), pa.string()))
    return documents.cast(DOCUMENT_SCHEMA)


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
