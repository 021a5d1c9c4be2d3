"""What stands still is decided from values and told everywhere, with the error it stands still for."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedweir.health.loop import Loop
from feedweir.health.standstill import (
    RESTARTS_TO_GIVE_UP,
    RESTARTS_TO_TELL,
    Bounds,
    Signs,
    Trouble,
    judge,
    pause_before_restart_s,
)
from feedweir.logs.batches import Manifest
from feedweir.pipeline.charge import in_charge
from feedweir.pipeline.local_runner import LocalRunner
from feedweir.service import daemon as watching
from feedweir.service.daemon import Daemon
from feedweir.service.installation import Weir
from feedweir.service.local_backend import LocalBackend
from feedweir.service.service_note import signs_from_outside, write_note

NOON = datetime(2026, 6, 1, 12, tzinfo=UTC)
BOUNDS = Bounds(late=timedelta(minutes=5))
DOCUMENT = b"<rss version='2.0'><channel><item><guid>%d</guid><title>x</title></item></channel></rss>"


def after(minutes: float) -> datetime:
    return NOON + timedelta(minutes=minutes)


def seen(now: datetime, **signs: Any) -> tuple[bool, bool, tuple[str, ...]]:
    verdict = judge(Signs(**{"started": NOON, **signs}), now, BOUNDS)
    return verdict.is_healthy, verdict.is_ready, verdict.sentences()


def _reasons(**signs: Any) -> tuple[str, ...]:
    return judge(Signs(**{"started": NOON, **signs}), NOON, BOUNDS).reasons()


def test_an_idle_installation_is_well_for_ever() -> None:
    assert seen(after(10_000)) == (True, True, ())


def test_one_that_does_not_run_is_not_ready() -> None:
    assert seen(after(0), is_running=False) == (True, False, ())
    assert seen(after(0), started=None) == (True, False, ())


def test_one_that_does_not_run_says_why() -> None:
    failed = Trouble(what="the pipeline fails", since=NOON, error="ValueError: bad")
    assert _reasons(started=None) == ("no pipeline was started",)
    assert _reasons(is_running=False) == ("the pipeline is being started",)
    assert _reasons(is_running=False, failed=failed) == (
        "the pipeline stopped and will be restarted: ValueError: bad",
    )


@given(
    started=st.sampled_from([None, NOON]),
    is_running=st.booleans(),
    waiting_since=st.sampled_from([None, NOON]),
    restarts=st.integers(0, 2 * RESTARTS_TO_GIVE_UP),
    failed=st.sampled_from([None, Trouble(what="the pipeline fails", since=NOON, error="x")]),
    minutes=st.integers(0, 60),
)
def test_what_is_not_ready_has_a_reason_and_what_is_ready_has_none(minutes: int, **signs: Any) -> None:
    verdict = judge(Signs(**signs), after(minutes), BOUNDS)
    assert verdict.is_ready == (not verdict.reasons())


def test_readyz_says_why_until_the_pipeline_runs(house: Any) -> None:
    _, weir, _, service = house
    service._query = None
    health = LocalBackend(weir, service).health()
    assert (health.is_ready, health.reasons) == (False, ("the pipeline is being started",))


def test_documents_that_wait_too_long_are_told_and_then_the_process_is_given_up() -> None:
    assert seen(after(5), waiting_since=NOON) == (True, True, ())
    told = ("documents have been waiting to be published since 2026-06-01 12:00:00 UTC",)
    assert seen(after(6), waiting_since=NOON) == (True, False, told)
    assert seen(after(15), waiting_since=NOON) == (True, False, told)
    assert seen(after(16), waiting_since=NOON) == (False, False, told)


def test_a_backlog_that_shrinks_is_late_and_not_stuck() -> None:
    is_healthy, is_ready, _ = seen(after(60), waiting_since=NOON, published=after(59))
    assert (is_healthy, is_ready) == (True, False)


def test_what_waited_while_nothing_ran_is_given_its_time_after_the_start() -> None:
    assert seen(after(4), waiting_since=after(-600)) == (True, True, ())
    assert seen(after(6), waiting_since=after(-600))[1] is False


def test_documents_that_nobody_runs_for_are_told() -> None:
    _, _, told = seen(after(6), started=None, is_running=False, waiting_since=NOON)
    assert told == ("documents have been waiting, with no process running, since 2026-06-01 12:00:00 UTC",)


def test_restarts_in_a_row_are_told_with_their_error() -> None:
    failed = Trouble(what="the pipeline fails", since=NOON, error="ValueError: bad")
    assert seen(after(1), restarts=RESTARTS_TO_TELL - 1, failed=failed) == (True, True, ())
    is_healthy, is_ready, (told,) = seen(after(1), restarts=RESTARTS_TO_TELL, failed=failed)
    assert (is_healthy, is_ready) == (True, False)
    assert told.endswith("3 times since 2026-06-01 12:00:00 UTC: ValueError: bad")
    assert seen(after(1), restarts=RESTARTS_TO_GIVE_UP, failed=failed)[0] is False


def test_work_beside_the_pipeline_is_told_by_name() -> None:
    troubles = (Trouble(what="fetching fails", since=NOON, error="OSError: full"),)
    assert seen(after(5), troubles=troubles) == (True, True, ())
    told = ("fetching fails since 2026-06-01 12:00:00 UTC: OSError: full",)
    assert seen(after(6), troubles=troubles) == (True, False, told)


def test_restarts_back_off_up_to_a_minute() -> None:
    assert [pause_before_restart_s(count) for count in (0, 1, 2, 5, 6, 7, 10_000)] == [
        1,
        2,
        4,
        32,
        60,
        60,
        60,
    ]


class Clock:
    def __init__(self) -> None:
        self.now = NOON

    def __call__(self) -> datetime:
        return self.now


class Ended:
    """A query that ends as soon as it is started."""

    isActive = False

    def stop(self) -> None: ...

    def kill(self) -> None: ...

    def exception(self) -> Exception:
        return RuntimeError("ValueError: no feed at https://x.example/?apikey=hush")


class Pipeline:
    """Starts queries that end at once; publishes what has landed only when it is told to."""

    def __init__(self, weir: Weir) -> None:
        self.weir = weir
        self.starts = 0
        self.commit: Callable[[Manifest], None] = lambda _: None

    def __call__(self, commit: Callable[[Manifest], None]) -> Ended:
        self.starts += 1
        self.commit = commit
        return Ended()

    def publish(self) -> None:
        LocalRunner(self.weir.directory, self.commit).run_available()


@pytest.fixture
def house(tmp_path: Path) -> Any:
    clock = Clock()
    with Weir.open(tmp_path / "data", clock=clock) as weir:
        weir.execute("register feed push://local as Alerts")
        pipeline = Pipeline(weir)
        service = Daemon(weir, pipeline, None, bounds=BOUNDS)
        # Everything but the thread: its looks are made by hand.
        service._started = clock()
        weir.refresh_set()
        service._query = pipeline(service._committed)
        yield clock, weir, pipeline, service


def look_for(service: Daemon, clock: Clock, seconds: int) -> None:
    for _ in range(seconds * 2):
        clock.now += timedelta(seconds=0.5)
        service._restart_if_ended()
        service._write_note()


def test_a_pipeline_that_fails_for_ever_is_started_ever_more_seldom_and_shown_by_every_door(
    house: Any,
) -> None:
    clock, weir, pipeline, service = house
    backend = LocalBackend(weir, service)
    look_for(service, clock, 20)
    # 1 + 2 + 4 + 8 seconds.
    assert pipeline.starts == 1 + 4
    health = backend.health()
    assert not health.is_ready
    pause, told = health.reasons
    assert pause.startswith("the pipeline stopped and will be restarted: ValueError: no feed")
    assert "restarted 4 times" in told
    assert "ValueError: no feed at https://x.example/?apikey=***" in told
    look_for(service, clock, 3_600)
    assert pipeline.starts < 75
    assert not backend.health().is_healthy
    with in_charge(weir.directory.root):
        outside = signs_from_outside(weir.directory.root, weir.log, weir.store)
    assert judge(outside, clock(), BOUNDS) == service.verdict()


def test_a_published_batch_makes_everything_well_again(house: Any) -> None:
    clock, weir, pipeline, service = house
    look_for(service, clock, 20)
    weir.push("Alerts", DOCUMENT % 1)
    pipeline.publish()
    assert service.verdict().troubles == ()
    assert service.signs().published == clock()
    last = weir.store.manifests()[0]
    look_for(service, clock, 20)
    service._committed(last)
    assert service.signs().restarts > 0, "what is committed again is no progress"


def test_how_long_documents_wait_is_seen_in_the_logs(house: Any) -> None:
    _, weir, pipeline, service = house
    assert service.signs().waiting_since is None
    segment = weir.push("Alerts", DOCUMENT % 1)
    os.utime(weir.log.path(segment), (NOON.timestamp(), NOON.timestamp()))
    weir.push("Alerts", DOCUMENT % 2)
    assert service.signs().waiting_since == NOON
    assert signs_from_outside(weir.directory.root, weir.log, weir.store).waiting_since == NOON
    pipeline.publish()
    assert service.signs().waiting_since is None


def test_a_note_is_believed_only_while_its_writer_lives(house: Any) -> None:
    _, weir, _, _ = house
    root = weir.directory.root
    write_note(root, Signs(started=NOON, restarts=7))
    assert signs_from_outside(root, weir.log, weir.store) == Signs(started=None, is_running=False)
    with in_charge(root):
        assert signs_from_outside(root, weir.log, weir.store) == Signs(started=NOON, restarts=7)
        (root / "service.json").write_text("{")
        assert signs_from_outside(root, weir.log, weir.store) == Signs(started=None)


class Dying(Loop):
    def __init__(self) -> None:
        super().__init__("dying", "dying fails")
        self.has_ended = threading.Event()

    def _run(self) -> None:
        raise RuntimeError("out of breath")


def test_a_loop_whose_thread_ended_is_told_by_name(house: Any, caplog: pytest.LogCaptureFixture) -> None:
    clock, _, _, service = house
    loop = Dying()
    service.watch(loop)
    loop.start()
    loop._thread.join(30)
    (trouble,) = service.signs().troubles
    assert (trouble.what, trouble.error) == ("dying fails", "RuntimeError: out of breath")
    clock.now = trouble.since + timedelta(minutes=6)
    assert any("dying fails" in one for one in service.verdict().sentences())


def test_a_watch_that_fails_is_told_until_it_does_well(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watching, "_TICK_S", 0.001)
    has_failed, may_pass = threading.Event(), threading.Event()

    class Running(Ended):
        isActive = True

    with Weir.open(tmp_path) as weir:
        service = Daemon(weir, lambda _: Running(), None)
        service.start()

        def refresh() -> int:
            if may_pass.is_set():
                return 0
            if service.signs().troubles:
                has_failed.set()
            raise OSError("no space left on device")

        monkeypatch.setattr(weir, "refresh_set", refresh)
        assert has_failed.wait(30)
        assert "no space left" in service.signs().troubles[0].error
        may_pass.set()
        for _ in range(10_000):
            if not service.signs().troubles:
                break
            threading.Event().wait(0.001)
        service.stop()
        assert service.signs().troubles == ()


class Hanging(Ended):
    """A query whose process answers nobody until it is killed."""

    def __init__(self) -> None:
        self.was_asked, self.was_killed = threading.Event(), threading.Event()

    @property
    def isActive(self) -> bool:  # type: ignore[override]
        self.was_asked.set()
        self.was_killed.wait(30)
        raise OSError("the connection was closed")

    def kill(self) -> None:
        self.was_killed.set()


def test_health_answers_while_spark_does_not_and_who_stops_it_is_not_held_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watching, "_TICK_S", 0.001)
    monkeypatch.setattr(watching, "_ANSWERS_WITHIN_S", 0.001)
    clock = Clock()
    with Weir.open(tmp_path, clock=clock) as weir:
        weir.execute("register feed push://local as Alerts")
        query = Hanging()
        service = Daemon(weir, lambda _: query, None, bounds=BOUNDS)
        service.start()
        assert query.was_asked.wait(30)
        backend = LocalBackend(weir, service)
        assert backend.health().is_ready
        clock.now += timedelta(minutes=6)
        health = backend.health()
        assert (health.is_ready, health.is_healthy) == (False, True)
        assert health.reasons == ("Spark does not answer since 2026-06-01 12:00:00 UTC",)
        os.utime(weir.log.path(weir.push("Alerts", DOCUMENT % 1)), (NOON.timestamp(), NOON.timestamp()))
        clock.now += timedelta(minutes=10)
        assert not backend.health().is_healthy
        assert not query.was_killed.is_set()
        service.stop()
        assert query.was_killed.is_set()
