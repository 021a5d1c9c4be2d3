"""A running installation: `feedweir run` as a process of its own, driven from outside as users and accidents do.

Its processes are looked at through `/proc`.
"""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPException
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

ROOT = Path(__file__).parents[1]
_PROGRAM = "from feedweir.cli import main; main()"
_STARTS_WITHIN_S = 600.0
"""Kernels that were never compiled take minutes."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What the door said; status 0 when it said nothing."""

    status: int
    body: bytes
    took_s: float

    @property
    def is_good(self) -> bool:
        return 200 <= self.status < 300

    def json(self) -> Any:
        return json.loads(self.body)


@dataclass(frozen=True, slots=True)
class Process:
    pid: int
    parent: int
    kind: str
    """`main`, `java`, `worker`, `parser` or `other`."""
    own_bytes: int
    """What only processes hold: without the pages of files that are mapped, which the system may drop at any time."""
    rss_bytes: int


class Installation:
    """One data directory, whose process is started, killed and started again. Use as a context manager."""

    def __init__(self, directory: Path, **settings: object) -> None:
        self.directory = directory
        self.data = str(directory)
        self.log = directory.with_suffix(".log")
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self._settings = {f"FEEDWEIR_{name.upper()}": str(value) for name, value in settings.items()}
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Installation:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    def start(self, **settings: object) -> None:
        """Start it, from now on with these settings."""
        self._settings |= {f"FEEDWEIR_{name.upper()}": str(value) for name, value in settings.items()}
        command = [
            sys.executable,
            "-c",
            _PROGRAM,
            "--data",
            self.data,
            "run",
            "--port",
            str(self.port),
        ]
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                command,
                cwd=ROOT,
                env={**os.environ, **self._settings, "PYTHONUNBUFFERED": "1"},
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def stop(self) -> bool:
        """Ask it to stop; whether it ended well."""
        if self._process is None:
            return True
        self._process.send_signal(signal.SIGTERM)
        try:
            code = self._process.wait(120)
        except subprocess.TimeoutExpired:
            self.kill()
            return False
        self._process = None
        return code == 0

    def kill(self) -> None:
        """End its process and Spark's at once, as a loss of power does; the others end with them."""
        if self._process is None:
            return
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._process = None

    def kill_one(self, kind: str) -> bool:
        """End a process of a kind, as a system does that is short of memory; False when there is none."""
        for process in self.processes():
            if process.kind == kind:
                os.kill(process.pid, signal.SIGKILL)
                return True
        return False

    def processes(self) -> list[Process]:
        return [] if self._process is None else process_tree(self._process.pid)

    def has_ended(self) -> bool:
        return self._process is None or self._process.poll() is not None

    def get(self, path: str, timeout_s: float = 10) -> Answer:
        return self._ask(Request(self.url + path), timeout_s)

    def post(self, path: str, body: bytes, media_type: str = "", timeout_s: float = 60) -> Answer:
        headers = {"Content-Type": media_type or "application/octet-stream"}
        return self._ask(Request(self.url + path, data=body, headers=headers, method="POST"), timeout_s)

    def execute(self, statements: str) -> None:
        answer = self.post("/v1/statements", statements.encode(), "text/plain")
        if not answer.is_good:
            raise RuntimeError(f"statements were refused: {answer.body.decode()[:500]}")

    def is_ready(self) -> bool:
        return self.get("/readyz").status == 200

    def wait_until_ready(self, limit_s: float = _STARTS_WITHIN_S) -> float:
        """How long that took; raises TimeoutError."""
        return waited(lambda: self.has_ended() or self.is_ready(), limit_s)

    def all_published(self) -> bool:
        """Whether everything that has landed is published."""
        answer = self.get("/healthz")
        if not answer.status:
            return False
        facts = answer.json()
        return bool(facts["landed"] == facts["published"])

    def _ask(self, request: Request, timeout_s: float) -> Answer:
        begun = time.perf_counter()
        try:
            with urlopen(request, timeout=timeout_s) as answer:
                status, body = answer.status, answer.read()
        except HTTPError as error:
            status, body = error.code, error.read()
        except (OSError, HTTPException):  # it was killed before, or while it answered
            status, body = 0, b""
        return Answer(status, body, time.perf_counter() - begun)


def waited(is_there: Callable[[], bool], limit_s: float, every_s: float = 0.1) -> float:
    """Wait for something; how long it took. Raises TimeoutError."""
    begun = time.monotonic()
    while not is_there():
        if time.monotonic() - begun > limit_s:
            raise TimeoutError(f"not within {limit_s:g} s")
        time.sleep(every_s)
    return time.monotonic() - begun


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


# Processes


def process_tree(root: int) -> list[Process]:
    """A process and all that descend from it."""
    everyone = {pid: parent for pid in _pids() if (parent := _parent_of(pid)) is not None}
    family, found = {root}, [root]
    while found:
        found = [pid for pid, parent in everyone.items() if parent in family and pid not in family]
        family.update(found)
    processes = (_process(pid, everyone.get(pid, 0), is_root=pid == root) for pid in sorted(family))
    return [process for process in processes if process is not None]


def _pids() -> Iterator[int]:
    return (int(name) for name in os.listdir("/proc") if name.isdigit())


def _parent_of(pid: int) -> int | None:
    try:
        # A name may hold anything, brackets included: what follows the last one is what counts.
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return None


def _process(pid: int, parent: int, *, is_root: bool) -> Process | None:
    try:
        command = Path(f"/proc/{pid}/cmdline").read_bytes()
        name = Path(f"/proc/{pid}/comm").read_text().strip()
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return None
    sizes = {
        key: 1024 * int(value) for key, value in re.findall(r"^(Rss\w+|VmRSS):\s+(\d+) kB", status, re.M)
    }
    own = sizes.get("RssAnon", 0) + sizes.get("RssShmem", 0)
    kind = "main" if is_root else _kind(name, command)
    return Process(pid, parent, kind, own, sizes.get("VmRSS", 0))


def _kind(name: str, command: bytes) -> str:
    if name == "java":
        return "java"
    if b"feedweir.acquire.parse.parse_worker" in command:
        return "parser"
    return "worker" if b"pyspark" in command else "other"


# What it talks to


@contextmanager
def serving(
    answer: Callable[[BaseHTTPRequestHandler], tuple[int, Mapping[str, str], bytes]],
) -> Iterator[str]:
    """An HTTP server in threads of this process, whose every answer is (status, headers, body); yields its address."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            status, headers, body = answer(self)
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_POST = do_GET

        def log_message(self, *_: object) -> None:
            pass

    class Server(ThreadingHTTPServer):
        request_queue_size = 256

        def handle_error(self, *_: object) -> None:
            """Whoever is killed hangs up."""

    server = Server(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
