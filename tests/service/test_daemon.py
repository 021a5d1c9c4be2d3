"""The watch beside the pipeline goes on, whatever one look runs into."""

from __future__ import annotations

import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from feedweir.errors import EngineError, SettingsError
from feedweir.service import daemon as watching
from feedweir.service.daemon import Daemon, Tidied, is_time_to_tidy, reason_of
from feedweir.service.installation import Weir


class Idle:
    """A query that runs and does nothing."""

    isActive = True

    def stop(self) -> None:
        self.isActive = False

    def kill(self) -> None: ...

    def exception(self) -> None:
        return None


def test_a_look_that_fails_is_not_the_last(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watching, "_TICK_S", 0.001)
    has_looked_again = threading.Event()
    with Weir.open(tmp_path / "data") as weir:
        service = Daemon(weir, lambda _: Idle(), None)
        service.start()
        looks = iter([OSError("no space left on device"), None])

        def look() -> int:
            error = next(looks, None)
            if error is not None:
                raise error
            has_looked_again.set()
            return 0

        monkeypatch.setattr(weir, "refresh_set", look)
        assert has_looked_again.wait(30)
        service.stop()


def test_a_pipeline_that_is_killed_while_it_is_started_is_started_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watching, "_TICK_S", 0.001)
    is_killed, goes_on, runs = threading.Event(), threading.Event(), threading.Event()
    started: list[object] = []

    def pause(restarts: int) -> float:
        is_killed.set()
        goes_on.wait(30)
        return 0.0

    monkeypatch.setattr(watching, "pause_before_restart_s", pause)

    def start(commit: object) -> Idle:
        started.append(commit)
        if len(started) < 3:
            raise EngineError("the Java process ended while Spark was being started")
        runs.set()
        return Idle()

    with Weir.open(tmp_path / "data") as weir:
        service = Daemon(weir, start, None)
        service.start()
        assert is_killed.wait(30)
        verdict = service.verdict()
        goes_on.set()
        assert runs.wait(30)
        service.stop()
    assert not verdict.is_ready
    assert "the Java process ended while Spark was being started" in verdict.pause


def test_a_pipeline_that_can_never_be_started_ends_the_process(tmp_path: Path) -> None:
    def start(commit: object) -> Idle:
        raise SettingsError("there is no such master")

    with Weir.open(tmp_path / "data") as weir, pytest.raises(SettingsError):
        Daemon(weir, start, None).start()


def test_counters_follow_within_a_minute_however_few_batches_there_are() -> None:
    noon = datetime(2026, 1, 1, 12, tzinfo=UTC)
    last = Tidied(upto=7, batches=3, at=noon)
    assert is_time_to_tidy(Tidied(), Tidied(upto=7, batches=0, at=noon))  # left by an earlier process
    assert not is_time_to_tidy(last, Tidied(upto=8, batches=4, at=noon + timedelta(seconds=59)))
    assert is_time_to_tidy(last, Tidied(upto=8, batches=4, at=noon + timedelta(seconds=60)))
    assert is_time_to_tidy(last, Tidied(upto=99, batches=35, at=noon))
    assert not is_time_to_tidy(last, Tidied(upto=7, batches=3, at=noon + timedelta(days=1)))


def test_the_reason_of_a_stop_is_the_error_that_began_it() -> None:
    proxied = (
        "An exception was raised by the Python Proxy. Return Message: Traceback (most recent call last):\n"
        '  File "worker.py", line 74, in run\n'
        "feedweir.errors.CompiledSetError: index.arrays of 7 is damaged\n\n\tat org.apache.spark.Task.run\n"
    )
    assert (
        reason_of(RuntimeError(proxied)) == "feedweir.errors.CompiledSetError: index.arrays of 7 is damaged"
    )
    assert reason_of(RuntimeError("one line\nand more")) == "one line"
    assert reason_of(None) == "no reason was given"
