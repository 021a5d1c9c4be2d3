"""Documents read in a process of their own: one that takes too long, needs too much memory or crashes is stopped and
reported.

The process is started when first needed and again after it died. Documents go there in portions, so that little has to
be read again when one of them ends it.
"""

from __future__ import annotations

import atexit
import json
import math
import os
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from functools import lru_cache
from itertools import chain
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

import feedweir
from feedweir.acquire.parse.document_budget import Allowance
from feedweir.acquire.parse.parse_worker import (
    OUT_OF_MEMORY,
    PLACE_BYTES,
    READY,
    ParserLink,
    ReadingPlace,
    as_pushed,
    new_shared,
    received,
    without_notes,
    without_pushed,
)
from feedweir.acquire.parse.parser import ParsedBatch
from feedweir.acquire.push import Pushed
from feedweir.errors import DocumentError, FeedweirError
from feedweir.items.schema import ITEM_SCHEMA

ATTEMPTS = 3
"""Attempts for a document that crashes the process; all but the first read it alone."""
PORTION_BYTES = 8 << 20
COMMAND = (sys.executable, "-m", "feedweir.acquire.parse.parse_worker")
_START_S = 600.0
"""Compiling the kernels takes minutes."""
_TICK_S = 1.0
_PATIENCE_S = 60.0
"""Wall-clock time allowed when the machine is busy, in addition to ten times the document's processor time."""


@dataclass(frozen=True, slots=True)
class Stopped:
    """A document that could not be read within its allowance, or at all."""

    number: int
    source: str
    size: int
    reason: str
    attempts: int


@dataclass(frozen=True, slots=True)
class ParsedPortion:
    batch: ParsedBatch
    stopped: tuple[Stopped, ...]


@dataclass(frozen=True, slots=True)
class _Portion:
    documents: pa.RecordBatch
    attempts: int = 0
    """Earlier attempts for its only document."""


class _Ended(Exception):
    """The process ended while it read a row of a portion, or while it put all of them together."""

    def __init__(self, row: int, reason: str, is_certain: bool) -> None:
        super().__init__(reason)
        self.row = row
        self.reason = reason
        self.is_certain = is_certain
        """Whether another attempt would end the same way."""


class ParseProcess:
    """Reads documents for all threads of a process, one portion at a time."""

    def __init__(self, allowance: Allowance, command: Sequence[str] = COMMAND) -> None:
        self._allowance = allowance
        self._command = command
        self._turn = threading.Lock()
        self._running: _Running | None = None

    def parse(self, documents: pa.RecordBatch) -> ParsedPortion:
        """What documents say, and those that were stopped, in their order."""
        with self._turn:
            return self._parse(documents)

    def pushed(self, source: str, body: bytes, media_type: str, now: datetime, id_path: str = "") -> Pushed:
        """A pushed document; raises `DocumentError` when it cannot be read, within its allowance or at all."""
        request = as_pushed(source, body, media_type, now, id_path)
        with self._turn:
            answer = self._pushed(request, attempts=1)
        if isinstance(answer, DocumentError):
            raise answer
        return answer

    def end(self) -> None:
        """End the process, if there is one; the next document starts another."""
        if self._running is not None:
            self._running.end()
            self._running = None

    def _parse(self, documents: pa.RecordBatch) -> ParsedPortion:
        waiting = deque(map(_Portion, _portions(documents)))
        answers: list[ParsedBatch] = []
        stopped: list[Stopped] = []
        while waiting:
            portion = waiting.popleft()
            try:
                answers.append(without_notes(self._answer(portion.documents)))
            except _Ended as ended:
                waiting.extendleft(reversed(_after(portion, ended, stopped)))
        return ParsedPortion(_together(answers), tuple(stopped))

    def _pushed(self, request: pa.RecordBatch, attempts: int) -> Pushed | DocumentError:
        try:
            return without_pushed(self._answer(request))
        except _Ended as ended:
            if ended.is_certain or attempts == ATTEMPTS:
                return DocumentError(f"{ended.reason}, so it is refused", hint="push smaller documents")
            return self._pushed(request, attempts + 1)

    def _answer(self, documents: pa.RecordBatch) -> pa.RecordBatch:
        if self._running is None:
            self._running = _Running(self._command, self._allowance)
        try:
            return self._running.ask(documents, self._allowance)
        except BaseException:
            self.end()  # a late answer would be taken for that to the next question
            raise


