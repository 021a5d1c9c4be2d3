"""Politeness to hosts: how many requests at once, how far apart, how many a day, and when to stay away.

The ledger is asked at the seam to the network, so that nothing leaves unasked, redirects included; choosing what to
fetch asks it as well, so that the answer is seldom no.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta

from feedweir.acquire.exchange import Reason, Request, Response, Transport, TransportError
from feedweir.acquire.http_rules import host_of, retry_after_s

_PRUNE_EVERY = 50_000


@dataclass(frozen=True, slots=True, kw_only=True)
class HostRules:
    max_concurrent: int = 1
    spacing_s: float = 1.0
    """From the start of one request to the start of the next."""
    max_per_day: int = 20_000
    max_hold_s: int = 86_400
    """A host's Retry-After holds all its sources, but not for longer than this; the source itself may wait longer."""


@dataclass(slots=True)
class _Host:
    in_flight: int = 0
    free_at: float = 0.0
    day: int = 0
    requests: int = 0


class HostLedger:
    """What was asked of whom. Bounded: hosts that could be asked anything are forgotten."""

    def __init__(self, rules: HostRules) -> None:
        self.rules = rules
        self._hosts: dict[str, _Host] = {}
        self._changes = 0

    def permits(self, host: str, now: datetime) -> bool:
        """Whether a request to the host may leave now."""
        entry = self._hosts.get(host)
        if entry is None:
            return True
        moment = now.timestamp()
        if entry.in_flight >= self.rules.max_concurrent or moment < entry.free_at:
            return False
        return entry.day != _day(moment) or entry.requests < self.rules.max_per_day

    def started(self, host: str, now: datetime) -> None:
        self._prune(now)
        moment = now.timestamp()
        entry = self._hosts.setdefault(host, _Host())
        if entry.day != _day(moment):
            entry.day, entry.requests = _day(moment), 0
        entry.in_flight += 1
        entry.requests += 1
        entry.free_at = max(entry.free_at, moment + self.rules.spacing_s)

    def finished(self, host: str) -> None:
        self._hosts[host].in_flight -= 1

    def hold(self, host: str, until: datetime) -> None:
        """Leave a host alone until then: it said so."""
        entry = self._hosts.setdefault(host, _Host())
        entry.free_at = max(entry.free_at, until.timestamp())

    def __len__(self) -> int:
        return len(self._hosts)

    def _prune(self, now: datetime) -> None:
        self._changes += 1
        if self._changes % _PRUNE_EVERY:
            return
        moment = now.timestamp()
        self._hosts = {
            host: entry
            for host, entry in self._hosts.items()
            if entry.in_flight or entry.free_at > moment or entry.day == _day(moment)
        }


@dataclass(frozen=True, slots=True)
class PoliteTransport:
    """A transport that lets nothing out unless the ledger permits it."""

    transport: Transport
    ledger: HostLedger
    clock: Callable[[], datetime]

    @asynccontextmanager
    async def open(self, request: Request) -> AsyncIterator[Response]:
        host = host_of(request.url)
        now = self.clock()
        if not self.ledger.permits(host, now):
            raise TransportError(Reason.BUSY, host)
        self.ledger.started(host, now)
        try:
            async with self.transport.open(request) as response:
                self._heed(host, response)
                yield response
        finally:
            self.ledger.finished(host)

    def _heed(self, host: str, response: Response) -> None:
        if response.status not in (429, 503):
            return
        now = self.clock()
        seconds = retry_after_s(response.headers, now)
        if seconds is not None:
            held_s = min(seconds, self.ledger.rules.max_hold_s)
            self.ledger.hold(host, now + timedelta(seconds=held_s))


def _day(moment: float) -> int:
    return int(moment // 86_400)
