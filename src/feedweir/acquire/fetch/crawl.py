"""One step of the crawl: choose among the due sources, fetch them at once, land what is new, decide the next polls.

The loop around it only asks a catalog for due sources and gives it the new states back. A step lands before it
answers: when a state says that a document was seen, the document is on disk.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from feedweir.acquire.fetch.fetcher import Fetcher
from feedweir.acquire.fetch.hosts import HostLedger, PoliteTransport
from feedweir.acquire.fetch.http_rules import host_of
from feedweir.acquire.fetch.transport import Changed, Failed, FetchRequest, FetchResult, Gone, Reason
from feedweir.acquire.refresh.refresh_rules import RefreshRules, fraction, is_due, next_check
from feedweir.acquire.refresh.request_budget import Budget, Spending
from feedweir.acquire.refresh.source_state import SourceState
from feedweir.health.item_log import hand_over
from feedweir.logs.landing import Landed, LandingLog

_NO_FAILURES = (Reason.BUSY, Reason.PAGE)


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
    """The results of a step."""

    states: tuple[SourceState, ...] = ()
    """Every source that a step polled, with its next check; empty after `poll`, which leaves that to its caller."""
    results: tuple[FetchResult, ...] = ()
    """The result of each poll; documents are in the log, and their bodies no longer here."""
    segment: int = 0
    """The last landing segment that holds documents of this step; 0 when nothing was landed."""


class Crawler:
    """The parts a crawl needs, put together once. What is under way is shared by its steps."""

    def __init__(
        self,
        fetcher: Fetcher,
        log: LandingLog,
        ledger: HostLedger,
        *,
        options: CrawlOptions | None = None,
        clock: Callable[[], datetime],
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self.options = options or CrawlOptions()
        self.ledger = ledger
        self.spending = Spending()
        self._fetcher = replace(fetcher, transport=PoliteTransport(fetcher.transport, ledger, clock, sleep))
        self._clock = clock
        self._buffer = _ResultBuffer(log, self.options.max_unlanded_bytes)
        self._waiting: deque[SourceState] = deque()
        self._flying: set[str] = set()
        self._workers: set[asyncio.Task[None]] = set()

    async def step(self, due: Sequence[SourceState]) -> CrawlReport:
        """Fetch the due sources that may be fetched now, to the end; the others stay due."""
        report = await self.poll(due)
        states = {state.source: state for state in due}
        return replace(
            report,
            states=tuple(
                next_check(states[result.source], result, result.at, self.options.rules)
                for result in report.results
            ),
        )

    async def poll(self, due: Sequence[SourceState], *, linger_s: float | None = None) -> CrawlReport:
        """The same without deciding next checks, and without waiting for slow servers after `linger_s`.

        Their results are in the report of a later poll, so that a slow server does not delay the others.
        """
        now = self._clock()
        allowance, self.spending = self.options.budget.allowance(self.spending, now)
        allowance = min(allowance, self.options.max_sources_per_step)
        idle = [state for state in due if state.source not in self._flying]
        chosen = choose(idle, self.ledger, allowance, now)
        self.spending = self.spending.spent(len(chosen))
        self._waiting.extend(chosen)
        self._flying.update(state.source for state in chosen)
        self._employ()
        await self._wait(linger_s)
        report = await self._buffer.take()
        self._flying.difference_update(result.source for result in report.results)
        return report

    async def fetch(self, states: Sequence[SourceState]) -> tuple[FetchResult, ...]:
        """Fetch exactly these sources, due or not, under the usual limits for hosts."""
        self._waiting.extend(states)
        self._flying.update(state.source for state in states)
        self._employ()
        await self._wait(None)
        report = await self._buffer.take()
        self._flying.difference_update(result.source for result in report.results)
        return report.results

    @property
    def under_way(self) -> int:
        """How many sources are being polled."""
        return len(self._flying)

    async def close(self) -> None:
        """Abandon the polls under way; their sources stay due."""
        for worker in self._workers:
            worker.cancel()
        await asyncio.gather(*self._workers, return_exceptions=True)
        self._waiting.clear()
        self._flying.clear()

    def _employ(self) -> None:
        wanted = min(self.options.max_concurrent - len(self._workers), len(self._waiting))
        self._workers.update(asyncio.create_task(self._work()) for _ in range(wanted))

    async def _wait(self, linger_s: float | None) -> None:
        if not self._workers:
            return
        done, self._workers = await asyncio.wait(self._workers, timeout=linger_s)
        failed = [error for worker in done if (error := worker.exception())]
        if failed:
            # No answer of a server leads here, only a log that cannot be written. All sources that were asked stay due.
            await self.close()
            raise failed[0]

    async def _work(self) -> None:
        while self._waiting:
            state = self._waiting.popleft()
            result = await self._fetcher.fetch(request_of(state))
            hand_over("fetched", source=result.source, outcome=type(result.outcome).__name__.lower())
            await self._buffer.add(result)


class _ResultBuffer:
    """Results as they come in; documents are landed whenever enough have accumulated."""

    def __init__(self, log: LandingLog, max_bytes: int) -> None:
        self._segment = 0
        self._log = log
        self._max_bytes = max_bytes
        self._results: list[FetchResult] = []
        self._documents: list[Landed] = []
        self._bytes = 0
        self._landing = asyncio.Lock()

    async def add(self, result: FetchResult) -> None:
        outcome = result.outcome
        if isinstance(outcome, Changed):
            self._documents.append(outcome.document)
            self._bytes += len(outcome.document.body)
            result = replace(result, outcome=replace(outcome, document=replace(outcome.document, body=b"")))
        self._results.append(result)
        if self._bytes >= self._max_bytes:
            await self._land()

    async def take(self) -> CrawlReport:
        """The results so far; their documents are on disk."""
        results, self._results = self._results, []
        await self._land()
        segment, self._segment = self._segment, 0
        return CrawlReport(results=tuple(sorted(results, key=lambda result: result.source)), segment=segment)

    async def _land(self) -> None:
        async with self._landing:
            documents, self._documents, self._bytes = self._documents, [], 0
            if documents:
                self._segment = await asyncio.to_thread(self._log.append, documents)


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
        source=state.source,
        url=state.url,
        validators=state.validators,
        subscribers=state.subscribers,
        is_page_searched=not state.page,
        id_path=state.id_path,
    )


def hosts_of(state: SourceState) -> tuple[str, ...]:
    """Every host that a poll will ask, judging by the last poll."""
    return tuple(dict.fromkeys((host_of(state.url), *state.hosts)))


def share_of(state: SourceState, shares: int) -> int:
    """Which crawler a source belongs to: all sources of a host go to the same one, so that it can be polite."""
    return int(fraction(host_of(state.url)) * shares)


def failures_of(report: CrawlReport) -> tuple[tuple[str, str], ...]:
    """(source, reason in words) for every poll that failed; our own restraint does not count."""
    return tuple(
        (result.source, str(result.outcome))
        for result in report.results
        if isinstance(result.outcome, Gone)
        or (isinstance(result.outcome, Failed) and result.outcome.reason not in _NO_FAILURES)
    )


def _overdue_first(state: SourceState) -> tuple[datetime, str]:
    return state.next_at, state.source
