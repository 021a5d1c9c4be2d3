"""Crawl of 10,000 sources against a local origin in a process of its own, an hour of simulated time.

The origin answers 304 to a validator it knows and 200 otherwise; a part of the sources changes between polls. The clock
of the crawl is simulated, so that politeness is exercised at full speed; the origin's requests are all checked.
Every poll is planned, as by default, and then made when the load of the benchmark wants it; `unplanned_fetches_per_s`
is without planning.
"""

from __future__ import annotations

import argparse
import asyncio
import heapq
import multiprocessing
import resource
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime, timedelta
from multiprocessing.connection import Connection
from typing import Any

from aiohttp.abc import AbstractResolver, ResolveResult

from feedweir.acquire.fetch.addresses import AddressRule
from feedweir.acquire.fetch.aiohttp_transport import AiohttpTransport
from feedweir.acquire.fetch.crawl import Crawler, CrawlOptions, CrawlReport, share_of
from feedweir.acquire.fetch.fetcher import Fetcher
from feedweir.acquire.fetch.hosts import HostLedger, HostRules
from feedweir.acquire.fetch.http_rules import host_of
from feedweir.acquire.fetch.transport import Changed, Failed, Request, Response, Transport, Unchanged
from feedweir.acquire.refresh.policies import Fixed, Planned
from feedweir.acquire.refresh.refresh_rules import RefreshRules, fraction
from feedweir.acquire.refresh.request_budget import Budget
from feedweir.acquire.refresh.source_history import History
from feedweir.acquire.refresh.source_state import SourceState
from feedweir.logs.landing import LandingLog

START = datetime(2024, 5, 1, tzinfo=UTC)
_ITEM = b"<item><guid>%d</guid><title>An item of some length, as items are</title></item>"
_CHANGES_EVERY = 4
_STEP_S = 30


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--sources", type=int, default=10_000)
    parser.add_argument("--sources-per-host", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=4, help="polls each source within the simulated hour")
    parser.add_argument("--crawlers", type=int, default=2, help="processes that share the hosts")


def run(options: argparse.Namespace) -> dict[str, object]:
    planned, unplanned = (_crawled(options, is_planned) for is_planned in (True, False))
    return {**planned, "unplanned_fetches_per_s": unplanned["fetches_per_s"]}


def _crawled(options: argparse.Namespace, is_planned: bool) -> dict[str, object]:
    rounds = options.rounds * (4 if options.full else 1)
    with tempfile.TemporaryDirectory() as directory, _background(_origin) as (port, _):
        parts = (options.sources, options.sources_per_host, rounds, options.crawlers, is_planned)
        children = [
            _background(_crawler, port, directory, share, *parts) for share in range(options.crawlers)
        ]
        with ExitStack() as stack:
            crawlers = [stack.enter_context(child)[1] for child in children]
            reports = [crawler.recv() for crawler in crawlers]
        return _summary(reports, options, LandingLog(directory).latest())


@contextmanager
def _background(target: Callable[..., None], *arguments: object) -> Iterator[tuple[Any, Connection]]:
    """A process of its own; yields the first thing it says, and the pipe for the rest."""
    ours, theirs = multiprocessing.Pipe()
    process = multiprocessing.Process(target=target, args=(theirs, *arguments), daemon=True)
    process.start()
    try:
        yield ours.recv(), ours
    finally:
        process.terminate()
        process.join()


