"""One process for stylesheets: started when needed, restarted after it died, ended when it takes too long."""

from __future__ import annotations

import json
import os
import select
import signal
import struct
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import feedweir
from feedweir.errors import DeliveryError

_OUT_OF_TIME = "it takes too much time"
_OUT_OF_MEMORY = "its process died, probably because it used too much memory"


@dataclass(frozen=True, slots=True, kw_only=True)
class TransformLimits:
    """What one transformation may cost."""

    seconds: int = 5
    memory_bytes: int = 512 << 20
    max_output_bytes: int = 4 << 20
    start_s: int = 30
    """How long the process may take to start, on a busy machine."""


class _Ended(Exception):
    """The process died, or was ended because it was too slow."""


class _NotStarted(Exception):
    """The process did not start, which is not the fault of a stylesheet."""


class TransformProcess:
    """Asked by one thread at a time."""

    def __init__(self, limits: TransformLimits) -> None:
        self._limits = limits
        self._process: subprocess.Popen[bytes] | None = None

    def ask(self, request: dict[str, Any]) -> dict[str, Any]:
        """The process's answer. Raises DeliveryError, final if the stylesheet is to blame."""
        limits = {"seconds": self._limits.seconds, "max_bytes": self._limits.max_output_bytes}
        try:
            return self._answer(request | limits)
        except _Ended as ended:
            complaint = _OUT_OF_TIME if self.end() == -signal.SIGXCPU else str(ended)
            raise DeliveryError(f"the stylesheet was stopped: {complaint}", is_final=True) from None
        except _NotStarted:
            self.end()
            raise DeliveryError("the process for stylesheets did not start") from None

    def end(self) -> int:
        """End the process, if it runs; returns its exit code."""
        if self._process is None:
            return 0
        self._process.kill()
        code = self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with suppress(OSError):
                    pipe.close()
        self._process = None
        return code

    def _answer(self, request: dict[str, Any]) -> dict[str, Any]:
        process = self._running()
        body = json.dumps(request).encode("utf-8")
        try:
            _pipe(process.stdin).write(struct.pack(">I", len(body)) + body)
            _pipe(process.stdin).flush()
        except OSError:
            raise _Ended(_OUT_OF_MEMORY) from None
        # Twice the processor time: the machine may be busy.
        return self._reply(process, 2 * self._limits.seconds + 1, _OUT_OF_TIME)

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is not None and self._process.poll() is None:
            return self._process
        self.end()
        self._process = subprocess.Popen(
            [
                sys.executable,
                "-m",
                "feedweir.deliver.transforms.transform_worker",
                str(self._limits.memory_bytes),
            ],
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


def _read(number: int, size: int, until: float, complaint: str) -> bytes:
    parts = bytearray()
    waiting = select.poll()  # unlike select() it takes any number, however many files are open
    waiting.register(number, select.POLLIN)
    while len(parts) < size:
        if not waiting.poll(1_000 * max(0.0, until - time.monotonic())):
            raise _Ended(complaint)
        part = os.read(number, size - len(parts))
        if not part:
            raise _Ended(_OUT_OF_MEMORY)
        parts += part
    return bytes(parts)


def _pipe(stream: Any) -> Any:
    assert stream is not None
    return stream
