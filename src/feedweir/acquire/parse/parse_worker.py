"""The process that reads documents: whatever a document does to it, the process that asked survives.

Started with a socket and with files in memory that it shares with its parent: one says how far it is (`Place`), one has
the documents, one what they say (`Shared`). The
kernel ends this process when a document takes more processor time than it may, whether or not anybody is watching; it
ends by itself when a document wants more memory than it may have, and when the other end of the socket is closed.
"""

from __future__ import annotations

import importlib
import json
import os
import pickle
import resource
import signal
import socket
import struct
import sys
import tempfile
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from mmap import mmap
from pathlib import Path
from typing import Any, TypeAlias

import pyarrow as pa

from feedweir.acquire.parse.document_budget import Allowance
from feedweir.acquire.parse.parser import ParsedBatch, parse_batch
from feedweir.acquire.push import Pushed, pushed_document
from feedweir.errors import DocumentError
from feedweir.items.schema import DOCUMENT_SCHEMA

OUT_OF_MEMORY = 77
"""The exit code of a process that ended because a document wanted too much memory."""
READY = b"r"
PLACE_BYTES = 16
_NOTES = b"feedweir"
_IS_PUSHED = {_NOTES: b"pushed"}
_SIZE = struct.Struct("<q")
_KEPT_BYTES = 64 << 20
"""Memory that is reserved for the next message."""

ParseDocuments: TypeAlias = Callable[..., ParsedBatch]
"""`parse_batch` or a substitute."""


class ReadingPlace:
    """The row that is being read, in memory that the parent can see at any time."""

    def __init__(self, number: int) -> None:
        self._shared = mmap(number, PLACE_BYTES)

    def put(self, row: int) -> None:
        struct.pack_into("<q", self._shared, 0, row)

    def put_busy(self, is_busy: bool) -> None:
        """Whether the process is compiling kernels, which is not a document's fault."""
        struct.pack_into("<q", self._shared, 8, is_busy)

    def row(self) -> int:
        return int(struct.unpack_from("<q", self._shared, 0)[0])

    def is_busy(self) -> bool:
        return bool(struct.unpack_from("<q", self._shared, 8)[0])

    def close(self) -> None:
        self._shared.close()


@dataclass(frozen=True, slots=True)
class ParserLink:
    """The connection of the two processes; each has its own end of the socket."""

    socket: socket.socket
    place: ReadingPlace
    documents: SharedFile
    answers: SharedFile


class Stopwatch:
    """Gives each document its processor time: the kernel ends the process when it is used up."""

    def __init__(self, allowance: Allowance, place: ReadingPlace) -> None:
        self._allowance = allowance
        self._place = place
        self._left = 0.0
        self._pauses = 0

    def __call__(self, row: int, size: int) -> None:
        """Begin a row of this many bytes."""
        self._place.put(row)
        signal.setitimer(signal.ITIMER_PROF, self._allowance.seconds_for(size))

    def stop(self) -> None:
        signal.setitimer(signal.ITIMER_PROF, 0)

    def pause(self) -> None:
        self._pauses += 1
        if self._pauses == 1:
            self._left, _ = signal.setitimer(signal.ITIMER_PROF, 0)
            self._place.put_busy(True)

    def go_on(self) -> None:
        self._pauses -= 1
        if not self._pauses:
            self._place.put_busy(False)
            signal.setitimer(signal.ITIMER_PROF, self._left)


def serve(link: ParserLink, allowance: Allowance, parse: ParseDocuments) -> None:
    """Answer until the other end is closed."""
    watch = Stopwatch(allowance, link.place)
    _pause_for_kernels(watch)
    parse(_FIRST_DOCUMENT)
    link.socket.sendall(READY)
    while (request := received(link.socket)) is not None:
        _limit_memory(allowance.memory_bytes)
        try:
            documents = link.documents.read(request)
            if documents.schema.metadata == _IS_PUSHED:
                answer = with_pushed(_pushed(documents.to_pylist()[0], watch))
            else:
                answer = with_notes(parse(documents, watch=watch))
            watch.stop()
            link.socket.sendall(link.answers.write(answer))
        except MemoryError:
            os._exit(OUT_OF_MEMORY)


def _pushed(row: Mapping[str, Any], watch: Stopwatch) -> Pushed | DocumentError:
    """A pushed document, or why it is refused."""
    watch(0, len(row["body"]))
    try:
        return pushed_document(row["source"], row["body"], row["media_type"], row["arrived"], row["id_path"])
    except DocumentError as error:
        return error
    except MemoryError:
        raise
    except Exception as error:  # a hostile document that finds a fault in our code fails alone
        return DocumentError(f"the document could not be read: {error!r}")


def _pause_for_kernels(watch: Stopwatch) -> None:
    """Compiling a kernel while a document is read takes longer than any document may."""
    events: Any = importlib.import_module("numba.core.event")

    class Compiling(events.Listener):  # type: ignore[misc]
        def on_start(self, event: object) -> None:
            watch.pause()

        def on_end(self, event: object) -> None:
            watch.go_on()

    events.register("numba:compiler_lock", Compiling())