def _summary(
    reports: list[dict[str, float]], options: argparse.Namespace, segments: int
) -> dict[str, object]:
    fetches = sum(report["fetches"] for report in reports)
    halves = [sum(report[half] for report in reports) for half in ("memory_first", "memory_second")]
    return {
        "fetches_per_s": round(fetches / max(report["elapsed_s"] for report in reports), 1),
        "fetches_per_cpu_s": round(fetches / sum(report["cpu_s"] for report in reports), 1),
        "politeness_violations": int(sum(report["violations"] for report in reports)),
        "memory_growth": round(halves[1] / halves[0], 3),
        "memory_mb": round(halves[1]),
        "fetches": int(fetches),
        **{kind: int(sum(report[kind] for report in reports)) for kind in ("changed", "unchanged", "failed")},
        "sources": options.sources,
        "hosts": -(-options.sources // options.sources_per_host),
        "crawlers": options.crawlers,
        "landed_segments": segments,
    }


class _Clock:
    """Simulated time: an hour in steps of a second."""

    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> datetime:
        return self.now


class _Witness:
    """A transport that notes every request that leaves, to be judged afterwards by the rules."""

    def __init__(self, transport: Transport, clock: _Clock, rules: HostRules) -> None:
        self._transport = transport
        self._clock = clock
        self._rules = rules
        self._last: dict[str, datetime] = {}
        self._flying: dict[str, int] = {}
        self.violations = 0
        self.requests = 0

    def open(self, request: Request) -> _Watched:
        host, now = host_of(request.url), self._clock()
        last = self._last.get(host)
        too_soon = last is not None and (now - last).total_seconds() < self._rules.spacing_s
        too_many = self._flying.get(host, 0) >= self._rules.max_concurrent
        self.violations += too_soon or too_many
        self.requests += 1
        self._last[host] = now
        self._flying[host] = self._flying.get(host, 0) + 1
        return _Watched(self._transport.open(request), self._flying, host)


class _Watched:
    def __init__(self, exchange: object, flying: dict[str, int], host: str) -> None:
        self._exchange, self._flying, self._host = exchange, flying, host

    async def __aenter__(self) -> Response:
        return await self._exchange.__aenter__()  # type: ignore[attr-defined, no-any-return]

    async def __aexit__(self, *raised: object) -> None:
        self._flying[self._host] -= 1
        await self._exchange.__aexit__(*raised)  # type: ignore[attr-defined]


class _Agenda:
    """What a catalog does: keeps states by their next check, and lists those that are due."""

    def __init__(self, states: Iterable[SourceState]) -> None:
        self._heap: list[tuple[datetime, str, SourceState]] = []
        self._due: dict[str, SourceState] = {}
        self.put(states)

    def put(self, states: Iterable[SourceState]) -> None:
        for state in states:
            self._due.pop(state.source, None)
            heapq.heappush(self._heap, (state.next_at, state.source, state))

    def due(self, now: datetime) -> list[SourceState]:
        while self._heap and self._heap[0][0] <= now:
            _, source, state = heapq.heappop(self._heap)
            self._due[source] = state
        return list(self._due.values())


class _EveryName(AbstractResolver):
    """Every host name leads to the local origin."""

    async def resolve(self, host: str, port: int = 0, family: int = 0) -> list[ResolveResult]:
        return [ResolveResult(hostname=host, host="127.0.0.1", port=port, family=2, proto=0, flags=0)]

    async def close(self) -> None:
        pass


def _crawler(
    pipe: Connection,
    port: int,
    directory: str,
    share: int,
    sources: int,
    per_host: int,
    rounds: int,
    shares: int,
    is_planned: bool,
) -> None:
    interval_s = 3_600 / rounds
    states = _sources(port, sources, per_host, interval_s)
    own = [state for state in states if share_of(state, shares) == share]
    policy = _PlannedInVain(interval_s=interval_s) if is_planned else Fixed(interval_s=interval_s)
    policy.next_poll(History(), START, START, START)  # kernels are loaded before time is taken
    pipe.send("ready")
    pipe.send(asyncio.run(_crawl(LandingLog(directory), own, policy)))


class _PlannedInVain(Fixed):
    """Costs what planning costs, and polls the same moments as without."""

    def next_poll(self, history: History, now: datetime, earliest: datetime, latest: datetime) -> datetime:
        Planned().next_poll(history, now, earliest, latest)
        return Fixed.next_poll(self, history, now, earliest, latest)


async def _crawl(log: LandingLog, states: Iterable[SourceState], policy: Fixed) -> dict[str, float]:
    """An hour of simulated time at full speed."""
    clock = _Clock()
    agenda = _Agenda(states)
    host_rules = HostRules(max_concurrent=1, spacing_s=1.0)
    rules = RefreshRules(policy=policy, floor_s=min(900.0, policy.interval_s), jitter=0.0)
    options = CrawlOptions(rules=rules, budget=Budget(per_second=1e9), max_concurrent=96)
    tally = {"changed": 0, "unchanged": 0, "failed": 0}
    memory: list[int] = []
    transport = AiohttpTransport(
        rule=AddressRule(allow_private=True), resolver=_EveryName(), keep_alive_s=5.0
    )
    began, began_cpu = time.perf_counter(), time.process_time()
    async with transport:
        witness = _Witness(transport, clock, host_rules)
        fetcher = Fetcher(transport=witness, clock=clock)
        crawler = Crawler(fetcher, log, HostLedger(host_rules), options=options, clock=clock)
        while clock.now < START + timedelta(hours=1):
            report = await crawler.step(agenda.due(clock.now))
            agenda.put(report.states)
            _count(tally, report)
            clock.now += timedelta(seconds=_STEP_S)
            memory.append(_resident_mb())
    return {
        **tally,
        "fetches": witness.requests,
        "violations": witness.violations,
        "elapsed_s": time.perf_counter() - began,
        "cpu_s": time.process_time() - began_cpu,
        # The first steps import and allocate; from then on memory has to stay what it is.
        "memory_first": max(memory[: len(memory) // 2]),
        "memory_second": max(memory[len(memory) // 2 :]),
    }


def _sources(port: int, sources: int, per_host: int, interval_s: float) -> Iterable[SourceState]:
    for number in range(sources):
        url = f"http://host{number // per_host}.example:{port}/{number}"
        source = f"source{number}"
        yield SourceState(
            source=source, url=url, next_at=START + timedelta(seconds=interval_s * fraction(source))
        )


def _count(tally: dict[str, int], report: CrawlReport) -> None:
    kinds = {Changed: "changed", Unchanged: "unchanged", Failed: "failed"}
    for result in report.results:
        tally[kinds[type(result.outcome)]] += 1  # type: ignore[index]


def _resident_mb() -> int:
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * resource.getpagesize() >> 20


class _Origin(asyncio.Protocol):
    """Answers from memory: a document that changes at every fourth request for it, 304 to its present validator."""

    def __init__(self) -> None:
        self._buffer = b""
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        while (end := self._buffer.find(b"\r\n\r\n")) >= 0:
            head, self._buffer = self._buffer[:end], self._buffer[end + 4 :]
            if self._transport is not None:
                self._transport.write(_answer(head))


_REQUESTS: dict[bytes, int] = {}


def _answer(head: bytes) -> bytes:
    path = head.split(b" ", 2)[1]
    asked = _REQUESTS.get(path, int(path[1:]))
    _REQUESTS[path] = asked + 1
    etag = b'"%d"' % (asked // _CHANGES_EVERY)
    if b"If-None-Match: " + etag in head:
        return b"HTTP/1.1 304 Not Modified\r\nETag: " + etag + b"\r\n\r\n"
    body = b"<rss><channel>" + b"".join(_ITEM % n for n in range(asked, asked + 30)) + b"</channel></rss>"
    return (
        b"HTTP/1.1 200 OK\r\nContent-Type: application/rss+xml\r\nContent-Length: %d\r\nETag: %s\r\n\r\n"
        % (len(body), etag)
    ) + body


def _origin(pipe: Connection) -> None:
    async def serve() -> None:
        server = await asyncio.get_running_loop().create_server(_Origin, "127.0.0.1", 0, backlog=1024)
        pipe.send(server.sockets[0].getsockname()[1])
        await server.serve_forever()

    asyncio.run(serve())