def _after(portion: _Portion, ended: _Ended, stopped: list[Stopped]) -> list[_Portion]:
    """The rest of a portion in which the process ended; documents that will not be tried again are recorded."""
    documents, row, attempts = portion.documents, ended.row, portion.attempts + 1
    count = len(documents)
    if count == 1:
        row = 0
    if row >= count:  # all were read, but together they need too much memory
        return [_Portion(documents.slice(0, count // 2)), _Portion(documents.slice(count // 2))]
    alone = documents.slice(row, 1)
    around = [_Portion(part) for part in (documents.slice(0, row), documents.slice(row + 1)) if len(part)]
    if not ended.is_certain and attempts < ATTEMPTS:
        return [*around[: bool(row)], _Portion(alone, attempts), *around[bool(row) :]]
    number, source = alone["number"][0].as_py(), alone["source"][0].as_py()
    stopped.append(Stopped(number, source, _sizes(alone)[0], ended.reason, attempts))
    return around


class _Running:
    """The process, while there is one."""

    def __init__(self, command: Sequence[str], allowance: Allowance) -> None:
        ours, theirs = socket.socketpair()
        place = new_shared()
        place.file.truncate(PLACE_BYTES)
        self._link = ParserLink(ours, ReadingPlace(place.file.fileno()), new_shared(), new_shared())
        with theirs, place.file:
            files = (place.file, self._link.documents.file, self._link.answers.file)
            numbers = [each.fileno() for each in (theirs, *files)]
            self._process = subprocess.Popen(
                [*command, json.dumps([*numbers, asdict(allowance)])],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env=_environment(),
                cwd="/",
                pass_fds=numbers,
                start_new_session=True,
            )
        if not self._is_readable(_START_S) or ours.recv(1) != READY:
            code = self.end()
            raise FeedweirError(f"the process that reads documents did not start (it ended with {code})")

    def ask(self, documents: pa.RecordBatch, allowance: Allowance) -> pa.RecordBatch:
        """The process's answer, in the form in which it came."""
        link = self._link
        link.place.put(0)
        try:
            link.socket.sendall(link.documents.write(documents))
            if not self._is_answered(documents, allowance):
                raise _Ended(link.place.row(), f"it made no progress for {_PATIENCE_S:.0f} seconds", True)
            message = received(link.socket)
        except OSError:
            message = None
        if message is None:
            raise self._ended(documents, allowance)
        return link.answers.read(message)

    def _is_answered(self, documents: pa.RecordBatch, allowance: Allowance) -> bool:
        """Wait for the answer, or for the process's end; False when it makes no progress."""
        row, since = -1, 0.0
        while not self._is_readable(_TICK_S):
            if self._link.place.is_busy() or self._link.place.row() != row:
                row, since = self._link.place.row(), time.monotonic()
            elif time.monotonic() - since > _patience_s(_seconds_at(row, documents, allowance)):
                return False
        return True

    def _ended(self, documents: pa.RecordBatch, allowance: Allowance) -> _Ended:
        code, row = self._process.wait(), self._link.place.row()
        if code == -signal.SIGPROF:
            seconds = _seconds_at(row, documents, allowance)
            return _Ended(row, f"it takes more than {seconds:.3g} seconds to read", True)
        if code == OUT_OF_MEMORY:
            return _Ended(row, f"it takes more than {allowance.memory_bytes >> 20} MiB to read", False)
        how = signal.Signals(-code).name if code < 0 else f"exit code {code}"
        return _Ended(row, f"reading it crashes the process ({how})", False)

    def _is_readable(self, seconds: float) -> bool:
        waiting = select.poll()  # unlike select() it takes any number, however many files are open
        waiting.register(self._link.socket, select.POLLIN)
        return bool(waiting.poll(1_000 * seconds))

    def end(self) -> int:
        self._process.kill()
        code = self._process.wait()
        for each in (self._link.socket, self._link.place, self._link.documents.file, self._link.answers.file):
            each.close()
        return code


def _environment() -> dict[str, str]:
    ours = str(Path(feedweir.__file__).parent.parent)
    path = os.pathsep.join(filter(None, (ours, os.environ.get("PYTHONPATH"))))
    # Arrow's own pools reserve more addresses than a document may have.
    return {**os.environ, "PYTHONPATH": path, "ARROW_DEFAULT_MEMORY_POOL": "system"}


def _sizes(documents: pa.RecordBatch) -> list[int]:
    return [size or 0 for size in pc.binary_length(documents.column("body")).to_pylist()]


def _seconds_at(row: int, documents: pa.RecordBatch, allowance: Allowance) -> float:
    sizes = _sizes(documents)
    return allowance.seconds_for(sizes[row] if row < len(sizes) else sum(sizes))


def _patience_s(allowed_s: float) -> float:
    return _PATIENCE_S + 10 * allowed_s if allowed_s else math.inf


def _portions(documents: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """Documents in order, cut into as few portions as the bound allows."""
    first = size = 0
    for row, more in enumerate(_sizes(documents)):
        if size and size + more > PORTION_BYTES:
            yield documents.slice(first, row - first)
            first, size = row, 0
        size += more
    if first < len(documents):
        yield documents.slice(first)


def _together(answers: Sequence[ParsedBatch]) -> ParsedBatch:
    if len(answers) == 1:
        return answers[0]
    tables = [pa.Table.from_batches([answer.items]) for answer in answers]
    items = pa.concat_tables([ITEM_SCHEMA.empty_table(), *tables]).combine_chunks().to_batches()
    return ParsedBatch(
        items=items[0] if items else pa.RecordBatch.from_pylist([], schema=ITEM_SCHEMA),
        failures=tuple(chain.from_iterable(answer.failures for answer in answers)),
        descriptions=tuple(chain.from_iterable(answer.descriptions for answer in answers)),
        warnings=tuple(chain.from_iterable(answer.warnings for answer in answers)),
    )


@lru_cache(maxsize=4)
def parse_process(allowance: Allowance) -> ParseProcess:
    """The one process that reads documents for this process; it is shared and stays."""
    process = ParseProcess(allowance)
    atexit.register(process.end)
    return process
