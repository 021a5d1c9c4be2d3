"""Steps of the crawl against a real origin: landing first, states after, one bad source never stops the rest."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from pathlib import Path

from feedweir.acquire.addresses import AddressRule
from feedweir.acquire.aiohttp_transport import AiohttpTransport
from feedweir.acquire.crawl import Crawler, CrawlOptions, CrawlReport, failures_of
from feedweir.acquire.exchange import Changed, Unchanged
from feedweir.acquire.fetch import Fetcher
from feedweir.acquire.hosts import HostLedger, HostRules
from feedweir.acquire.landing import LandingLog
from feedweir.acquire.refresh.rules import first_check
from feedweir.acquire.refresh.state import SourceState

from .origin import Origin, an_origin, answer

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
            fetcher = Fetcher(transport=transport, clock=clock)
            crawler = Crawler(fetcher, LandingLog(tmp_path), ledger, clock=clock, options=CrawlOptions())
            await script(origin, crawler, clock)  # type: ignore[operator]

    asyncio.run(run())


def sources(origin: Origin, *paths: str) -> list[SourceState]:
    return [first_check(path, origin.url(path), START, spread_s=0) for path in paths]


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
            ("/bad", "the server refused: HTTP 500"),
            ("/missing", "the server refused: HTTP 404"),
        ]
        assert LandingLog(tmp_path).latest() == 1

    crawl(tmp_path, script)
