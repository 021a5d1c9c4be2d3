"""Fetching on the executors: the driver says who may be asked, tasks ask and land, outcomes come back.

Politeness is decided in one place. The driver's ledger grants every host to one task at a time and spaces the grants;
a task may ask the hosts that were granted to it and no other, redirects included. A task lands before it answers, so
that a document whose outcome is lost with its executor is fetched again, and its items are recognised.
"""

from __future__ import annotations

import asyncio
import logging
import pickle
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import SparkSession

from feedweir.acquire.fetch.addresses import AddressRule
from feedweir.acquire.fetch.aiohttp_transport import AiohttpTransport
from feedweir.acquire.fetch.crawl import Crawler, CrawlOptions, CrawlReport, choose, hosts_of, share_of
from feedweir.acquire.fetch.fetcher import Fetcher
from feedweir.acquire.fetch.hosts import HostLedger, HostRules
from feedweir.acquire.fetch.http_rules import host_of
from feedweir.acquire.fetch.transport import (
    Agent,
    Exchange,
    Failed,
    FetchLimits,
    FetchResult,
    Reason,
    Request,
    Transport,
    TransportError,
)
from feedweir.acquire.refresh.request_budget import Budget, Spending
from feedweir.acquire.refresh.source_history import History
from feedweir.acquire.refresh.source_state import SourceState
from feedweir.health.log_setup import log_in_worker
from feedweir.logs.landing import LandingLog
from feedweir.storage import Place

_log = logging.getLogger(__name__)

SOURCES_PER_TASK = 256
_UNBOUNDED = Budget(per_second=1e9)


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchOptions:
    """How tasks fetch."""

    landing: Place
    hosts: HostRules = field(default_factory=HostRules)
    limits: FetchLimits = field(default_factory=FetchLimits)
    agent: Agent = field(default_factory=Agent)
    allow_private: bool = False
    log_level: str = ""


class ExecutorPoller:
    """Polls sources in Spark tasks: a `Poller` of the fetch loop."""

    def __init__(
        self,
        session: SparkSession,
        fetch_options: FetchOptions,
        ledger: HostLedger,
        *,
        tasks: int,
        options: CrawlOptions,
        clock: Callable[[], datetime],
    ) -> None:
        self.spending = Spending()
        self._session = session
        self._fetch_options = fetch_options
        self._ledger = ledger
        self._tasks = max(tasks, 1)
        self._options = options
        self._clock = clock
        self._flying: set[str] = set()
        self._jobs: set[asyncio.Task[tuple[FetchResult, ...]]] = set()

    @property
    def under_way(self) -> int:
        return len(self._flying)

    async def poll(self, due: Sequence[SourceState], *, linger_s: float | None = None) -> CrawlReport:
        """Hand due sources to tasks; the outcomes that are there after `linger_s`, of this poll and earlier ones."""
        chosen = self._chosen(due)
        if chosen:
            self._jobs.add(asyncio.create_task(self._job(chosen)))
        if not self._jobs:
            return CrawlReport()
        done, self._jobs = await asyncio.wait(self._jobs, timeout=linger_s)
        results = sorted((r for job in done for r in job.result()), key=lambda result: result.source)
        self._flying.difference_update(result.source for result in results)
        return CrawlReport(results=tuple(results))

    async def close(self) -> None:
        """Leave what is under way: tasks land what they have, and their sources stay due."""
        for job in self._jobs:
            job.cancel()
        await asyncio.gather(*self._jobs, return_exceptions=True)
        self._jobs.clear()
        self._flying.clear()

    def _chosen(self, due: Sequence[SourceState]) -> tuple[SourceState, ...]:
        now = self._clock()
        allowance, self.spending = self._options.budget.allowance(self.spending, now)
        allowance = min(allowance, self._tasks * SOURCES_PER_TASK)
        idle = [state for state in due if state.source not in self._flying]
        chosen = choose(idle, self._ledger, allowance, now)
        self.spending = self.spending.spent(len(chosen))
        self._flying.update(state.source for state in chosen)
        for state in chosen:
            for host in hosts_of(state):
                self._ledger.started(host, now)
        return chosen

    async def _job(self, chosen: Sequence[SourceState]) -> tuple[FetchResult, ...]:
        shares = shares_of(chosen, self._tasks)
        try:
            found = await asyncio.to_thread(fetch_shares, self._session, self._fetch_options, shares)
        except Exception:
            # Whatever Spark raises: the executors were lost, and what they were asked for backs off.
            _log.exception("a Spark job that fetched sources failed")
            found = {}
        results = tuple(found.get(state.source) or _lost(state, self._clock()) for state in chosen)
        for state, result in zip(chosen, results, strict=True):
            self._settle(state, result)
        return results

    def _settle(self, state: SourceState, result: FetchResult) -> None:
        """Give the hosts back; spacing counts from the last request that a task made."""
        granted = hosts_of(state)
        for host in granted:
            self._ledger.finished(host)
        free_at = result.at + timedelta(seconds=self._ledger.rules.spacing_s)
        for place, host in enumerate(result.hosts):
            self._ledger.hold(host, free_at)
            if host in result.hosts[:place]:
                self._ledger.counted(host, result.at)
        rest_s = self._ledger.rules.rest_s(result.status, result.retry_after_s)
        if rest_s and result.hosts:
            self._ledger.hold(result.hosts[-1], result.at + timedelta(seconds=rest_s))


