"""The landing log: every document as it was received, in the order of arrival.

A directory of immutable Parquet files, `SEGMENT.parquet`, numbered 1, 2, 3, …. The number of a document is decided
here and nowhere else: the order of landing is the order of the stream. A segment appears by a rename after its bytes
are on disk: a crash leaves either no segment or a whole one. Writers leave no number out and use none twice; where a
segment is missing nevertheless, or damaged, the ones behind it are read all the same.
"""

from __future__ import annotations

import fcntl
import logging
import os
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache, partial
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any
from zlib import crc32

import pyarrow as pa
import pyarrow.parquet as pq

from feedweir.errors import LandingError
from feedweir.health.item_log import hand_over, is_followed
from feedweir.items.numbering import MAX_DOCUMENTS_PER_SEGMENT, document_number
from feedweir.items.schema import DOCUMENT_SCHEMA
from feedweir.logs import seals
from feedweir.storage import ObjectPath, Place, listed, local, put_absent, replacing

_log = logging.getLogger(__name__)

MAX_SEGMENT_BYTES = 64 << 20
"""The most bytes of bodies in one segment; a larger document gets a segment of its own."""

_GROUP_BYTES = 128 << 10
"""Of bodies in a row group: what one task reads of a segment at least."""
_CHECKED = "checked"
"""Says in a file's metadata that its pages have checksums; older segments are read as a whole."""
_SUFFIX = ".parquet"
_DIGITS = 12
_REPEATING = ["source", "media_type"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Landed:
    """A document to be written to the log, without its number."""

    source: str
    url: str = ""
    media_type: str = ""
    """The Content-Type header, parameters included."""
    arrived: datetime
    body: bytes
    id_path: str = ""
    """The path to ids in its items; stored with it, so that a replay identifies them as before."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A segment, or some of its row groups."""

    segment: int
    first: int = 0
    end: int = 0

    @property
    def is_whole(self) -> bool:
        return self.end == 0


@dataclass(slots=True, eq=False)
class _Ticket:
    """The documents of one caller, and their outcome."""

    documents: Sequence[Landed]
    segment: int = 0
    error: BaseException | None = None


class LandingLog:
    """A directory of segments. Any number of processes may read it, and writers take turns."""

    def __init__(self, directory: Place | str, *, max_segment_bytes: int = MAX_SEGMENT_BYTES) -> None:
        self.directory: Place = Path(directory) if isinstance(directory, str) else directory
        self._max_segment_bytes = max_segment_bytes
        self._known = 0
        self._sizes: dict[int, int] = {}
        """Of segments in a store, which is asked for each once."""
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
        """Write the documents of all waiting callers, in the order of arrival."""
        with self._arriving:
            tickets, self._tickets = self._tickets, []
        try:
            segment = self._land([document for ticket in tickets for document in ticket.documents])
        except BaseException as error:
            # Whatever stopped the writer, no caller may believe that its documents were landed.
            for ticket in tickets:
                ticket.error = error
        else:
            for ticket in tickets:
                ticket.segment = segment

    def _land(self, documents: Sequence[Landed]) -> int:
        segment = 0
        with self._alone():
            for chunk in chunks(documents, self._max_segment_bytes):
                segment = self._write(self.latest() + 1, chunk)
                _log_landed(segment, chunk)
        return segment

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """No other process writes during the block. A store has no locks: there a number is whose file came first."""
        if isinstance(self.directory, ObjectPath):
            yield
            return
        self.directory.mkdir(parents=True, exist_ok=True)
        with _exclusive(self.directory / "_lock"):
            yield

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
            data = local(path).read_bytes()
        except FileNotFoundError as error:
            if segment <= self.removed():
                raise LandingError(
                    f"landing segment {segment} has been deleted", hint="see the setting retain_landing"
                ) from error
            hint = f"the latest segment is {self.latest()}"
            raise LandingError(f"landing segment {segment} does not exist", hint=hint) from error
        try:
            return _documents_in(data, path.name)
        except (pa.ArrowException, OSError, ValueError) as error:
            hint = f"restore {path} from a backup"
            raise LandingError(f"landing segment {segment} is damaged: {error}", hint=hint) from error

    def read_pieces(self, pieces: Sequence[Piece]) -> tuple[list[pa.Table], tuple[str, ...]]:
        """The documents of pieces, in landing order, and the segments that are missing or damaged."""
        tables: list[pa.Table] = []
        lost: list[str] = []
        for piece in pieces:
            try:
                tables.append(self.read(piece.segment) if piece.is_whole else self._read_groups(piece))
            except LandingError as error:
                _log.error("a landing segment is skipped: %s", error)
                lost.append(f"landing/{self.path(piece.segment).name}")
        return tables, tuple(lost)

    def _read_groups(self, piece: Piece) -> pa.Table:
        """Some row groups of a segment; each page has a checksum of its own, so that the others need not be read."""
        path = self.path(piece.segment)
        try:
            with pq.ParquetFile(local(path), page_checksum_verification=True) as file:
                return _complete(file.read_row_groups(range(piece.first, piece.end)))
        except (pa.ArrowException, OSError, ValueError) as error:
            raise LandingError(f"landing segment {piece.segment} is damaged: {error}") from error

    def pieces_of(self, after: int, upto: int, size: int) -> list[tuple[Piece, int]]:
        """The documents between two segments in pieces of about a size, as far as row groups allow, and their bytes."""
        return [piece for segment in self.segments(after, upto) for piece in self._pieces_of(segment, size)]

    def _pieces_of(self, segment: int, size: int) -> list[tuple[Piece, int]]:
        whole = self._size(segment)
        if whole <= size:
            return [(Piece(segment), whole)]
        try:
            about = pq.read_metadata(local(self.path(segment)))
        except (pa.ArrowException, OSError):  # whoever reads it will tell
            return [(Piece(segment), whole)]
        groups = [_compressed(about.row_group(place)) for place in range(about.num_row_groups)]
        if len(groups) < 2 or not _has_page_checksums(about):
            return [(Piece(segment), whole)]
        return [(Piece(segment, place, place + 1), one) for place, one in enumerate(groups)]

    def sources_in(self, after: int, upto: int) -> list[str]:
        """The source of each document between two segments; of a segment that cannot be read, none."""
        found: list[str] = []
        for segment in self.segments(after, upto):
            with suppress(pa.ArrowException, OSError):
                found += (
                    pq.ParquetFile(local(self.path(segment))).read(columns=["source"])["source"].to_pylist()
                )
        return found

    def segments(self, after: int, upto: int) -> range:
        """The numbers `after < segment <= upto` that were given to segments."""
        return range(max(after, 0) + 1, min(upto, self.latest()) + 1)

    def reach(self, after: int, max_bytes: int) -> int:
        """The last segment after `after` such that all up to it have at most so many bytes; at least the next one."""
        last, size = after, 0
        for segment in self.segments(after, self.latest()):
            size += self._size(segment)
            if last > after and size > max_bytes:
                break
            last = segment
        return last

    def bytes_in(self, after: int, upto: int) -> int:
        """The size of the segments between two, as they are on disk."""
        return sum(map(self._size, self.segments(after, upto)))

    def documents_in(self, after: int, upto: int) -> int:
        """How many documents there are between two segments; those that cannot be read do not count."""
        return sum(_count_in(self.path(segment)) for segment in self.segments(after, upto))

    def removed(self) -> int:
        """The segment up to which the log has been deleted; 0 if none was."""
        return _checked(self.directory / "_removed")

    def pieces(self) -> Iterator[tuple[int, datetime, int]]:
        """For each segment, oldest first: its number, when it landed, and its size in bytes."""
        for path, found in listed(self.directory, f"[0-9]*{_SUFFIX}"):
            if _is_segment(path.name) and int(path.stem) > self.removed():
                yield int(path.stem), datetime.fromtimestamp(found.st_mtime, UTC), found.st_size

    def remove(self, upto: int) -> None:
        """Delete the segments up to one. That is recorded first; files that a crash leaves are deleted next time."""
        with self._alone():
            if upto > self.removed():
                self._put_checked("_removed", upto)
            for segment in sorted(_numbers(self.directory)):
                if segment <= upto:
                    self.path(segment).unlink(missing_ok=True)

    def write_empty(self, segment: int) -> None:
        """Write an empty segment in place of one that is missing or damaged."""
        with self._alone():
            self._put(segment, ())

    def _size(self, segment: int) -> int:
        path = self.path(segment)
        try:
            if not isinstance(path, ObjectPath):
                return path.stat().st_size
            if segment not in self._sizes:
                self._sizes[segment] = path.stat().st_size
            return self._sizes[segment]
        except FileNotFoundError:
            return 0  # readers report that it is missing

    def path(self, segment: int) -> Place:
        """The path of a segment."""
        return self.directory / f"{segment:0{_DIGITS}d}{_SUFFIX}"

    def _write(self, segment: int, documents: Sequence[Landed]) -> int:
        """Write the next segment; its number, which another process may have taken meanwhile."""
        if isinstance(self.directory, ObjectPath):
            while not put_absent(self.path(segment), self._bytes_of(segment, documents)):
                segment += 1
        else:
            self._put(segment, documents)
        self._known = max(self._known, segment)
        self._hint(segment)
        return segment

    def _bytes_of(self, segment: int, documents: Sequence[Landed]) -> bytes:
        with TemporaryFile() as file:
            self._fill(file, segment, documents)
            file.seek(0)
            return file.read()

    def _put(self, segment: int, documents: Sequence[Landed]) -> None:
        if isinstance(self.directory, ObjectPath):
            with replacing(self.path(segment)) as file:
                self._fill(file, segment, documents)
            return
        # Names that begin with an underscore are invisible to readers of the directory, Spark's included.
        temporary = self.directory / f"_{segment:0{_DIGITS}d}.tmp"
        with temporary.open("w+b") as file:
            self._fill(file, segment, documents)
            file.flush()
            os.fsync(file.fileno())
        os.rename(temporary, self.directory / self.path(segment).name)
        _sync_directory(self.directory)

    def _fill(self, file: IO[bytes], segment: int, documents: Sequence[Landed]) -> None:
        table = table_of(segment, documents)
        with pq.ParquetWriter(
            file,
            table.schema,
            compression="zstd",
            use_dictionary=_REPEATING,
            write_page_checksum=True,
            write_statistics=False,
        ) as writer:
            for first, end in _row_groups(documents):
                writer.write_table(table.slice(first, end - first))
            writer.add_key_value_metadata(seals.METADATA | {_CHECKED: "pages"})
        seals.seal(file, self.path(segment).name)

    def _hint(self, segment: int) -> None:
        # Written after the segment is safe, so that a hint is at most behind, never ahead.
        self._put_checked("_latest", segment)

    def _put_checked(self, name: str, segment: int) -> None:
        text = f"{segment} {_check_digits(segment)}"
        if isinstance(self.directory, ObjectPath):
            (self.directory / name).write_bytes(text.encode())
            return
        temporary = self.directory / f"{name}.tmp"
        temporary.write_text(text, encoding="ascii")
        os.replace(temporary, self.directory / name)

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


def _row_groups(documents: Sequence[Landed]) -> Iterator[tuple[int, int]]:
    """Rows that are read together: tasks share a large segment by its row groups."""
    first = size = 0
    for place, document in enumerate(documents):
        size += len(document.body)
        if size >= _GROUP_BYTES:
            yield first, place + 1
            first, size = place + 1, 0
    if first < len(documents) or not documents:
        yield first, len(documents)


@lru_cache(maxsize=10_000)
def _count_in(path: Path) -> int:
    try:
        return int(pq.read_metadata(path).num_rows)
    except (pa.ArrowException, OSError):
        return 0


def _compressed(group: pq.RowGroupMetaData) -> int:
    return sum(group.column(place).total_compressed_size for place in range(group.num_columns))


def _has_page_checksums(about: pq.FileMetaData) -> bool:
    return _CHECKED.encode() in (about.metadata or {})


def _checked(path: Place) -> int:
    """The number of a segment that was recorded with its check digits; 0 if there is none, or it cannot be read."""
    try:
        number, digits = path.read_text(encoding="ascii").split()
        return int(number) if digits == _check_digits(int(number)) else 0
    except (OSError, ValueError):
        return 0


def _check_digits(segment: int) -> str:
    return f"{crc32(str(segment).encode()):08x}"


def _documents_in(data: bytes, name: str) -> pa.Table:
    if not seals.fits(data, name):
        raise ValueError("its checksum is wrong")
    return _complete(pq.ParquetFile(pa.BufferReader(data)).read())


def table_of(segment: int, documents: Sequence[Landed]) -> pa.Table:
    """The rows of a segment: documents with their numbers."""
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
    """Documents written by an older version, in the current schema."""
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


def _numbers(directory: Place) -> Iterator[int]:
    names = (path.name for path in directory.glob(f"[0-9]*{_SUFFIX}"))
    return (int(name[:_DIGITS]) for name in names if _is_segment(name))


def _is_segment(name: str) -> bool:
    stem, suffix = os.path.splitext(name)
    return suffix == _SUFFIX and len(stem) == _DIGITS and stem.isdigit()


def _log_landed(segment: int, documents: Sequence[Landed]) -> None:
    for row, one in enumerate(documents if is_followed() else ()):
        number = document_number(segment, row)
        hand_over("landed", document=number, source=one.source, bytes=len(one.body), url=one.url)
