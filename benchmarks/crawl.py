"""Crawl of 10,000 sources against a local origin in a process of its own, an hour of simulated time.

The origin answers 304 to a validator it knows and 200 otherwise; a part of the sources changes between looks. The clock
of the crawl is simulated, so that politeness is exercised at full speed; the origin's requests are all checked.
"""

from __future__ import annotations

import argparse
import asyncio
import heapq
import multiprocessing
import resource
import tempfile
import time
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from multiprocessing.connection import Connection

from aiohttp.abc import AbstractResolver, ResolveResult

from feedweir.acquire.addresses import AddressRule
from feedweir.acquire.aiohttp_transport import AiohttpTransport
from feedweir.acquire.crawl import Crawler, CrawlOptions, CrawlReport
from feedweir.acquire.exchange import Changed, Failed, Request, Response, Transport, Unchanged
from feedweir.acquire.fetch import Fetcher
from feedweir.acquire.hosts import HostLedger, HostRules
from feedweir.acquire.http_rules import host_of
from feedweir.acquire.landing import LandingLog
from feedweir.acquire.refresh.budget import Budget
from feedweir.acquire.refresh.policies import Fixed
from feedweir.acquire.refresh.rules import RefreshRules, first_check
from feedweir.acquire.refresh.state import SourceState

START = datetime(2024, 5, 1, tzinfo=UTC)
_ITEM = b"<item><guid>%d</guid><title>An item of some length, as items are</title></item>"
_CHANGES_EVERY = 4
_STEP_S = 30


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--sources", type=int, default=10_000)
    parser.add_argument("--sources-per-host", type=int, default=4)
    parser.add_argument(
        "--rounds", type=int, default=4, help="looks at each source within the simulated hour"
    )


def run(options: argparse.Namespace) -> dict[str, object]:
    rounds = options.rounds * (4 if options.full else 1)
    ours, theirs = multiprocessing.Pipe()
    origin = multiprocessing.Process(target=_origin, args=(theirs,), daemon=True)
    origin.start()
    port = ours.recv()
    try:
        with tempfile.TemporaryDirectory() as directory:
            log = LandingLog(directory)
            return asyncio.run(_crawl(port, log, options.sources, options.sources_per_host, rounds))
    finally:
        origin.terminate()
        origin.join()


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


async def _crawl(port: int, log: LandingLog, sources: int, per_host: int, rounds: int) -> dict[str, object]:
    clock = _Clock()
    interval_s = 3_600 / rounds
    host_rules = HostRules(max_concurrent=1, spacing_s=1.0)
    rules = RefreshRules(policy=Fixed(interval_s=interval_s), floor_s=min(900.0, interval_s), jitter=0.0)
    agenda = _Agenda(_sources(port, sources, per_host, interval_s))
    tally = {"changed": 0, "unchanged": 0, "failed": 0}
    memory: list[int] = []
    transport = AiohttpTransport(
        rule=AddressRule(allow_private=True), resolver=_EveryName(), max_connections=256, keep_alive_s=5.0
    )
    async with transport:
        witness = _Witness(transport, clock, host_rules)
        fetcher = Fetcher(transport=witness, clock=clock)
        options = CrawlOptions(rules=rules, budget=Budget(per_second=1e9), max_concurrent=96)
        crawler = Crawler(fetcher, log, HostLedger(host_rules), options=options, clock=clock)
        began, began_cpu = time.perf_counter(), time.process_time()
        while clock.now < START + timedelta(hours=1):
            report = await crawler.step(agenda.due(clock.now))
            agenda.put(report.states)
            _count(tally, report)
            clock.now += timedelta(seconds=_STEP_S)
            memory.append(_resident_mb())
        elapsed_s, cpu_s = time.perf_counter() - began, time.process_time() - began_cpu
    return {
        "fetches_per_s": round(witness.requests / elapsed_s, 1),
        "fetches_per_cpu_s": round(witness.requests / cpu_s, 1),
        "fetches": witness.requests,
        "sources": sources,
        "hosts": -(-sources // per_host),
        **tally,
        "politeness_violations": witness.violations,
        "landed_segments": log.latest(),
        "memory_mb_first_half": max(memory[: len(memory) // 2]),
        "memory_mb_second_half": max(memory[len(memory) // 2 :]),
        "memory_growth": round(max(memory[len(memory) // 2 :]) / max(memory[: len(memory) // 2]), 3),
    }


def _sources(port: int, sources: int, per_host: int, interval_s: float) -> Iterable[SourceState]:
    for number in range(sources):
        url = f"http://host{number // per_host}.example:{port}/{number}"
        yield first_check(f"source{number}", url, START, spread_s=interval_s)


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
