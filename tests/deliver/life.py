"""The process under test: born, killed, born again, and watched while the test waits for something."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).parents[2]
_LOOK_S = 0.05
_TAIL = 6_000


class Life:
    """`patience_s` is how long it may take until what is waited for comes a step nearer."""

    def __init__(self, data: Path, *arguments: object, port: int, patience_s: float) -> None:
        words = map(str, (data, port, *arguments))
        self._command = [sys.executable, "-m", "tests.deliver.living", *words]
        self._log_path = data.parent / "living.log"
        self._log = self._log_path.open("ab")
        self._read = 0
        self._port = port
        self._patience_s = patience_s
        self._process: subprocess.Popen[bytes] | None = None
        self.births = 0

    def begin(self) -> None:
        self.births += 1
        self._process = subprocess.Popen(
            self._command, cwd=ROOT, stdout=self._log, stderr=self._log, start_new_session=True
        )

    def kill(self) -> None:
        """Without a warning, and everything that it started with it."""
        assert self._process is not None
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def is_open(self) -> bool:
        try:
            url = f"http://127.0.0.1:{self._port}/feeds/Everything.rss?limit=1"
            urllib.request.urlopen(url, timeout=5).close()
        except OSError:
            return False
        return True

    def wait(self, is_done: Callable[[], bool], progress: Callable[[], object] = lambda: None) -> None:
        """Until it is done. Fails at once when the process ends by itself or complains, and when nothing moves."""
        pause, last, since = threading.Event(), progress(), time.monotonic()
        while not is_done():
            self._check()
            now = progress()
            if now != last:
                last, since = now, time.monotonic()
            if time.monotonic() - since > self._patience_s:
                raise AssertionError(f"nothing moved any more at {last}\n{self._tail()}")
            pause.wait(_LOOK_S)

    def _check(self) -> None:
        assert self._process is not None
        if self._process.poll() is not None:
            raise AssertionError(f"the process ended by itself: {self._process.returncode}\n{self._tail()}")
        with self._log_path.open("rb") as log:
            log.seek(self._read)
            new = log.read()
        self._read += new.rfind(b"\n") + 1
        if b"Traceback" in new:
            raise AssertionError(f"the process complained\n{self._tail()}")

    def _tail(self) -> str:
        return self._log_path.read_bytes()[-_TAIL:].decode("utf-8", "replace")

    def __enter__(self) -> Life:
        self.begin()
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()
        self._log.close()
