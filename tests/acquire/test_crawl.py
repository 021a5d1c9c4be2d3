"""Steps of the crawl against a real origin: landing first, states after, one bad source never stops the rest."""

from __future__ import annotations

import asyncio
import gzip
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from feedweir.acquire.fetch.addresses import AddressRule
from feedweir.acquire.fetch.aiohttp_transport import AiohttpTransport
from feedweir.acquire.fetch.crawl import (
    Crawler,
    CrawlOptions,
    CrawlReport,
    _ResultBuffer,
    choose,
    failures_of,
    share_of,
)
from feedweir.acquire.fetch.fetcher import Fetcher
from feedweir.acquire.fetch.hosts import HostLedger, HostRules
from feedweir.acquire.fetch.transport import Changed, FetchLimits, FetchResult, Unchanged, Validators
from feedweir.acquire.refresh.source_state import SourceState
from feedweir.logs.landing import Landed, LandingLog

from .origin import Asked, Origin, an_origin, answer, as_handler

START = datetime(2024, 5, 1, 12, tzinfo=UTC)
ANYWHERE = AddressRule(allow_private=True)


class Clock:
    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> datetime:
        return self.now

    def pass_s(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)


def crawl(tmp_path: Path, script: object) -> None:
    """Run `script(origin, crawler, clock)` with everything real but the time."""

    async def run() -> None:
        clock = Clock()
        async with an_origin() as origin, AiohttpTransport(rule=ANYWHERE) as transport:
            ledger = HostLedger(HostRules(max_concurrent=100, spacing_s=0))
            fetcher = Fetcher(
                transport=transport, clock=clock, limits=FetchLimits(max_bytes=100_000, max_wire_bytes=50_000)
            )
            crawler = Crawler(fetcher, LandingLog(tmp_path), ledger, clock=clock, options=CrawlOptions())
            await script(origin, crawler, clock)  # type: ignore[operator]

    asyncio.run(run())


def sources(origin: Origin, *paths: str) -> list[SourceState]:
    return [SourceState(source=path, url=origin.url(path), next_at=START) for path in paths]


async def all_steps(crawler: Crawler, states: list[SourceState]) -> list[CrawlReport]:
    """Steps until nothing is due: one source of a host at a time."""
    reports = []
    left = {state.source: state for state in states}
    while left:
        report = await crawler.step(list(left.values()))
        reports.append(report)
        for state in report.states:
            del left[state.source]
    return reports


def test_a_new_document_is_landed_and_then_known(tmp_path: Path) -> None:
    async def script(origin: Origin, crawler: Crawler, clock: Clock) -> None:
        origin.answers("/a", answer(200, b"<rss/>", ("ETag", '"v1"')), answer(304))
        (state,) = sources(origin, "/a")
        report = await crawler.step([state])
        assert isinstance(report.results[0].outcome, Changed)
        assert LandingLog(tmp_path).read(report.segment)["body"].to_pylist() == [b"<rss/>"]
        clock.pass_s(7200)
        again = await crawler.step(report.states)
        assert origin.asked[-1].header("If-None-Match") == '"v1"'
        assert isinstance(again.results[0].outcome, Unchanged)
        assert again.segment == 0

    crawl(tmp_path, script)


def test_one_bad_source_is_one_recorded_failure(tmp_path: Path) -> None:
    async def script(origin: Origin, crawler: Crawler, clock: Clock) -> None:
        origin.answers("/good", answer(200, b"<rss/>"))
        origin.answers("/bad", answer(500))
        reports = await all_steps(crawler, sources(origin, "/bad", "/good", "/missing"))
        failures = [failure for report in reports for failure in failures_of(report)]
        assert failures == [
            ("/bad", "the server returned an error: HTTP 500"),
            ("/missing", "the server returned an error: HTTP 404"),
        ]
        assert LandingLog(tmp_path).latest() == 1

    crawl(tmp_path, script)


