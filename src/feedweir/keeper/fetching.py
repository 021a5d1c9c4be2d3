"""The fetch loop: due sources are looked at, documents landed, and what was learnt is remembered."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Protocol

from feedweir.acquire.addresses import AddressRule
from feedweir.acquire.aiohttp_transport import AiohttpTransport
from feedweir.acquire.crawl import Crawler, CrawlOptions, CrawlReport, failures_of
from feedweir.acquire.exchange import Agent, Changed, FetchResult, Unchanged
from feedweir.acquire.fetch import Fetcher
from feedweir.acquire.hosts import HostLedger, HostRules
from feedweir.acquire.http_rules import host_of
from feedweir.acquire.landing import LandingLog
from feedweir.acquire.refresh.budget import Spending
from feedweir.acquire.refresh.history import look_before
from feedweir.acquire.refresh.rules import RefreshRules, described, learned, next_check, resumed, unreadable
from feedweir.acquire.refresh.state import SourceState
from feedweir.acquire.websub import Hub, ToldBy
from feedweir.catalog import Catalog, Failure, FetchState, SourceRecord
from feedweir.engine.batches import Manifest, SourceReport
from feedweir.errors import FeedweirError
from feedweir.items.model import FeedDescription
from feedweir.keeper.lease_records import hub_by_hand, hubs_in
from feedweir.keeper.leases import Leases
from feedweir.keeper.looping import Loop
from feedweir.keeper.source_states import SourceMemory, saved, state_of
from feedweir.keeper.steering import Helm, rules_of

__all__ = ["FetchLoop", "Looker", "Opening", "rules_of", "state_of"]

_log = logging.getLogger(__name__)

_IDLE_S = 1.0
_LINGER_S = 1.0
"""How long a look waits for the slow; what they bring is remembered by a later one."""
_AFTER_ERROR_S = 5.0
_COUNT_S = 3_600.0


class Looker(Protocol):
    """Who looks at sources: a crawler in this process, or tasks on executors."""

    spending: Spending

    async def look(self, due: Sequence[SourceState], *, linger_s: float | None = None) -> CrawlReport: ...

    @property
    def under_way(self) -> int: ...

    async def close(self) -> None: ...


Opening = Callable[[HostLedger], AbstractAsyncContextManager[Looker]]
"""Opens a looker that asks this ledger before it asks a host."""


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
    ) -> None:
        """`in_force` tells the version that the next batch is matched against: a source that is newer is not looked
        at yet, since what it showed first would be in no feed."""
        super().__init__("fetch", "fetching fails")
        self._catalog = catalog
        self._log = log
        self._options = options
        self._agent = agent
        self._allow_private = allow_private
        self._clock = clock
        self._ledger = HostLedger(hosts)
        self._helm = Helm(options.rules, options.budget, notes)
        self._memory = memory or SourceMemory(catalog)
        self._leases = leases
        self._in_force = in_force
        self._readers: dict[str, int] = {}
        self._opening = opening or self._crawling

    @property
    def rules(self) -> RefreshRules:
        """The rules in force."""
        return self._helm.rules

    def resume(self) -> int:
        """Take up where the last run stopped: what fell due meanwhile is spread, not asked for at once; how many."""
        self._helm.restore(self._ledger)
        now = self._clock()
        overdue = self._catalog.sources.overdue(now)
        spread_s = len(overdue) / max(self._options.budget.rate / 2, 1e-9)
        if spread_s < 1.0:
            return 0
        return self._memory.change(
            overdue,
            lambda record: saved(record, resumed(state_of(record), now, spread_s)),
        )

    def learn(self, manifest: Manifest) -> None:
        """Take in what a batch found in the documents: how much was new, when to come back, what was no feed."""
        now = self._clock()
        reports, rules = manifest.sources, self._helm.rules
        looks: dict[str, datetime] = {}

        def taught(record: SourceRecord) -> FetchState:
            report, state = reports[record.name], state_of(record)
            if before := _news_since(state, report):
                looks[record.name] = before
            description = report.description or record.state.description
            return replace(saved(record, _taught(state, report, now, rules)), description=description)

        self._memory.change(reports, taught)
        if self._leases:
            self._leases.found(looks)
            told = {name: report.description for name, report in reports.items() if report.description}
            self._leases.notice(hubs_in(told, self._urls(told)))

    def fetch_once(self) -> int:
        """Look at what is due and may be asked now; how many sources that were."""
        return asyncio.run(self._once())

    async def _once(self) -> int:
        self._readers = self._catalog.sources.readers()
        async with self._opening(self._ledger) as looker:
            looker.spending = self._helm.spending
            return await self._step(looker, linger_s=None)

    def _urls(self, told: dict[str, dict[str, Any]]) -> dict[str, str]:
        """Where sources are that name a hub, and do not say by which name it knows them."""
        unnamed = [name for name, about in told.items() if about.get("hub") and not about.get("self_link")]
        return {record.name: record.state.url for record in self._catalog.sources.several(unnamed)}

    def _run(self) -> None:
        asyncio.run(self._fetch_until_stopped())

    async def _fetch_until_stopped(self) -> None:
        self.resume()
        async with self._opening(self._ledger) as looker:
            looker.spending = self._helm.spending
            beside = [asyncio.create_task(task) for task in (self._tend_leases(), self._count_readers())]
            while not self._stopping.is_set():
                pause_s = await self._guarded_step(looker)
                if pause_s:
                    await asyncio.to_thread(self._stopping.wait, pause_s)
            # What is under way and nearly there is worth a moment more; the rest stays due.
            self._remember(await looker.look([], linger_s=_LINGER_S))
            await looker.close()
            for task in beside:
                task.cancel()
        self._helm.save(self._ledger, self._clock(), is_last=True)

    async def _tend_leases(self) -> None:
        """Hubs are spoken to beside the fetching: a slow one holds nothing up."""
        while self._leases:
            try:
                if self._leases.is_due():
                    await self._leases.tend()
            except (FeedweirError, OSError):
                _log.exception("hubs are asked again in a moment")
            await asyncio.sleep(_AFTER_ERROR_S)

    async def _count_readers(self) -> None:
        """How many read each source, which publishers are told; counted seldom, beside the fetching."""
        while True:
            try:
                self._readers = await asyncio.to_thread(self._catalog.sources.readers)
            except (FeedweirError, OSError):
                _log.exception("readers are counted again later")
            await asyncio.sleep(_COUNT_S)

    async def _guarded_step(self, looker: Looker) -> float:
        """A step, and how long to pause after it; a full disk or a locked database is waited out."""
        try:
            pause_s = 0.0 if await self._step(looker, linger_s=_LINGER_S) else _IDLE_S
            self._standing.well()
            return pause_s
        except (FeedweirError, OSError) as error:
            self._standing.failed(error)
            _log.exception("fetching pauses for a moment")
            return _AFTER_ERROR_S

    async def _step(self, looker: Looker, *, linger_s: float | None) -> int:
        now = self._clock()
        due = self._due(looker.under_way, now)
        if self._helm.is_due(now):
            self._helm.steer(map(state_of, self._catalog.sources.all()), len(due), now)
        report = await looker.look(due, linger_s=linger_s)
        self._remember(report)
        if len(due) == self._options.max_sources_per_step:
            self._make_way(due)
        self._helm.spending = looker.spending
        self._helm.save(self._ledger, now)
        return len(report.results)

    def _due(self, under_way: int, now: datetime) -> list[SourceState]:
        """What is due, unless there is enough under way: to read it all again at every step costs more than looking."""
        most = self._options.max_sources_per_step
        if 2 * under_way > most:
            return []
        states = map(state_of, self._catalog.sources.due(now, most, version=self._in_force()))
        return [replace(state, subscribers=max(self._readers.get(state.source, 1), 1)) for state in states]

    def _remember(self, report: CrawlReport) -> None:
        """States are read again: a batch may have taught a source something while it was being looked at."""
        results = {result.source: result for result in report.results}
        rules = self._helm.rules
        self._helm.requests += len(results)
        set_by_hand: dict[str, Hub] = {}

        def looked_at(record: SourceRecord) -> FetchState:
            if hub := hub_by_hand(record):
                set_by_hand[record.name] = hub
            result = results[record.name]
            return saved(record, next_check(state_of(record), result, result.at, rules))

        self._memory.change(results, looked_at)
        self._catalog.failures.record(_failures(failures_of(report), self._clock()))
        if self._leases:
            named = {r.source: Hub(url=r.hub, topic=r.topic or _asked(r)) for r in report.results if r.hub}
            self._leases.notice(named, told_by=ToldBy.HEADERS)
            self._leases.notice(set_by_hand, told_by=ToldBy.HAND)

    def _make_way(self, due: Sequence[SourceState]) -> None:
        """Sources that queue for one host stand back to their turn, so that they do not hide the others."""
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
    """When a look found nothing yet of what this one did; None when no look brought it, or nothing was new.

    Of what came before a hub began to push, the first look of its lease tells: that is not the hub's silence.
    """
    if not report.items or not report.arrived:
        return None
    before = look_before(state.history, datetime.fromisoformat(report.arrived))
    is_covered = before is not None and state.pushed_since is not None and before >= state.pushed_since
    return before if is_covered else None


def _taught(state: SourceState, report: SourceReport, now: datetime, rules: RefreshRules) -> SourceState:
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


def _asked(result: FetchResult) -> str:
    """The address that answered."""
    return result.outcome.validators.url if isinstance(result.outcome, Changed | Unchanged) else ""


def _failures(failures: Sequence[tuple[str, str]], now: datetime) -> list[Failure]:
    return [Failure(kind="source", resource=name, at=now, reason=reason) for name, reason in failures]
