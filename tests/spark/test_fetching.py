"""Fetching shared among executors: politeness by the origin's own log, landing first, executors that die."""

from __future__ import annotations

import asyncio
import os
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from feedweir.acquire.fetch.crawl import CrawlOptions
from feedweir.acquire.fetch.fetch_loop import FetchLoop, rules_of
from feedweir.acquire.fetch.hosts import HostLedger, HostRules
from feedweir.acquire.fetch.transport import Agent, Changed, Failed, Reason
from feedweir.acquire.refresh.request_budget import Budget
from feedweir.acquire.refresh.source_state import SourceState
from feedweir.logs.landing import LandingLog
from feedweir.service.installation import Weir
from feedweir.spark.fetching import ExecutorPoller, FetchOptions, executor_poller, shares_of
from tests.acquire.scripted_origin import ScriptedOrigin, rss, send

SPACING_S = 0.3


def now() -> datetime:
    return datetime.now(UTC)


@pytest.fixture
def origin() -> Iterator[ScriptedOrigin]:
    with ScriptedOrigin() as origin:
        yield origin


def manner_of(root: Path, agent: Agent | None = None) -> FetchOptions:
    return FetchOptions(
        landing=root, hosts=HostRules(spacing_s=SPACING_S), agent=agent or Agent(), allow_private=True
    )


def polls_of(
    session: SparkSession, fetch_options: FetchOptions, clock: Callable[[], datetime] = now
) -> ExecutorPoller:
    options = CrawlOptions(budget=Budget(per_second=1e6))
    ledger = HostLedger(fetch_options.hosts)
    return ExecutorPoller(session, fetch_options, ledger, tasks=2, options=options, clock=clock)


def opening(
    session: SparkSession, fetch_options: FetchOptions
) -> Callable[[HostLedger], AbstractAsyncContextManager[ExecutorPoller]]:
    options = CrawlOptions(budget=Budget(per_second=1e6))
    return lambda ledger: executor_poller(session, fetch_options, ledger, tasks=2, options=options, clock=now)


def source(name: str, url: str) -> SourceState:
    return SourceState(source=name, url=url, next_at=datetime(2024, 5, 1, tzinfo=UTC))


def test_hosts_are_asked_politely_by_whichever_executor_and_everything_is_landed(
    spark: SparkSession, tmp_path: Path, origin: ScriptedOrigin
) -> None:
    with Weir.open(tmp_path) as weir:
        statements = []
        for n in range(12):
            origin.shows(f"/{n}", rss(f"i{n}"), ETag=f'"{n}"')
            statements.append(f"register feed {origin.url(f'/{n}', host=f'127.0.3.{n % 4 + 1}')} as S{n}")
        weir.execute(";".join(statements))
        loop = FetchLoop(
            weir.catalog,
            weir.log,
            options=CrawlOptions(rules=rules_of(floor_s=60, interval_s=60)),
            hosts=HostRules(spacing_s=SPACING_S),
            agent=Agent(),
            allow_private=True,
            clock=now,
            opening=opening(spark, manner_of(weir.directory.landing)),
        )
        while weir.catalog.sources.due(now(), 100):
            loop.fetch_once()
        states = [record.state for record in weir.catalog.sources.all()]
        landed = [name for n in weir.log.segments(0, 100) for name in weir.log.read(n)["source"].to_pylist()]
    assert sorted(landed) == sorted(f"S{n}" for n in range(12))
    assert all(state.etag and state.next_check_at > now() for state in states)
    asked = defaultdict(list)
    for one in origin.asked:
        asked[one.host].append(one.at)
    assert len(origin.asked) == 12
    assert len(asked) == 4
    assert min(b - a for times in asked.values() for a, b in pairwise(times)) >= SPACING_S * 0.9


def test_a_redirect_to_a_host_that_was_not_granted_waits_for_its_turn(
    spark: SparkSession, tmp_path: Path, origin: ScriptedOrigin
) -> None:
    target = origin.url("/there", host="127.0.4.2")
    origin.behave("/here", lambda handler: send(handler, 302, Location=target))
    origin.shows("/there", rss("1"))
    state = source("S", origin.url("/here", host="127.0.4.1"))

    async def run() -> None:
        polls = polls_of(spark, manner_of(tmp_path))
        (first,) = (await polls.poll([state])).results
        assert isinstance(first.outcome, Failed)
        assert first.outcome.reason is Reason.BUSY
        assert first.hosts == ("127.0.4.1", "127.0.4.2")
        assert origin.paths() == ["/here"]
        from dataclasses import replace

        # The host was asked a moment ago: the driver waits, too.
        assert (await polls.poll([replace(state, hosts=first.hosts)])).results == ()
        results = ()
        while not results:
            results = (await polls.poll([replace(state, hosts=first.hosts)])).results
        assert isinstance(results[0].outcome, Changed)

    asyncio.run(run())
    assert LandingLog(tmp_path).latest() == 1


@dataclass(frozen=True, kw_only=True)
class DyingAgent(Agent):
    """Takes its process with it, the first time it is asked who it is."""

    marker: str = ""

    def header(self, subscribers: int) -> str:
        if not Path(self.marker).exists():
            Path(self.marker).touch()
            os._exit(9)
        return super().header(subscribers)


def test_what_an_executor_took_with_it_is_polled_at_again(
    spark: SparkSession, tmp_path: Path, origin: ScriptedOrigin
) -> None:
    state = source("S", origin.shows("/a", rss("1")))
    agent = DyingAgent(marker=str(tmp_path / "died"))

    async def run() -> None:
        polls = polls_of(spark, manner_of(tmp_path / "landing", agent))
        (lost,) = (await polls.poll([state])).results
        assert "executor" in str(lost.outcome)
        assert polls.under_way == 0
        results = ()
        while not results:
            results = (await polls.poll([state])).results
        assert isinstance(results[0].outcome, Changed)

    asyncio.run(run())
    assert LandingLog(tmp_path / "landing").latest() == 1


def test_all_sources_of_a_host_are_in_one_share_and_none_is_left_out() -> None:
    states = [source(f"s{n}", f"http://h{n % 5}.example/{n}") for n in range(40)]
    shares = shares_of(states, 4)
    assert sorted(state.source for share in shares for state in share) == sorted(s.source for s in states)
    hosts = [{state.url.split("/")[2] for state in share} for share in shares]
    assert sum(map(len, hosts)) == 5
    assert all(shares)
