"""From a real local origin to feeds: good sources, broken ones, and clocks that are moved by hand."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from feedweir.acquire.crawl import CrawlOptions, CrawlReport
from feedweir.acquire.exchange import Agent
from feedweir.acquire.hosts import HostLedger, HostRules
from feedweir.acquire.refresh.budget import Budget, Spending
from feedweir.acquire.refresh.rules import RefreshRules
from feedweir.acquire.refresh.state import SourceState
from feedweir.engine.batches import Manifest
from feedweir.engine.runner import Runner
from feedweir.keeper.fetching import FetchLoop, rules_of
from feedweir.keeper.weir import Weir
from feedweir.sample.origin import Origin
from feedweir.sample.statements import sample_statements


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
) -> FetchLoop:
    return FetchLoop(
        weir.catalog,
        weir.log,
        options=CrawlOptions(rules=rules or rules_of(floor_s=60, interval_s=60)),
        hosts=HostRules(max_concurrent=100, spacing_s=0),
        agent=Agent(),
        allow_private=allow_private,
        clock=weir.clock,
        in_force=in_force,
    )


def fetch_all(loop: FetchLoop, clock: Clock) -> int:
    """Steps until nothing more is due: each asks a host once."""
    looked = 0
    while step := loop.fetch_once():
        looked += step
        clock.advance(0.01)
    return looked


def run(weir: Weir, loop: FetchLoop) -> None:
    def commit(manifest: Manifest) -> None:
        weir.commit(manifest)
        loop.learn(manifest)

    weir.refresh_set()
    Runner(weir.directory, commit).run_available()


def test_the_sample_fills_its_virtual_feeds(weir: Weir, origin: Origin, clock: Clock) -> None:
    weir.execute(sample_statements(origin.urls))
    loop = fetch_loop(weir)
    assert fetch_all(loop, clock) == len(origin.urls)
    run(weir, loop)
    filled = {feed.name for feed in weir.shelves.feeds(kind="virtual") if feed.item_count}
    assert filled >= {"HighWater", "Music", "StableReleases", "ScienceNotes", "Water"}
    assert all(feed.title and not feed.failure for feed in weir.shelves.feeds(kind="source"))


def test_nothing_is_fetched_before_its_time_and_new_items_arrive_after(
    weir: Weir, origin: Origin, clock: Clock
) -> None:
    weir.execute(sample_statements(origin.urls))
    loop = fetch_loop(weir)
    fetch_all(loop, clock)
    run(weir, loop)
    before = sum(feed.item_count for feed in weir.shelves.feeds(kind="source"))
    assert loop.fetch_once() == 0
    clock.advance(3600)
    assert fetch_all(fetch_loop(weir), clock) == len(origin.urls)
    run(weir, loop)
    assert sum(feed.item_count for feed in weir.shelves.feeds(kind="source")) > before


def test_each_broken_source_is_one_recorded_failure_and_the_rest_goes_on(
    weir: Weir, origin: Origin, clock: Clock
) -> None:
    broken = ["page", "bomb", "empty", "gone", "nowhere"]
    weir.execute(f"register feed {origin.urls['RiverPost']} as Good;")
    weir.execute(";".join(f"register feed {origin.url}/broken/{name}.xml as B{name}" for name in broken))
    loop = fetch_loop(weir)
    fetch_all(loop, clock)
    run(weir, loop)
    feeds = {feed.name: feed for feed in weir.shelves.feeds()}
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


class BusyLooker:
    """Has so many sources under way, and remembers how many more it was given."""

    def __init__(self, under_way: int) -> None:
        self.spending = Spending()
        self.under_way = under_way
        self.given: list[int] = []
        self.subscribers: dict[str, int] = {}

    async def look(self, due: Sequence[SourceState], *, linger_s: float | None = None) -> CrawlReport:
        self.given.append(len(due))
        self.subscribers |= {state.source: state.subscribers for state in due}
        return CrawlReport()

    async def close(self) -> None:
        return


def loop_with(weir: Weir, looker: BusyLooker, options: CrawlOptions | None = None) -> FetchLoop:
    @asynccontextmanager
    async def opening(_: HostLedger) -> AsyncIterator[BusyLooker]:
        yield looker

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
    looker = BusyLooker(under_way)
    loop_with(weir, looker).fetch_once()
    assert looker.given == [given]


def test_publishers_are_told_how_many_read_them(weir: Weir) -> None:
    looker = BusyLooker(0)
    loop = loop_with(weir, looker)
    weir.execute(
        "create feed Some from A where title contains 'x'; subscribe to A output file 'a.rss';"
        "subscribe to Some output file 'b.rss'"
    )
    loop.fetch_once()
    assert looker.subscribers == {"A": 2, "B": 1}


def test_a_loop_that_starts_with_much_overdue_does_not_ask_for_all_of_it_at_once(
    weir: Weir, clock: Clock
) -> None:
    looker = BusyLooker(0)
    loop = loop_with(weir, looker, CrawlOptions(budget=Budget(per_second=0.1)))
    weir.execute(";".join(f"register feed http://s{number}.example/ as S{number}" for number in range(20)))
    clock.advance(3_600)
    loop.start()
    loop.stop()
    assert len(looker.subscribers) < 10
    due = sorted(record.state.next_check_at for record in weir.catalog.sources.all())
    assert due[-1] > clock.now + timedelta(minutes=3)


def test_a_source_is_first_looked_at_when_the_next_batch_knows_it(
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
