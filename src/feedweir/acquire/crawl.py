"""One step of the crawl: choose among the due sources, fetch them at once, land what is new, decide the next looks.

The loop around it only asks a catalog for due sources and gives it the new states back. A step lands before it
answers: when a state says that a document was seen, the document is on disk.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from feedweir.acquire.exchange import Changed, Failed, FetchRequest, FetchResult, Gone, Reason
from feedweir.acquire.fetch import Fetcher
from feedweir.acquire.hosts import HostLedger, PoliteTransport
from feedweir.acquire.http_rules import host_of
from feedweir.acquire.landing import Landed, LandingLog
from feedweir.acquire.refresh.budget import Budget, Spending
from feedweir.acquire.refresh.rules import RefreshRules, fraction, is_due, next_check
from feedweir.acquire.refresh.state import SourceState


@dataclass(frozen=True, slots=True, kw_only=True)
class CrawlOptions:
    rules: RefreshRules = field(default_factory=RefreshRules)
    budget: Budget = field(default_factory=Budget)
    max_concurrent: int = 128
    max_sources_per_step: int = 5_000
    max_unlanded_bytes: int = 32 << 20
    """How much may wait in memory for the landing log."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CrawlReport:
    """What a step did, in the order of its sources."""

    states: tuple[SourceState, ...] = ()
    """To be stored: every source that was looked at, with its next check."""
    results: tuple[FetchResult, ...] = ()
    """What each look brought; documents are in the log and their bodies no longer here."""
    segment: int = 0
    """The last landing segment that holds documents of this step; 0 when nothing was landed."""


class Crawler:
    """The parts a step needs, put together once. Steps may overlap: the ledger and the spending are shared."""

    def __init__(
        self,
        fetcher: Fetcher,
        log: LandingLog,
        ledger: HostLedger,
        *,
        options: CrawlOptions | None = None,
        clock: Callable[[], datetime],
    ) -> None:
        self.options = options or CrawlOptions()
        self.ledger = ledger
        self.spending = Spending()
        self._fetcher = replace(fetcher, transport=PoliteTransport(fetcher.transport, ledger, clock))
        self._log = log
        self._clock = clock

    async def step(self, due: Sequence[SourceState]) -> CrawlReport:
        """Fetch what may be fetched of the due sources; those left out stay due."""
        now = self._clock()
        allowance, self.spending = self.options.budget.allowance(self.spending, now)
        allowance = min(allowance, self.options.max_sources_per_step)
        chosen = choose(due, self.ledger, allowance, now)
        self.spending = self.spending.spent(len(chosen))
        harvest = _Harvest(self._log, self.options.max_unlanded_bytes)
        looks = iter(chosen)
        workers = [self._work(looks, harvest) for _ in range(min(self.options.max_concurrent, len(chosen)))]
        await asyncio.gather(*workers)
        await harvest.land()
        return self._report(chosen, harvest)

    async def _work(self, looks: Iterator[SourceState], harvest: _Harvest) -> None:
        for state in looks:
            result = await self._fetcher.fetch(request_of(state))
            await harvest.add(result)

    def _report(self, chosen: Sequence[SourceState], harvest: _Harvest) -> CrawlReport:
        results = tuple(harvest.results[state.source] for state in chosen)
        states = tuple(
            next_check(state, result, result.at, self.options.rules)
            for state, result in zip(chosen, results, strict=True)
        )
        return CrawlReport(states=states, results=results, segment=harvest.segment)


class _Harvest:
    """Results of a step as they come in; documents are landed whenever enough have gathered."""

    def __init__(self, log: LandingLog, max_bytes: int) -> None:
        self.results: dict[str, FetchResult] = {}
        self.segment = 0
        self._log = log
        self._max_bytes = max_bytes
        self._documents: list[Landed] = []
        self._bytes = 0
        self._landing = asyncio.Lock()

    async def add(self, result: FetchResult) -> None:
        outcome = result.outcome
        if isinstance(outcome, Changed):
            self._documents.append(outcome.document)
            self._bytes += len(outcome.document.body)
            result = replace(result, outcome=replace(outcome, document=replace(outcome.document, body=b"")))
        self.results[result.source] = result
        if self._bytes >= self._max_bytes:
            await self.land()

    async def land(self) -> None:
        async with self._landing:
            documents, self._documents, self._bytes = self._documents, [], 0
            if documents:
                self.segment = await asyncio.to_thread(self._log.append, documents)


def choose(
    due: Iterable[SourceState], ledger: HostLedger, allowance: int, now: datetime
) -> tuple[SourceState, ...]:
    """The sources to fetch now: the longest overdue first, no more than allowed, and one for each free host."""
    chosen: list[SourceState] = []
    taken: set[str] = set()
    for state in sorted(due, key=_overdue_first):
        if len(chosen) >= allowance:
            break
        hosts = hosts_of(state)
        if is_due(state, now) and taken.isdisjoint(hosts) and all(ledger.permits(h, now) for h in hosts):
            chosen.append(state)
            taken.update(hosts)
    return tuple(chosen)


def request_of(state: SourceState) -> FetchRequest:
    return FetchRequest(
        source=state.source, url=state.url, validators=state.validators, subscribers=state.subscribers
    )


def hosts_of(state: SourceState) -> tuple[str, ...]:
    """Every host that a look will ask, as far as the last look tells."""
    return tuple(dict.fromkeys((host_of(state.url), *state.hosts)))


def share_of(state: SourceState, shares: int) -> int:
    """Which of so many crawlers looks after a source: all sources of a host go to one, so that it can be polite."""
    return int(fraction(host_of(state.url)) * shares)


def failures_of(report: CrawlReport) -> tuple[tuple[str, str], ...]:
    """(source, reason in words) for every look that failed; our own restraint is not a failure."""
    return tuple(
        (result.source, str(result.outcome))
        for result in report.results
        if isinstance(result.outcome, Gone)
        or (isinstance(result.outcome, Failed) and result.outcome.reason is not Reason.BUSY)
    )


def _overdue_first(state: SourceState) -> tuple[datetime, str]:
    return state.next_at, state.source
