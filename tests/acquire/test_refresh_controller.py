"""The running system steers itself: by each source's rate and rhythm, within the budget, over restarts."""

from __future__ import annotations

import math
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path

import pytest

from feedweir.acquire.fetch.crawl import CrawlOptions
from feedweir.acquire.fetch.fetch_loop import FetchLoop, turns_of
from feedweir.acquire.fetch.hosts import HostLedger, HostRules
from feedweir.acquire.fetch.transport import Agent
from feedweir.acquire.refresh.controller import rules_of
from feedweir.acquire.refresh.policies import Planned
from feedweir.acquire.refresh.request_budget import Budget
from feedweir.acquire.refresh.source_state import SourceState
from feedweir.errors import SettingsError
from feedweir.logs.batches import Manifest
from feedweir.pipeline.local_runner import LocalRunner
from feedweir.service.installation import Weir

from .scripted_origin import ScriptedOrigin, rss, send

START = datetime(2026, 6, 1, 12, tzinfo=UTC)


class Clock:
    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> datetime:
        return self.now

    def advance(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def weir(tmp_path: Path, clock: Clock) -> Iterator[Weir]:
    with Weir.open(tmp_path, clock=clock) as weir:
        yield weir


@pytest.fixture
def origin() -> Iterator[ScriptedOrigin]:
    with ScriptedOrigin() as origin:
        yield origin


def loop_of(
    weir: Weir, *, policy: str = "planned", budget: Budget | None = None, spacing_s: float = 0.0
) -> FetchLoop:
    rules = rules_of(floor_s=300, interval_s=3_600, policy=policy)
    return FetchLoop(
        weir.catalog,
        weir.log,
        options=CrawlOptions(rules=rules, budget=budget or Budget(per_second=1e6)),
        hosts=HostRules(max_concurrent=100, spacing_s=spacing_s),
        agent=Agent(),
        allow_private=True,
        clock=weir.clock,
        notes=weir.directory.root / "fetching.json",
    )


def fetch_all(loop: FetchLoop, clock: Clock) -> None:
    while loop.fetch_once():
        clock.advance(0.01)


def digest(weir: Weir, loop: FetchLoop) -> None:
    """Run what has landed, and let the loop learn from it."""

    def commit(manifest: Manifest) -> None:
        weir.commit(manifest)
        loop.learn(manifest.sources)

    weir.refresh_set()
    LocalRunner(weir.directory, commit).run_available()


def next_check(weir: Weir, name: str) -> datetime:
    return weir.catalog.sources.named(name).state.next_check_at


def dated(every: timedelta, items: int) -> bytes:
    """A document whose items came at even steps up to now."""
    return rss(*(f"{n}@{format_datetime(START - (n + 0.7) * every)}" for n in range(items)))


def test_a_busy_source_is_asked_sooner_than_a_quiet_one_from_the_first_document_on(
    weir: Weir, origin: ScriptedOrigin, clock: Clock
) -> None:
    weir.execute(
        f"register feed {origin.shows('/busy', dated(timedelta(minutes=5), 30))} as Busy;"
        f"register feed {origin.shows('/quiet', dated(timedelta(hours=37), 10))} as Quiet"
    )
    loop = loop_of(weir)
    fetch_all(loop, clock)
    digest(weir, loop)
    assert next_check(weir, "Busy") < START + timedelta(hours=1)
    assert next_check(weir, "Quiet") > START + timedelta(hours=2)


@pytest.mark.parametrize("policy", ["planned", "proportional", "fixed"])
def test_an_interval_that_was_asked_for_is_kept_to_under_every_policy(
    weir: Weir, origin: ScriptedOrigin, clock: Clock, policy: str
) -> None:
    weir.execute(f"register feed {origin.shows('/a', rss('1'))} as A every 2 hours")
    loop = loop_of(weir, policy=policy)
    fetch_all(loop, clock)
    digest(weir, loop)
    pause = next_check(weir, "A") - clock.now
    assert timedelta(hours=2) <= pause + timedelta(seconds=1) <= timedelta(hours=2, seconds=121)
    weir.execute("alter feed A every 10 minutes")
    assert next_check(weir, "A") - clock.now <= timedelta(minutes=10)
    clock.advance(660)
    fetch_all(loop, clock)
    assert timedelta(minutes=9) < next_check(weir, "A") - clock.now < timedelta(minutes=12)


def test_an_interval_that_is_taken_back_leaves_the_source_to_the_policy(
    weir: Weir, origin: ScriptedOrigin, clock: Clock
) -> None:
    url = origin.shows("/busy", dated(timedelta(minutes=5), 30))
    weir.execute(f"register feed {url} as Busy every 20 days")
    loop = loop_of(weir)
    fetch_all(loop, clock)
    digest(weir, loop)
    assert next_check(weir, "Busy") - clock.now > timedelta(days=19)
    weir.execute("alter feed Busy no every")
    assert "every" not in weir.catalog.feeds.named("Busy").statement
    assert next_check(weir, "Busy") - clock.now <= timedelta(minutes=5)
    clock.advance(300)
    fetch_all(loop, clock)
    assert next_check(weir, "Busy") - clock.now < timedelta(hours=1)


def test_a_small_budget_makes_requests_dear_and_is_kept_to(
    weir: Weir, origin: ScriptedOrigin, clock: Clock
) -> None:
    paths = [origin.shows(f"/{n}", dated(timedelta(minutes=10), 20)) for n in range(12)]
    weir.execute(";".join(f"register feed {url} as S{n}" for n, url in enumerate(paths)))
    rich, poor = loop_of(weir), loop_of(weir, budget=Budget(per_second=1e6, per_day=24))
    fetch_all(rich, clock)
    digest(weir, rich)
    assert isinstance(rich.rules.policy, Planned)
    clock.advance(86_400)
    asked = len(origin.asked)
    fetch_all(poor, clock)
    assert isinstance(poor.rules.policy, Planned)
    assert poor.rules.policy.price > 10 * rich.rules.policy.price
    for _ in range(20):
        clock.advance(3_000)
        fetch_all(poor, clock)
    assert len(origin.asked) - asked <= 24


def test_after_a_pause_what_fell_due_is_spread_and_nothing_is_left_out(weir: Weir, clock: Clock) -> None:
    statements = (f"register feed http://h{n}.example/ as S{n}" for n in range(300))
    weir.execute(";".join(statements))
    clock.advance(3_600)
    budget = Budget(per_second=2)
    assert loop_of(weir, budget=budget).resume() == 300
    due = sorted(record.state.next_check_at for record in weir.catalog.sources.all())
    assert clock.now <= due[0]
    assert due[-1] <= clock.now + timedelta(seconds=300)
    in_a_minute = sum(moment < clock.now + timedelta(seconds=60) for moment in due)
    assert 30 < in_a_minute < 90
    # Another start right after changes nothing: what waits for its turn keeps it.
    assert loop_of(weir, budget=budget).resume() == 0


def test_a_host_that_asked_for_peace_has_it_over_a_restart(
    weir: Weir, origin: ScriptedOrigin, clock: Clock
) -> None:
    url = origin.behave("/busy", lambda handler: send(handler, 429, Retry_After="1000"))
    weir.execute(f"register feed {url} as Busy")
    first = loop_of(weir)
    assert first.fetch_once() == 1
    weir.execute(f"register feed {origin.shows('/other', rss('1'))} as Other")
    clock.advance(500)
    second = loop_of(weir)
    second.resume()
    assert second.fetch_once() == 0
    clock.advance(501)
    assert second.fetch_once() >= 1


def test_sources_that_queue_for_one_host_stand_back_to_their_turns() -> None:
    ledger = HostLedger(HostRules(spacing_s=2.0))
    crowd = [SourceState(source=f"c{n}", url=f"http://big.example/{n}", next_at=START) for n in range(4)]
    alone = SourceState(source="alone", url="http://small.example/", next_at=START)
    turns = turns_of([*crowd, alone], ledger, START)
    assert turns == {f"c{n}": START + timedelta(seconds=2 * n) for n in range(1, 4)}


def test_an_unknown_policy_is_refused_with_the_known_ones() -> None:
    with pytest.raises(SettingsError, match="planned, proportional, fixed"):
        rules_of(floor_s=1, interval_s=1, policy="clever")
    assert math.isfinite(Budget().rate)