@asynccontextmanager
async def executor_poller(
    session: SparkSession,
    fetch_options: FetchOptions,
    ledger: HostLedger,
    *,
    tasks: int,
    options: CrawlOptions,
    clock: Callable[[], datetime],
) -> AsyncIterator[ExecutorPoller]:
    """A poller that is closed in the end."""
    poller = ExecutorPoller(session, fetch_options, ledger, tasks=tasks, options=options, clock=clock)
    try:
        yield poller
    finally:
        await poller.close()


def shares_of(chosen: Sequence[SourceState], tasks: int) -> list[tuple[SourceState, ...]]:
    """The sources of each task, all of a host together; no task without any."""
    shares: dict[int, list[SourceState]] = {}
    for state in chosen:
        # A task has no use for a source's history.
        shares.setdefault(share_of(state, tasks), []).append(replace(state, history=History()))
    return [tuple(shares[share]) for share in sorted(shares)]


def fetch_shares(
    session: SparkSession, fetch_options: FetchOptions, shares: Sequence[tuple[SourceState, ...]]
) -> dict[str, FetchResult]:
    """One Spark job, a task for each share; the outcomes by source, as far as tasks came back."""
    orders = [pickle.dumps((fetch_options, share)) for share in shares]
    numbers = session.range(0, len(orders), 1, len(orders))
    answers = numbers.mapInArrow(_carrier(orders), "answer binary").collect()
    return {result.source: result for row in answers for result in pickle.loads(row.answer)}


def _carrier(orders: list[bytes]) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def run(numbers: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        # Imported where it runs: the worker process's own copy of this module, not what Spark shipped.
        from feedweir.spark import fetching

        for batch in numbers:
            answers = [fetching.carry_out(orders[number]) for number in batch.column(0).to_pylist()]
            yield pa.RecordBatch.from_pydict({"answer": pa.array(answers, pa.binary())})

    return run


def carry_out(order: bytes) -> bytes:
    """Fetch what an order names; the outcomes, pickled."""
    fetch_options, share = pickle.loads(order)
    log_in_worker(fetch_options.log_level)
    context = TaskContext.get()
    if context is not None and context.attemptNumber() > 0:
        # The first attempt may have asked all these hosts a moment ago; the driver will decide when to ask again.
        return pickle.dumps(())
    return pickle.dumps(asyncio.run(fetch_share(fetch_options, share)))


async def fetch_share(fetch_options: FetchOptions, share: Sequence[SourceState]) -> tuple[FetchResult, ...]:
    """What a task does: poll its sources at once, land what is new, hand back the outcomes."""
    granted = frozenset(host for state in share for host in hosts_of(state))
    async with AiohttpTransport(rule=AddressRule(allow_private=fetch_options.allow_private)) as transport:
        fetcher = Fetcher(
            transport=GrantedTransport(transport, granted),
            clock=_now,
            limits=fetch_options.limits,
            agent=fetch_options.agent,
        )
        crawler = Crawler(
            fetcher,
            LandingLog(fetch_options.landing),
            HostLedger(fetch_options.hosts),
            options=CrawlOptions(budget=_UNBOUNDED, max_sources_per_step=len(share)),
            clock=_now,
        )
        return await crawler.fetch(share)


@dataclass(frozen=True, slots=True)
class GrantedTransport:
    """A transport that asks only the hosts that were granted; another one's turn comes when the driver knows of it."""

    transport: Transport
    hosts: frozenset[str]

    def open(self, request: Request) -> Exchange:
        host = host_of(request.url)
        if host not in self.hosts:
            raise TransportError(Reason.BUSY, host)
        return self.transport.open(request)


def _lost(state: SourceState, now: datetime) -> FetchResult:
    outcome = Failed(reason=Reason.CONNECTION, detail="the executor that polled was lost")
    return FetchResult(source=state.source, at=now, outcome=outcome, hosts=hosts_of(state))


def _now() -> datetime:
    return datetime.now(UTC)
