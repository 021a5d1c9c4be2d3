"""A whole installation whose pipeline lags behind: its door, its fetching and what it says of itself."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random

import pytest

from feedweir.acquire.fetch.hosts import HostRules
from feedweir.config import Settings
from feedweir.logs.backlog_meter import BacklogMeter
from feedweir.logs.landing import LandingLog
from feedweir.pipeline.local_runner import LocalRunner
from feedweir.sample.origin import Origin
from feedweir.sample.sample_statements import sample_statements
from feedweir.service.composition import Commit, Installation, Variations
from feedweir.service.daemon import RunningQuery
from feedweir.service.installation import Weir
from tests.web.web_client import Client, Reply

MOST = 200_000


class Clock:
    """Time that goes on when the test says so."""

    def __init__(self) -> None:
        self.now = datetime(2026, 6, 1, 12, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now

    def advance(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(data=tmp_path / "data", port=0, send=False, allow_private=True, backlog_bytes=MOST)


@pytest.fixture
def weir(settings: Settings, clock: Clock) -> Iterator[Weir]:
    with Weir.configured(settings, clock=clock) as weir:
        yield weir


@pytest.fixture
def installation(weir: Weir, settings: Settings) -> Iterator[Installation]:
    """Its door is open, and nothing publishes but `publish`."""
    calm = Variations(engine=_no_engine, hosts=HostRules(max_concurrent=100, spacing_s=0))
    with Installation(weir, settings, calm) as installation:
        weir.execute("register feed push://post as Post")
        weir.refresh_set()
        installation.serve()
        yield installation


def _no_engine(_weir: Weir, _settings: Settings, _commit: Commit, _opened: ExitStack) -> RunningQuery:
    raise AssertionError("nobody starts it")


def push(installation: Installation, number: int) -> Reply:
    """Text that no compression makes smaller than half."""
    text = Random(number).randbytes(10_000).hex()
    return Client(installation.server.port).post(
        "/push/Post", json.dumps({"id": number, "title": text}), Content_Type="application/json"
    )


def fill(installation: Installation, clock: Clock) -> int:
    """Push until one is refused; how many were taken."""
    for number in range(100):
        clock.advance(1)
        if push(installation, number).status == 429:
            return number
    raise AssertionError("nothing was ever refused")


def publish(weir: Weir, batches: int) -> None:
    runner = LocalRunner(weir.directory, weir.commit, max_segments=1)
    for _ in range(batches):
        assert runner.run_batch() is not None


def test_pushes_wait_while_too_much_waits_and_none_is_lost(
    installation: Installation, weir: Weir, clock: Clock
) -> None:
    taken = fill(installation, clock)
    landed = weir.log.latest()
    assert landed == taken > 10
    refused = push(installation, taken)
    assert (refused.status, refused.headers["Retry-After"]) == (429, "60")  # nothing was published yet
    assert weir.log.latest() == landed

    clock.advance(10)
    publish(weir, 4)
    clock.advance(1)
    assert push(installation, taken).status == 202
    assert fill_again(installation, clock, first=taken + 1) <= 4
    told = push(installation, 99)
    assert told.status == 429
    assert 1 <= int(told.headers["Retry-After"]) < 300  # by the pace of the last minute

    publish(weir, weir.log.latest() - weir.store.latest())
    clock.advance(1)
    assert push(installation, 99).status == 202
    publish(weir, 1)
    assert weir.feed_views.count(kind="source") == 1
    assert len(weir.items("Post", 1_000)) == weir.log.latest()


def fill_again(installation: Installation, clock: Clock, first: int) -> int:
    for number in range(first, first + 20):
        clock.advance(1)
        if push(installation, number).status == 429:
            return number - first
    raise AssertionError("nothing was refused any more")


def test_metrics_say_how_much_waits_and_that_fetching_stands(
    installation: Installation, weir: Weir, clock: Clock
) -> None:
    assert _metric(installation, "feedweir_fetch_share") == 1
    fill(installation, clock)
    clock.advance(1)
    waiting = weir.log.bytes_in(0, weir.log.latest())
    assert _metric(installation, "feedweir_bytes_waiting") == waiting >= MOST
    assert _metric(installation, "feedweir_fetch_share") == 0
    assert _metric(installation, "feedweir_documents_waiting") == weir.log.latest()
    assert _metric(installation, 'feedweir_kept_bytes{kind="landing"}') >= waiting


def _metric(installation: Installation, name: str) -> float:
    text = Client(installation.server.port).get("/metrics").body.decode()
    (line,) = (line for line in text.splitlines() if line.startswith(f"{name} "))
    return float(line.split()[1])


def test_what_a_measurement_costs_does_not_grow_with_what_waits(
    installation: Installation, weir: Weir, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken = fill(installation, clock)
    looked: list[int] = []
    plain = LandingLog._size

    def counted(log: LandingLog, segment: int) -> int:
        looked.append(segment)
        return plain(log, segment)

    monkeypatch.setattr(LandingLog, "_size", counted)
    meter = BacklogMeter(weir.log, weir.store, clock, MOST)
    for _ in range(50):
        clock.advance(1)
        assert meter.pressure().wait_s
    assert looked == list(range(1, taken + 1))


def test_nothing_is_fetched_while_too_much_waits_and_everything_afterwards(
    installation: Installation, weir: Weir, clock: Clock
) -> None:
    origin = Origin(clock)
    origin.start()
    try:
        weir.execute(sample_statements(origin.urls))
        weir.refresh_set()
        loop = installation.service._fetch_loop
        assert loop is not None
        fill(installation, clock)
        clock.advance(1)
        assert loop.fetch_once() == 0
        publish(weir, weir.log.latest())
        polled = 0
        for _ in range(100):
            clock.advance(1)
            polled += loop.fetch_once()
        assert polled >= len(origin.urls)
    finally:
        origin.stop()
