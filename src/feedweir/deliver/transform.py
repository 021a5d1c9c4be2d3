"""Stylesheets applied to elements, in a process that can open nothing and is ended when it takes too long."""

from __future__ import annotations

import json
import os
import select
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

import feedweir
from feedweir.deliver.element_document import element_document
from feedweir.deliver.view import FeedView
from feedweir.errors import DeliveryError


@dataclass(frozen=True, slots=True, kw_only=True)
class TransformLimits:
    """What one transformation may cost."""

    seconds: int = 5
    memory_bytes: int = 512 << 20
    max_output_bytes: int = 4 << 20
    start_s: int = 30
    """How long the process may need to start, on a busy machine."""


@dataclass(frozen=True, slots=True)
class Transformed:
    """What a stylesheet made."""

    text: str
    media_type: str
    """`text/plain`, `text/html` or `application/xml` by the output method, or what the stylesheet says."""


class _Ended(Exception):
    """The process is no more, or was too slow and is ended."""


class _NotStarted(Exception):
    """There is no process, which is no fault of a stylesheet."""


class Transformer:
    """One process for any number of transformations, started when first needed and again after it died."""

    def __init__(self, limits: TransformLimits | None = None) -> None:
        self._limits = limits or TransformLimits()
        self._process: subprocess.Popen[bytes] | None = None
        self._lock = threading.Lock()

    def apply(
        self, stylesheet: bytes, view: FeedView, parameters: Mapping[str, str] | None = None
    ) -> Transformed:
        """The stylesheet applied to a feed's entries; raises DeliveryError, final, with the stylesheet's line."""
        return self.transform(stylesheet, element_document(view), parameters)

    def transform(
        self, stylesheet: bytes, document: bytes, parameters: Mapping[str, str] | None = None
    ) -> Transformed:
        """The stylesheet applied to any document."""
        request = {
            "stylesheet": stylesheet.decode("utf-8", "replace"),
            "document": document.decode("utf-8", "replace"),
            "parameters": dict(parameters or {}),
            "seconds": self._limits.seconds,
            "max_bytes": self._limits.max_output_bytes,
        }
        with self._lock:
            try:
                reply = self._asked(request)
            except _Ended as ended:
                self._end()
                raise DeliveryError(f"the stylesheet was stopped: {ended}", is_final=True) from None
            except _NotStarted:
                self._end()
                raise DeliveryError("the process for stylesheets did not start") from None
        if "error" in reply:
            place = f"line {reply['line']}: " if reply["line"] else ""
            raise DeliveryError(f"the stylesheet failed: {place}{reply['error']}", is_final=True)
        return Transformed(reply["output"], reply["media_type"])

    def close(self) -> None:
        with self._lock:
            self._end()

    def __enter__(self) -> Transformer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _asked(self, request: dict[str, Any]) -> dict[str, Any]:
        process = self._running()
        body = json.dumps(request).encode("utf-8")
        try:
            _pipe(process.stdin).write(struct.pack(">I", len(body)) + body)
            _pipe(process.stdin).flush()
        except OSError:
            raise _Ended("its process ended") from None
        # Twice the time by the wall clock: the processor may be busy with others.
        return self._reply(process, 2 * self._limits.seconds + 1, "it needs too much time")

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is not None and self._process.poll() is None:
            return self._process
        self._end()
        self._process = subprocess.Popen(
            [sys.executable, "-m", "feedweir.deliver.transform_worker", str(self._limits.memory_bytes)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={"PYTHONPATH": str(Path(feedweir.__file__).parent.parent), "PYTHONDONTWRITEBYTECODE": "1"},
            cwd="/",
            start_new_session=True,
        )
        try:
            self._reply(self._process, self._limits.start_s, "")
        except _Ended:
            raise _NotStarted from None
        return self._process

    def _reply(self, process: subprocess.Popen[bytes], seconds: float, complaint: str) -> dict[str, Any]:
        until = time.monotonic() + seconds
        head = _read(_pipe(process.stdout).fileno(), 4, until, complaint)
        body = _read(_pipe(process.stdout).fileno(), struct.unpack(">I", head)[0], until, complaint)
        reply: dict[str, Any] = json.loads(body)
        return reply

    def _end(self) -> None:
        if self._process is None:
            return
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with suppress(OSError):
                    pipe.close()
        self._process = None


def _read(number: int, size: int, until: float, complaint: str) -> bytes:
    parts = bytearray()
    waiting = select.poll()  # unlike select() it takes any number, however many files are open
    waiting.register(number, select.POLLIN)
    while len(parts) < size:
        if not waiting.poll(1_000 * max(0.0, until - time.monotonic())):
            raise _Ended(complaint)
        part = os.read(number, size - len(parts))
        if not part:
            raise _Ended("it needs too much time or memory")
        parts += part
    return bytes(parts)


def _pipe(stream: Any) -> Any:
    assert stream is not None
    return stream
