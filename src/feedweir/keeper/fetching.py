"""The fetch loop: due sources are looked at, documents landed, and what was learnt is remembered."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import datetime

from feedweir.acquire.addresses import AddressRule
from feedweir.acquire.aiohttp_transport import AiohttpTransport
from feedweir.acquire.crawl import Crawler, CrawlOptions, CrawlReport, failures_of
from feedweir.acquire.exchange import Agent
from feedweir.acquire.fetch import Fetcher
from feedweir.acquire.hosts import HostLedger, HostRules
from feedweir.acquire.landing import LandingLog
from feedweir.acquire.refresh.rules import RefreshRules, described, learned, next_check, unreadable
from feedweir.acquire.refresh.state import SourceState, from_json, to_json
from feedweir.catalog import Catalog, Failure, FetchState, SourceRecord
from feedweir.engine.batches import Manifest, SourceReport
from feedweir.items.model import FeedDescription

_IDLE_S = 1.0


class FetchLoop:
    """Fetches the sources of a catalog until it is stopped. One process of an installation does this."""

    def __init__(
        self,
        catalog: Catalog,
        log: LandingLog,
        *,
        options: CrawlOptions,
        hosts: HostRules,
        agent: Agent,
        allow_private: bool,
        clock: Callable[[], datetime],
    ) -> None:
        self._catalog = catalog
        self._log = log
        self._options = options
        self._ledger = HostLedger(hosts)
        self._agent = agent
        self._allow_private = allow_private
        self._clock = clock
        self._remembering = threading.Lock()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="feedweir-fetch", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """End the step that is running, remember it, and stop."""
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join()

    def learn(self, manifest: Manifest) -> None:
        """Take in what a batch found in the documents: how much was new, when to come back, what was no feed."""
        now = self._clock()
        with self._remembering:
            records = {record.name: record for record in self._catalog.sources.all()}
            changed = [
                replace(
                    _saved(records[name], _taught(state_of(records[name]), report, now, self._options.rules)),
                    description=report.description or records[name].state.description,
                )
                for name, report in manifest.sources.items()
                if name in records
            ]
            self._catalog.sources.save(changed)

    def fetch_once(self) -> int:
        """Look at what is due and may be asked now; how many sources that were."""
        return asyncio.run(self._once())

    async def _once(self) -> int:
        async with self._crawling() as crawler:
            return await self._step(crawler)

    def _run(self) -> None:
        asyncio.run(self._fetch_until_stopped())

    async def _fetch_until_stopped(self) -> None:
        async with self._crawling() as crawler:
            while not self._stopping.is_set():
                looked = await self._step(crawler)
                if not looked:
                    await asyncio.to_thread(self._stopping.wait, _IDLE_S)

    @asynccontextmanager
    async def _crawling(self) -> AsyncIterator[Crawler]:
        async with AiohttpTransport(rule=AddressRule(allow_private=self._allow_private)) as transport:
            fetcher = Fetcher(transport=transport, clock=self._clock, agent=self._agent)
            yield Crawler(fetcher, self._log, self._ledger, options=self._options, clock=self._clock)

    async def _step(self, crawler: Crawler) -> int:
        due = self._catalog.sources.due(self._clock(), self._options.max_sources_per_step)
        report = await crawler.step([state_of(record) for record in due])
        self._remember(report)
        return len(report.results)

    def _remember(self, report: CrawlReport) -> None:
        """States are read again: a batch may have taught a source something while it was being looked at."""
        if not report.results:
            return
        now = self._clock()
        with self._remembering:
            records = {record.name: record for record in self._catalog.sources.all()}
            states = [
                _saved(
                    records[result.source],
                    next_check(state_of(records[result.source]), result, result.at, self._options.rules),
                )
                for result in report.results
                if result.source in records
            ]
            self._catalog.sources.save(states)
            self._catalog.failures.record(_failures(failures_of(report), now))


def rules_of(*, floor_s: float, interval_s: float) -> RefreshRules:
    """Refresh rules with the two numbers that people set."""
    from feedweir.acquire.refresh.policies import Fixed

    return RefreshRules(policy=Fixed(interval_s=interval_s), floor_s=floor_s)


def state_of(record: SourceRecord) -> SourceState:
    """What acquisition remembers of a source, from what the catalog keeps."""
    text = record.state.refresh.get("state")
    if text:
        return replace(from_json(text), source=record.name, url=record.state.url)
    return SourceState(source=record.name, url=record.state.url, next_at=record.state.next_check_at)


def _saved(record: SourceRecord, state: SourceState) -> FetchState:
    return replace(
        record.state,
        url=state.url,
        status="gone" if state.is_stopped else record.state.status,
        etag=state.validators.etag,
        last_modified=state.validators.last_modified,
        next_check_at=state.next_at,
        last_checked_at=max(filter(None, (state.looked_at, record.state.last_checked_at)), default=None),
        last_success_at=state.looked_at,
        failures=state.failures,
        moved_to=state.moved_to,
        refresh={"state": to_json(state)},
    )


def _taught(state: SourceState, report: SourceReport, now: datetime, rules: RefreshRules) -> SourceState:
    if report.failure:
        return unreadable(state, report.failure, now, rules)
    if report.description:
        state = described(state, _description(report))
    if report.arrived:
        arrived = datetime.fromisoformat(report.arrived)
        state = learned(state, arrived, report.items, report.sightings, now, rules)
    return state


def _description(report: SourceReport) -> FeedDescription:
    values = report.description or {}
    return FeedDescription(
        ttl_s=values["ttl_s"], skip_hours=tuple(values["skip_hours"]), skip_days=tuple(values["skip_days"])
    )


def _failures(failures: Sequence[tuple[str, str]], now: datetime) -> list[Failure]:
    return [Failure(kind="source", resource=name, at=now, reason=reason) for name, reason in failures]
