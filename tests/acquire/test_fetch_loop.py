"""From a real local origin to feeds: good sources, broken ones, and clocks that are moved by hand."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from feedweir.acquire.fetch.crawl import CrawlOptions, CrawlReport
from feedweir.acquire.fetch.fetch_loop import FetchLoop, rules_of
from feedweir.acquire.fetch.hosts import HostLedger, HostRules
from feedweir.acquire.fetch.transport import Agent
from feedweir.acquire.refresh.refresh_rules import RefreshRules
from feedweir.acquire.refresh.request_budget import Budget, Spending
from feedweir.acquire.refresh.source_state import SourceState
from feedweir.health.backpressure import NO_PRESSURE, Pressure
from feedweir.logs.batches import Manifest
from feedweir.pipeline.local_runner import LocalRunner
from feedweir.sample.origin import Origin
from feedweir.sample.sample_statements import sample_statements
from feedweir.service.installation import Weir


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
def origin(clock: Clock) -> Iterator[Origin]:
    origin = Origin(clock)
    origin.start()
    yield origin
    origin.stop()


@pytest.fixture
def weir(tmp_path: Path, clock: Clock) -> Iterator[Weir]:
    with Weir.open(tmp_path, clock=clock) as weir:
        yield weir


def fetch_loop(
    weir: Weir,
    *,
    allow_private: bool = True,
    rules: RefreshRules | None = None,
    in_force: Callable[[], int | None] = lambda: None,
    budget: Budget | None = None,
    pressure: Callable[[], Pressure] = lambda: NO_PRESSURE,
) -> FetchLoop:
    return FetchLoop(
        weir.catalog,
        weir.log,
        options=CrawlOptions(rules=rules or rules_of(floor_s=60, interval_s=60), budget=budget or Budget()),
        hosts=HostRules(max_concurrent=100, spacing_s=0),
        agent=Agent(),
        allow_private=allow_private,
        clock=weir.clock,
        in_force=in_force,
        pressure=pressure,
    )


def fetch_all(loop: FetchLoop, clock: Clock) -> int:
    """Steps until nothing more is due: each asks a host once."""
    polled = 0
    while step := loop.fetch_once():
        polled += step
        clock.advance(0.01)
    return polled


def run(weir: Weir, loop: FetchLoop) -> None:
    def commit(manifest: Manifest) -> None:
        weir.commit(manifest)
        loop.learn(manifest.sources)

    weir.refresh_set()
    LocalRunner(weir.directory, commit).run_available()


def test_the_sample_fills_its_virtual_feeds(weir: Weir, origin: Origin, clock: Clock) -> None:
    weir.execute(sample_statements(origin.urls))
    loop = fetch_loop(weir)
    assert fetch_all(loop, clock) == len(origin.urls)
    run(weir, loop)
    filled = {feed.name for feed in weir.feed_views.feeds(kind="virtual") if feed.item_count}
    assert filled >= {"HighWater", "Music", "StableReleases", "ScienceNotes", "Water"}
    sources = weir.feed_views.feeds(kind="source")
    assert not any(feed.failure for feed in sources)
    assert {feed.name for feed in sources if feed.title} == set(origin.urls)


@pytest.mark.parametrize(("share", "expected"), [(1.0, 8), (0.5, 4), (0.25, 2), (0.0, 0)])
def test_fetching_makes_the_share_of_its_requests_that_the_backlog_leaves(
    weir: Weir, origin: Origin, clock: Clock, share: float, expected: int
) -> None:
    weir.execute(sample_statements(origin.urls))
    assert len(origin.urls) > 8
    loop = fetch_loop(
        weir, budget=Budget(per_second=1, burst_s=1), pressure=lambda: Pressure(fetch_share=share)
    )
    polled = 0
    for _ in range(8):
        polled += loop.fetch_once()
        clock.advance(1)
    assert abs(polled - expected) <= (1 if share else 0)


def test_nothing_is_fetched_before_its_time_and_new_items_arrive_after(
    weir: Weir, origin: Origin, clock: Clock
) -> None:
    weir.execute(sample_statements(origin.urls))
    loop = fetch_loop(weir)
    fetch_all(loop, clock)
    run(weir, loop)
    before = sum(feed.item_count for feed in weir.feed_views.feeds(kind="source"))
    assert loop.fetch_once() == 0
    clock.advance(3600)
    assert fetch_all(fetch_loop(weir), clock) == len(origin.urls)
    run(weir, loop)
    assert sum(feed.item_count for feed in weir.feed_views.feeds(kind="source")) > before


def test_each_broken_source_is_one_recorded_failure_and_the_rest_goes_on(
    weir: Weir, origin: Origin, clock: Clock
) -> None:
    broken = ["page", "bomb", "empty", "gone", "nowhere"]
    weir.execute(f"register feed {origin.urls['RiverPost']} as Good;")
    weir.execute(";".join(f"register feed {origin.url}/broken/{name}.xml as B{name}" for name in broken))
    loop = fetch_loop(weir)
    fetch_all(loop, clock)
    run(weir, loop)
    feeds = {feed.name: feed for feed in weir.feed_views.feeds()}
    assert feeds["Good"].item_count > 0
    assert not feeds["Good"].failure
    for name in broken:
        assert feeds[f"B{name}"].failure, name
        assert len(weir.catalog.failures.of("source", f"B{name}")) == 1


def test_a_host_that_is_busy_is_left_alone_for_as_long_as_it_asks(
    weir: Weir, origin: Origin, clock: Clock
) -> None:
    weir.execute(f"register feed {origin.url}/broken/busy.xml as Busy")
    loop = fetch_loop(weir)
    assert loop.fetch_once() == 1
    weir.execute(f"register feed {origin.urls['RiverPost']} as Neighbour")
    assert loop.fetch_once() == 0
    clock.advance(130)
    fetch_all(loop, clock)
    run(weir, loop)
    assert weir.items("Neighbour")


def test_private_addresses_are_refused_unless_allowed(weir: Weir, origin: Origin, clock: Clock) -> None:
    weir.execute(f"register feed {origin.urls['RiverPost']} as Inside")
    fetch_all(fetch_loop(weir, allow_private=False), clock)
    assert weir.log.latest() == 0
    assert "address" in weir.catalog.failures.of("source", "Inside")[0].reason


class BusyPoller:
    """Has so many sources under way, and remembers how many more it was given."""

    def __init__(self, under_way: int) -> None:
        self.spending = Spending()
        self.under_way = under_way
        self.given: list[int] = []
        self.subscribers: dict[str, int] = {}

    async def poll(self, due: Sequence[SourceState], *, linger_s: float | None = None) -> CrawlReport:
        self.given.append(len(due))
        self.subscribers |= {state.source: state.subscribers for state in due}
        return CrawlReport()

    async def close(self) -> None:
        return


def loop_with(weir: Weir, poller: BusyPoller, options: CrawlOptions | None = None) -> FetchLoop:
    @asynccontextmanager
    async def opening(_: HostLedger) -> AsyncIterator[BusyPoller]:
        yield poller

    weir.execute("register feed http://a.example/ as A; register feed http://b.example/ as B")
    return FetchLoop(
        weir.catalog,
        weir.log,
        options=options or CrawlOptions(max_sources_per_step=100),
        hosts=HostRules(),
        agent=Agent(),
        allow_private=False,
        clock=weir.clock,
        opening=opening,
    )


@pytest.mark.parametrize(("under_way", "given"), [(0, 2), (50, 2), (51, 0)])
def test_what_is_due_is_not_read_again_while_enough_is_under_way(
    weir: Weir, under_way: int, given: int
) -> None:
    poller = BusyPoller(under_way)
    loop_with(weir, poller).fetch_once()
    assert poller.given == [given]


def test_publishers_are_told_how_many_read_them(weir: Weir) -> None:
    poller = BusyPoller(0)
    loop = loop_with(weir, poller)
    weir.execute(
        "create feed Some from A where title contains 'x'; subscribe to A output file 'a.rss';"
        "subscribe to Some output file 'b.rss'"
    )
    loop.fetch_once()
    assert poller.subscribers == {"A": 2, "B": 1}


def test_a_loop_that_starts_with_much_overdue_does_not_ask_for_all_of_it_at_once(
    weir: Weir, clock: Clock
) -> None:
    poller = BusyPoller(0)
    loop = loop_with(weir, poller, CrawlOptions(budget=Budget(per_second=0.1)))
    weir.execute(";".join(f"register feed http://s{number}.example/ as S{number}" for number in range(20)))
    clock.advance(3_600)
    loop.start()
    loop.stop()
    assert len(poller.subscribers) < 10
    due = sorted(record.state.next_check_at for record in weir.catalog.sources.all())
    assert due[-1] > clock.now + timedelta(minutes=3)


def test_a_source_is_first_polled_at_when_the_next_batch_knows_it(
    weir: Weir, origin: Origin, clock: Clock
) -> None:
    weir.execute(f"register feed {origin.urls['RiverPost']} as Old")
    weir.refresh_set()
    loop = fetch_loop(weir, in_force=weir.version_in_force)
    weir.execute(f"register feed {origin.urls['TownCrier']} as New; create feed Both from Old | New")
    assert fetch_all(loop, clock) == 1  # a batch that is cut now would put what New shows into no feed
    weir.refresh_set()
    assert fetch_all(loop, clock) == 1
    run(weir, loop)
    assert {item.source for item in weir.items("Both")} == {"Old", "New"}
