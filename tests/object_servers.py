"""Servers of objects for tests, in processes of their own: one that honours 'put if absent', one that does not."""

from __future__ import annotations

import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

_PATIENCE_S = 300.0


class ObjectServer(NamedTuple):
    """A running server with an empty bucket."""

    url: str
    """Of the server."""
    place: str
    process: subprocess.Popen[bytes]

    @property
    def options(self) -> dict[str, str]:
        return {
            "endpoint": self.url,
            "access_key_id": "ann",
            "secret_access_key": "secret",
            "region": "us-east-1",
        }


@contextmanager
def running_moto(port: int = 0) -> Iterator[ObjectServer]:
    """`moto`'s server, which keeps what it is given in memory."""
    chosen = port or _free_port()
    command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(chosen)]
    with _running(command, chosen) as process:
        url = f"http://127.0.0.1:{chosen}"
        request = urllib.request.Request(f"{url}/weir", method="PUT", headers={"Host": "s3.amazonaws.com"})
        urllib.request.urlopen(request).read()
        yield ObjectServer(url, "s3://weir/place", process)


@contextmanager
def running_rclone(directory: Path) -> Iterator[ObjectServer]:
    """`rclone serve s3`, which takes 'put if absent' and overwrites."""
    program = shutil.which("rclone", path=f"{Path(sys.executable).parent}:/usr/bin:/usr/local/bin")
    assert program, "the development dependencies install rclone"
    (directory / "weir").mkdir(parents=True)
    port = _free_port()
    command = [
        program,
        "serve",
        "s3",
        str(directory),
        "--addr",
        f"127.0.0.1:{port}",
        "--auth-key",
        "ann,secret",
    ]
    with _running(command, port) as process:
        yield ObjectServer(f"http://127.0.0.1:{port}", "s3://weir/place", process)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def _running(command: list[str], port: int) -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + _PATIENCE_S
        while True:
            try:
                socket.create_connection(("127.0.0.1", port), timeout=1).close()
                break
            except OSError:
                if process.poll() is not None or time.monotonic() > deadline:
                    raise RuntimeError(f"{command[0]} did not start") from None
                time.sleep(0.05)  # its process says nothing when it is ready
        yield process
    finally:
        process.kill()
        process.wait()
