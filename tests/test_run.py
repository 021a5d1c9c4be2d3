"""The whole system as a process: it fills the sample's feeds, stops cleanly, and goes on where it stopped."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.request import Request, urlopen

import pytest

from tests.spark.test_kill import ROOT


def free_ports(count: int) -> list[int]:
    sockets = [socket.socket() for _ in range(count)]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


class Run:
    """`feedweir run --sample` in a directory."""

    def __init__(self, directory: Path, port: int, sample_port: int) -> None:
        self.url = f"http://127.0.0.1:{port}"
        program = "from feedweir.cli import main; main()"
        self._process = subprocess.Popen(
            [sys.executable, "-c", program, "--data", str(directory), "run", "--sample", "--port", str(port)],
            cwd=ROOT,
            env={**_environment(), "FEEDWEIR_SAMPLE_PORT": str(sample_port)},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    def wait_for(self, words: str) -> str:
        """Read what it says until it says this; all of it."""
        assert self._process.stdout
        said = ""
        for line in self._process.stdout:
            said += line
            if re.search(words, line):
                return said
        raise AssertionError(f"it never said {words!r}:\n{said}")

    def stop(self) -> None:
        """As Ctrl-C does."""
        self._process.send_signal(signal.SIGINT)
        self._ends_well()

    def stop_all(self) -> None:
        """As a supervisor does, which asks every process to stop, Spark's included."""
        os.killpg(self._process.pid, signal.SIGTERM)
        self._ends_well()

    def _ends_well(self) -> None:
        assert "Traceback" not in self.wait_for("Stopped")
        assert self._process.wait() == 0

    def kill_java(self) -> None:
        """As a system does that is short of memory."""
        children = Path(f"/proc/{self._process.pid}/task/{self._process.pid}/children").read_text().split()
        (java,) = [pid for pid in children if Path(f"/proc/{pid}/comm").read_text() == "java\n"]
        os.kill(int(java), signal.SIGKILL)

    def kill(self) -> None:
        """After a failed test nothing may be left running."""
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()

    def get(self, path: str, **headers: str) -> bytes:
        with urlopen(Request(self.url + path, headers=headers)) as answer:
            return bytes(answer.read())

    def post(self, path: str, body: str) -> dict[str, object]:
        with urlopen(Request(self.url + path, data=body.encode(), method="POST")) as answer:
            return dict(json.loads(answer.read()))

    def ids(self, feed: str) -> list[str]:
        return [entry["id"] for entry in json.loads(self.get(f"/feeds/{feed}.json?limit=1000"))["items"]]


def _environment() -> dict[str, str]:
    return {**os.environ, "PYTHONUNBUFFERED": "1"}


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[[], Run]]:
    ports = free_ports(2)
    runs: list[Run] = []

    def started() -> Run:
        runs.append(Run(tmp_path / "data", *ports))
        return runs[-1]

    yield started
    for run in runs:
        run.kill()


def test_the_sample_fills_stops_and_goes_on(start: Callable[[], Run], tmp_path: Path) -> None:
    run = start()
    run.wait_for(r"published \d+ new items")
    first = run.ids("Water")
    assert first
    assert b"<rss" in run.get("/feeds/Water.rss")
    assert b"<feed" in run.get("/feeds/Water.atom")
    assert b"HighWater" in run.get("/", Accept="text/html")
    assert json.loads(run.get("/healthz"))["status"] == "ok"
    assert b"feedweir_items_total" in run.get("/metrics")
    run.post(
        "/v1/statements",
        "create feed Everything from *;subscribe to Everything output file 'everything.rss'",
    )
    run.wait_for(r"published \d+ new items")
    run.stop_all()

    run = start()
    run.wait_for(r"published \d+ new items")
    again = run.ids("Water")
    assert len(again) == len(set(again)) >= len(first)
    assert set(first) <= set(again)
    # A batch that the first run had begun is finished with the set it was begun with; the next ones have the new feed.
    while not run.ids("Everything"):
        run.wait_for(r"published \d+ new items")
    output = tmp_path / "data" / "outputs" / "everything.rss"
    while not output.exists():
        run.wait_for(r"published \d+ new items")
    run.kill_java()
    run.wait_for(r"the pipeline stopped and will be restarted in \d+ s: the Java process of Spark ended")
    run.wait_for(r"published \d+ new items")
    assert json.loads(run.get("/healthz"))["status"] == "ok"
    run.stop()
    assert "<rss" in output.read_text()