def test_a_third_of_hostile_sources_leaves_the_others_alone(tmp_path: Path) -> None:
    async def endless(asked: Asked, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        while True:
            writer.write(b"1000\r\n" + b"x" * 4096 + b"\r\n")
            await writer.drain()

    async def script(origin: Origin, crawler: Crawler, clock: Clock) -> None:
        bomb = answer(200, gzip.compress(b"\0" * (1 << 20)), ("Content-Encoding", "gzip"))
        hostile = {
            "/endless": endless,
            "/bomb": as_handler(bomb),
            "/loop": as_handler(answer(302, b"", ("Location", "/loop"))),
            "/nonsense": as_handler(b"\0\0\0\r\n\r\n"),
        }
        origin.handlers.update(hostile)
        good = [f"/good{number}" for number in range(8)]
        for path in good:
            origin.answers(path, answer(200, path.encode()))
        reports = await all_steps(crawler, sources(origin, *hostile, *good))
        failures = [source for report in reports for source, _ in failures_of(report)]
        assert sorted(failures) == sorted(hostile)
        landed = [
            body
            for report in reports
            if report.segment
            for body in LandingLog(tmp_path).read(report.segment)["body"].to_pylist()
        ]
        assert sorted(landed) == sorted(path.encode() for path in good)

    crawl(tmp_path, script)


def test_a_source_that_flaps_backs_off_and_comes_back(tmp_path: Path) -> None:
    async def script(origin: Origin, crawler: Crawler, clock: Clock) -> None:
        origin.answers(
            "/a", answer(500), answer(500), answer(200, b"<rss/>"), answer(500), answer(200, b"<rss>2")
        )
        (state,) = sources(origin, "/a")
        failures, pauses = [], []
        for _ in range(5):
            clock.now = max(clock.now, state.next_at)
            (state,) = (await crawler.step([state])).states
            failures.append(state.failures)
            pauses.append((state.next_at - clock.now).total_seconds())
        assert failures == [1, 2, 0, 1, 0]
        assert pauses[1] > pauses[0] >= 900
        assert LandingLog(tmp_path).latest() == 2

    crawl(tmp_path, script)


def test_a_host_that_says_429_is_left_alone_with_all_its_sources(tmp_path: Path) -> None:
    async def script(origin: Origin, crawler: Crawler, clock: Clock) -> None:
        origin.answers("/a", answer(429, b"", ("Retry-After", "100")))
        origin.answers("/b", answer(200, b"<rss/>"))
        first, second = sources(origin, "/a", "/b")
        assert (await crawler.step([first, second])).states[0].failures == 1
        assert (await crawler.step([second])).states == ()
        clock.pass_s(100)
        assert (await crawler.step([second])).states[0].failures == 0

    crawl(tmp_path, script)


def test_a_step_spends_no_more_than_the_budget_and_takes_the_longest_overdue() -> None:
    ledger = HostLedger(HostRules())
    due = [
        replace(
            SourceState(source=f"s{n}", url=f"http://h{n}/", next_at=START),
            next_at=START - timedelta(seconds=n),
        )
        for n in range(10)
    ]
    assert [state.source for state in choose(due, ledger, 3, START)] == ["s9", "s8", "s7"]


def test_one_source_of_a_host_at_a_time_redirects_counted() -> None:
    ledger = HostLedger(HostRules())
    due = [SourceState(source=f"s{n}", url=f"http://h{n // 2}/{n}", next_at=START) for n in range(4)]
    due.append(replace(SourceState(source="s4", url="http://x/", next_at=START), hosts=("x", "h0")))
    assert [state.source for state in choose(due, ledger, 9, START)] == ["s0", "s2"]


@given(st.lists(st.sampled_from(["a", "b", "c", "d.example", "www.e"]), min_size=1), st.integers(1, 9))
def test_all_sources_of_a_host_are_polled_after_by_one_crawler(hosts: list[str], shares: int) -> None:
    states = [
        SourceState(source=f"s{n}", url=f"http://{host}/{n}", next_at=START) for n, host in enumerate(hosts)
    ]
    owners = {
        host: {share_of(s, shares) for s, h in zip(states, hosts, strict=True) if h == host} for host in hosts
    }
    assert all(len(shares_of_host) == 1 for shares_of_host in owners.values())
    assert all(0 <= share < shares for found in owners.values() for share in found)


def test_documents_are_landed_before_too_many_wait_in_memory(tmp_path: Path) -> None:
    async def run() -> None:
        buffer = _ResultBuffer(LandingLog(tmp_path), max_bytes=100)
        for number in range(10):
            document = Landed(source=f"s{number}", arrived=START, body=b"x" * 30)
            outcome = Changed(document=document, validators=Validators())
            await buffer.add(FetchResult(source=f"s{number}", at=START, outcome=outcome))
        assert LandingLog(tmp_path).latest() == 2
        report = await buffer.take()
        assert sum(LandingLog(tmp_path).read(n).num_rows for n in range(1, report.segment + 1)) == 10
        assert all(not r.outcome.document.body for r in report.results if isinstance(r.outcome, Changed))
        assert len(report.results) == 10
        assert await buffer.take() == CrawlReport()

    asyncio.run(run())


def test_a_slow_server_does_not_hold_up_the_others_and_is_reported_later(tmp_path: Path) -> None:
    async def script(origin: Origin, crawler: Crawler, clock: Clock) -> None:
        release = asyncio.Event()

        async def slow(asked: Asked, writer: asyncio.StreamWriter) -> None:
            await release.wait()
            writer.write(answer(200, b"<rss>late"))

        origin.handlers["/slow"] = slow
        origin.answers("/quick", answer(200, b"<rss/>"))
        (slow_state,) = sources(origin, "/slow")
        (quick,) = sources(origin, "/quick")
        first = await crawler.poll([slow_state], linger_s=0.01)
        assert first.results == ()
        assert crawler.under_way == 1
        quick_report = CrawlReport()
        while not quick_report.results:
            quick_report = await crawler.poll([slow_state, quick], linger_s=0.01)
        assert [result.source for result in quick_report.results] == ["/quick"]
        release.set()
        last = await crawler.poll([])
        assert [result.source for result in last.results] == ["/slow"]
        assert LandingLog(tmp_path).latest() == last.segment
        assert len([asked for asked in origin.asked if asked.path == "/slow"]) == 1
        assert crawler.under_way == 0

    crawl(tmp_path, script)


def test_a_redirect_on_its_own_host_waits_its_turn_and_arrives(tmp_path: Path) -> None:
    async def run() -> None:
        clock, pauses = Clock(), []

        async def sleep(seconds: float) -> None:
            pauses.append(seconds)
            clock.pass_s(seconds)

        async with an_origin() as origin, AiohttpTransport(rule=ANYWHERE) as transport:
            origin.answers("/old", answer(301, b"", ("Location", "/new")))
            origin.answers("/new", answer(200, b"<rss/>"))
            ledger = HostLedger(HostRules(max_concurrent=1, spacing_s=2.0))
            fetcher = Fetcher(transport=transport, clock=clock)
            crawler = Crawler(fetcher, LandingLog(tmp_path), ledger, clock=clock, sleep=sleep)
            report = await crawler.step(sources(origin, "/old"))
        assert isinstance(report.results[0].outcome, Changed)
        assert pauses == [2.0]

    asyncio.run(run())
