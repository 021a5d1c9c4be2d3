"""The fetch loop: poll due sources, land their documents, save what was learned."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Protocol

from feedweir.acquire.fetch.addresses import AddressRule
from feedweir.acquire.fetch.aiohttp_transport import AiohttpTransport
from feedweir.acquire.fetch.crawl import Crawler, CrawlOptions, CrawlReport, failures_of
from feedweir.acquire.fetch.fetcher import Fetcher
from feedweir.acquire.fetch.hosts import HostLedger, HostRules
from feedweir.acquire.fetch.http_rules import host_of
from feedweir.acquire.fetch.transport import Agent, Changed, FetchResult, Unchanged
from feedweir.acquire.refresh.controller import RefreshController, rules_of
from feedweir.acquire.refresh.refresh_rules import (
    RefreshRules,
    described,
    learned,
    next_check,
    resumed,
    unreadable,
)
from feedweir.acquire.refresh.request_budget import Spending
from feedweir.acquire.refresh.source_history import poll_before
from feedweir.acquire.refresh.source_state import SourceMemory, SourceState, saved, state_of
from feedweir.acquire.websub.leases import Leases, hub_by_hand, hubs_in
from feedweir.acquire.websub.subscriber import Hub, NamedBy
from feedweir.catalog import Catalog, Failure, FetchState, SourceRecord
from feedweir.errors import FeedweirError
from feedweir.health.backpressure import NO_PRESSURE, Pressure
from feedweir.health.loop import Loop
from feedweir.items.model import FeedDescription
from feedweir.logs.batches import SourceReport
from feedweir.logs.landing import LandingLog

__all__ = ["FetchLoop", "Opening", "Poller", "rules_of", "state_of"]

_log = logging.getLogger(__name__)

_IDLE_S = 1.0
_LINGER_S = 1.0
"""How long a step waits for slow servers; a later step takes in their answers."""
_AFTER_ERROR_S = 5.0
_COUNT_S = 3_600.0


class Poller(Protocol):
    """What polls sources: a crawler in this process, or tasks on executors."""

    spending: Spending

    async def poll(self, due: Sequence[SourceState], *, linger_s: float | None = None) -> CrawlReport: ...

    @property
    def under_way(self) -> int: ...

    async def close(self) -> None: ...


Opening = Callable[[HostLedger], AbstractAsyncContextManager[Poller]]
"""Opens a poller that consults this ledger before it asks a host."""


class FetchLoop(Loop):
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
        notes: Path | None = None,
        opening: Opening | None = None,
        memory: SourceMemory | None = None,
        leases: Leases | None = None,
        in_force: Callable[[], int | None] = lambda: None,
        pressure: Callable[[], Pressure] = lambda: NO_PRESSURE,
    ) -> None:
        """`in_force` returns the version that the next batch is matched against: a source that is newer is not polled
        yet, since its first items would be in no feed."""
        super().__init__("fetch", "fetching fails")
        self._catalog = catalog
        self._log = log
        self._options = options
        self._agent = agent
        self._allow_private = allow_private
        self._clock = clock
        self._ledger = HostLedger(hosts)
        self._controller = RefreshController(options.rules, options.budget, notes)
        self._memory = memory or SourceMemory(catalog)
        self._leases = leases
        self._in_force = in_force
        self._pressure = pressure
        self._readers: dict[str, int] = {}
        self._opening = opening or self._crawling

    @property
    def rules(self) -> RefreshRules:
        """The rules in force."""
        return self._controller.rules

    def resume(self) -> int:
        """Go on where the last run stopped: sources that fell due meanwhile are spread over time; how many those
        are."""
        self._controller.restore(self._ledger)
        now = self._clock()
        overdue = self._catalog.sources.overdue(now)
        spread_s = len(overdue) / max(self._options.budget.rate / 2, 1e-9)
        if spread_s < 1.0:
            return 0
        return self._memory.change(
            overdue,
            lambda record: saved(record, resumed(state_of(record), now, spread_s)),
        )

    def learn(self, reports: Mapping[str, SourceReport]) -> None:
        """Take in what a batch found in the documents: how much was new, when to poll again, what was no feed."""
        now = self._clock()
        rules = self._controller.rules
        polls: dict[str, datetime] = {}

        def after_batch(record: SourceRecord) -> FetchState:
            report, state = reports[record.name], state_of(record)
            if before := _news_since(state, report):
                polls[record.name] = before
            description = report.description or record.state.description
            return replace(saved(record, _with_report(state, report, now, rules)), description=description)

        self._memory.change(reports, after_batch)
        if self._leases:
            self._leases.check_silence(polls)
            described = {name: report.description for name, report in reports.items() if report.description}
            self._leases.take_hubs(hubs_in(described, self._urls(described)))

    def fetch_once(self) -> int:
        """Poll what is due now; how many sources were polled."""
        return asyncio.run(self._once())

    async def _once(self) -> int:
        self._readers = self._catalog.sources.readers()
        async with self._opening(self._ledger) as poller:
            poller.spending = self._controller.spending
            return await self._step(poller, linger_s=None)

    def _urls(self, described: dict[str, dict[str, Any]]) -> dict[str, str]:
        """The addresses of sources that name a hub but not the topic they have there."""
        unnamed = [
            name for name, about in described.items() if about.get("hub") and not about.get("self_link")
        ]
        return {record.name: record.state.url for record in self._catalog.sources.several(unnamed)}

    def _run(self) -> None:
        asyncio.run(self._fetch_until_stopped())

    async def _fetch_until_stopped(self) -> None:
        self.resume()
        async with self._opening(self._ledger) as poller:
            poller.spending = self._controller.spending
            beside = [asyncio.create_task(task) for task in (self._tend_leases(), self._count_readers())]
            while not self._stopping.is_set():
                pause_s = await self._guarded_step(poller)
                if pause_s:
                    await asyncio.to_thread(self._stopping.wait, pause_s)
            # Answers that are nearly there are worth a moment; all other sources stay due.
            self._remember(await poller.poll([], linger_s=_LINGER_S))
            await poller.close()
            for task in beside:
                task.cancel()
        self._controller.save(self._ledger, self._clock(), is_last=True)

    async def _tend_leases(self) -> None:
        """Hubs are contacted in a thread of their own, so that a slow one delays no fetch."""
        while self._leases:
            try:
                if self._leases.is_due():
                    await self._leases.tend()
            except (FeedweirError, OSError):
                _log.exception("asking hubs failed; retrying shortly")
            await asyncio.sleep(_AFTER_ERROR_S)

    async def _count_readers(self) -> None:
        """How many subscriptions read each source, which requests report to publishers; counted now and then."""
        while True:
            try:
                self._readers = await asyncio.to_thread(self._catalog.sources.readers)
            except (FeedweirError, OSError):
                _log.exception("counting readers failed; retrying later")
            await asyncio.sleep(_COUNT_S)

    async def _guarded_step(self, poller: Poller) -> float:
        """A step; how long to pause after it. A full disk or a locked database is waited for."""
        try:
            pause_s = 0.0 if await self._step(poller, linger_s=_LINGER_S) else _IDLE_S
            self._standing.well()
            return pause_s
        except (FeedweirError, OSError) as error:
            self._standing.failed(error)
            _log.exception("fetching failed; retrying shortly")
            return _AFTER_ERROR_S

    async def _step(self, poller: Poller, *, linger_s: float | None) -> int:
        now = self._clock()
        due = self._due(poller.under_way, now)
        if self._controller.is_due(now):
            self._controller.steer(map(state_of, self._catalog.sources.all()), len(due), now)
        report = await poller.poll(self._slowed(poller, due, now), linger_s=linger_s)
        self._remember(report)
        if len(due) == self._options.max_sources_per_step:
            self._defer_queued(due)
        self._controller.spending = poller.spending
        self._controller.save(self._ledger, now)
        return len(report.results)

    def _slowed(self, poller: Poller, due: list[SourceState], now: datetime) -> list[SourceState]:
        """Fetch fewer sources while too much waits to be published; the others stay due."""
        share = self._pressure().fetch_share
        if share >= 1:
            return due
        budget = self._options.budget.part(share)
        allowance, poller.spending = budget.allowance(poller.spending, now)
        return due if allowance else []

    def _due(self, under_way: int, now: datetime) -> list[SourceState]:
        """The due sources, unless enough are being polled: reading them all at every step costs more than polling."""
        most = self._options.max_sources_per_step
        if 2 * under_way > most:
            return []
        states = map(state_of, self._catalog.sources.due(now, most, version=self._in_force()))
        return [replace(state, subscribers=max(self._readers.get(state.source, 1), 1)) for state in states]

    def _remember(self, report: CrawlReport) -> None:
        """Save the results. States are read again, since a batch may have changed one while its source was polled."""
        results = {result.source: result for result in report.results}
        rules = self._controller.rules
        self._controller.requests += len(results)
        set_by_hand: dict[str, Hub] = {}

        def after_poll(record: SourceRecord) -> FetchState:
            if hub := hub_by_hand(record):
                set_by_hand[record.name] = hub
            result = results[record.name]
            return saved(record, next_check(state_of(record), result, result.at, rules))

        self._memory.change(results, after_poll)
        self._catalog.failures.record(_failures(failures_of(report), self._clock()))
        if self._leases:
            named = {
                r.source: Hub(url=r.hub, topic=r.topic or _answering_url(r)) for r in report.results if r.hub
            }
            self._leases.take_hubs(named, named_by=NamedBy.HEADERS)
            self._leases.take_hubs(set_by_hand, named_by=NamedBy.HAND)

    def _defer_queued(self, due: Sequence[SourceState]) -> None:
        """Defer sources that queue for one host to their turn, so that they do not hide the others."""
        now = self._clock()
        turns = turns_of(due, self._ledger, now)
        self._memory.change(
            turns,
            lambda record: replace(
                record.state, next_check_at=max(turns[record.name], record.state.next_check_at)
            ),
        )

    @asynccontextmanager
    async def _crawling(self, ledger: HostLedger) -> AsyncIterator[Crawler]:
        async with AiohttpTransport(rule=AddressRule(allow_private=self._allow_private)) as transport:
            fetcher = Fetcher(transport=transport, clock=self._clock, agent=self._agent)
            yield Crawler(fetcher, self._log, ledger, options=self._options, clock=self._clock)


def turns_of(due: Sequence[SourceState], ledger: HostLedger, now: datetime) -> dict[str, datetime]:
    """When each of the due sources that have to queue for their host will have its turn."""
    queues: dict[str, int] = {}
    turns: dict[str, datetime] = {}
    for state in due:
        host = host_of(state.url)
        place = queues[host] = queues.get(host, -1) + 1
        if place:
            free_at = max(ledger.free_at(host, now), now)
            turns[state.source] = free_at + timedelta(seconds=place * max(ledger.rules.spacing_s, 1.0))
    return turns


def _news_since(state: SourceState, report: SourceReport) -> datetime | None:
    """The time of the poll before the one that found something new, or None: then nothing was new, no poll found it, or
    a hub did not push yet at that time."""
    if not report.items or not report.arrived:
        return None
    before = poll_before(state.history, datetime.fromisoformat(report.arrived))
    is_covered = before is not None and state.pushed_since is not None and before >= state.pushed_since
    return before if is_covered else None


def _with_report(state: SourceState, report: SourceReport, now: datetime, rules: RefreshRules) -> SourceState:
    if report.failure:
        return unreadable(state, report.failure, now, rules)
    if report.description:
        state = described(state, _description(report), rules)
    if report.arrived:
        arrived = datetime.fromisoformat(report.arrived)
        published = tuple(datetime.fromtimestamp(moment, UTC) for moment in report.published)
        state = learned(state, arrived, report.items, report.sightings, now, rules, published=published)
    return state


def _description(report: SourceReport) -> FeedDescription:
    values = report.description or {}
    return FeedDescription(
        ttl_s=values["ttl_s"], skip_hours=tuple(values["skip_hours"]), skip_days=tuple(values["skip_days"])
    )


def _answering_url(result: FetchResult) -> str:
    """The address that answered."""
    return result.outcome.validators.url if isinstance(result.outcome, Changed | Unchanged) else ""


def _failures(failures: Sequence[tuple[str, str]], now: datetime) -> list[Failure]:
    return [Failure(kind="source", resource=name, at=now, reason=reason) for name, reason in failures]