def _limit_memory(allowed: int) -> None:
    """From now on; only where the system says how much there is already."""
    with suppress(OSError, ValueError):
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        _, hard = resource.getrlimit(resource.RLIMIT_AS)
        most = pages * resource.getpagesize() + allowed if allowed else hard
        resource.setrlimit(resource.RLIMIT_AS, (most, hard))


# Messages


class SharedFile:
    """A file without a path that both processes reuse: allocating fresh memory would cost more than writing into it.
    The socket carries only the size of what it holds."""

    def __init__(self, number: int) -> None:
        # Unbuffered: a buffer would return what was here before.
        self.file = os.fdopen(number, "r+b", buffering=0)

    def write(self, batch: pa.RecordBatch) -> bytes:
        """Store an Arrow stream; returns the message that announces it."""
        self.file.seek(0)
        with pa.ipc.new_stream(self.file, batch.schema) as writer:
            writer.write_batch(batch)
        return _SIZE.pack(self.file.tell())

    def read(self, message: bytes) -> pa.RecordBatch:
        """A copy of what a message announces."""
        (size,) = _SIZE.unpack(message)
        self.file.seek(0)
        content = self.file.read(size)
        if size > _KEPT_BYTES:
            self.file.truncate(0)
        return pa.ipc.open_stream(content).read_next_batch()


def new_shared() -> SharedFile:
    """In memory, if the system supports such files."""
    if hasattr(os, "memfd_create"):
        return SharedFile(os.memfd_create("feedweir"))
    with tempfile.TemporaryFile("w+b") as file:
        return SharedFile(os.dup(file.fileno()))


def received(connection: socket.socket) -> bytes | None:
    """The next message; None when the other end is closed."""
    message = connection.recv(_SIZE.size, socket.MSG_WAITALL)
    return message if len(message) == _SIZE.size else None


def with_notes(answer: ParsedBatch) -> pa.RecordBatch:
    """An answer in one piece."""
    notes = pickle.dumps((answer.failures, answer.descriptions, answer.warnings))
    return answer.items.replace_schema_metadata({_NOTES: notes})


def without_notes(items: pa.RecordBatch) -> ParsedBatch:
    """The answer that was made one piece."""
    failures, descriptions, warnings = pickle.loads(items.schema.metadata[_NOTES])
    return ParsedBatch(
        items=items.replace_schema_metadata(None),
        failures=failures,
        descriptions=descriptions,
        warnings=warnings,
    )


def as_pushed(source: str, body: bytes, media_type: str, now: datetime, id_path: str) -> pa.RecordBatch:
    """The request to read a document that somebody pushes."""
    row = {
        "number": 0,
        "source": source,
        "url": "",
        "media_type": media_type,
        "arrived": now,
        "id_path": id_path,
        "body": body,
    }
    documents = pa.RecordBatch.from_pylist([row], schema=DOCUMENT_SCHEMA)
    return documents.replace_schema_metadata(_IS_PUSHED)


def with_pushed(answer: Pushed | DocumentError) -> pa.RecordBatch:
    """The answer to such a request, as a message."""
    return _NOTHING.replace_schema_metadata({_NOTES: pickle.dumps(answer)})


def without_pushed(message: pa.RecordBatch) -> Pushed | DocumentError:
    """The answer that was made a message."""
    answer: Pushed | DocumentError = pickle.loads(message.schema.metadata[_NOTES])
    return answer


_NOTHING = pa.RecordBatch.from_pylist([], schema=pa.schema([]))


# The process


def main(parse: ParseDocuments = parse_batch) -> None:
    # A signal to the whole process group reaches the parent, too: this process ends with the socket, after the
    # document that it has begun.
    for request_to_stop in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(request_to_stop, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    ours, place, documents, answers, allowance = json.loads(sys.argv[1])
    link = ParserLink(
        socket.socket(fileno=ours), ReadingPlace(place), SharedFile(documents), SharedFile(answers)
    )
    serve(link, Allowance(**allowance), parse)


_FIRST_FEED = b"""<rss version="2.0"><channel><title>First</title><item><guid>1</guid><title>Water \xe6\xb0\xb4</title>
<pubDate>Mon, 01 Jun 2026 12:00:00 GMT</pubDate><description>&lt;p&gt;High &lt;a href="x"&gt;water&lt;/a&gt;&lt;/p&gt;
</description><link>https://example.org/1</link><category>floods</category></item></channel></rss>"""
_FIRST_DOCUMENT = pa.RecordBatch.from_pylist(
    [{"number": 0, "source": "", "arrived": datetime(2026, 6, 1, tzinfo=UTC), "body": _FIRST_FEED}],
    schema=DOCUMENT_SCHEMA,
)
"""Whatever is loaded on first use is loaded before the first request."""

if __name__ == "__main__":
    main()
