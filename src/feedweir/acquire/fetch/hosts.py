"""Politeness to hosts: how many requests at once, how far apart, how many a day, and when to stay away.

The ledger is asked at the seam to the network, so that nothing leaves unasked, redirects included; choosing what to
fetch asks it as well, so that the answer is seldom no.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from types import TracebackType
from typing import Any

from feedweir.acquire.fetch.http_rules import host_of, retry_after_s
from feedweir.acquire.fetch.transport import Reason, Request, Response, Transport, TransportError

_PRUNE_EVERY = 50_000


@dataclass(frozen=True, slots=True, kw_only=True)
class HostRules:
    max_concurrent: int = 1
    spacing_s: float = 1.0
    """From the start of one request to the start of the next."""
    max_per_day: int = 20_000
    max_hold_s: int = 86_400
    """A host's Retry-After holds all its sources, but not for longer than this; the source itself may wait longer."""
    breather_s: int = 60
    """How long all sources of a host wait after a 429 without Retry-After."""

    def rest_s(self, status: int, retry_after_s: int | None) -> int:
        """How long a response asks us to send nothing to its host."""
        if status not in (429, 503):
            return 0
        if retry_after_s is None:
            # Too many requests are the host's trouble; a service that is not available may be one feed's.
            return self.breather_s if status == 429 else 0
        return min(retry_after_s, self.max_hold_s)


@dataclass(slots=True)
class _Host:
    in_flight: int = 0
    free_at: float = 0.0
    day: int = 0
    requests: int = 0


class HostLedger:
    """The requests to each host. Bounded: hosts without any restriction are forgotten."""

    def __init__(self, rules: HostRules) -> None:
        self.rules = rules
        self._hosts: dict[str, _Host] = {}
        self._changes = 0

    def permits(self, host: str, now: datetime) -> bool:
        """Whether a request may be sent to the host now."""
        entry = self._hosts.get(host)
        if entry is None:
            return True
        moment = now.timestamp()
        if entry.in_flight >= self.rules.max_concurrent or moment < entry.free_at:
            return False
        return entry.day != _day(moment) or entry.requests < self.rules.max_per_day

    def free_at(self, host: str, now: datetime) -> datetime:
        """When the spacing and the host's own wishes permit the next request."""
        entry = self._hosts.get(host)
        return now if entry is None else max(datetime.fromtimestamp(entry.free_at, UTC), now)

    def wait_s(self, host: str, now: datetime) -> float:
        """How long to wait for a host that is held back only by the spacing; infinite when something else forbids a
        request."""
        if self.permits(host, now):
            return 0.0
        entry, moment = self._hosts[host], now.timestamp()
        is_spaced_only = entry.in_flight < self.rules.max_concurrent and (
            entry.day != _day(moment) or entry.requests < self.rules.max_per_day
        )
        seconds = entry.free_at - moment
        return seconds if is_spaced_only and seconds <= self.rules.spacing_s else math.inf

    def started(self, host: str, now: datetime) -> None:
        self._prune(now)
        moment = now.timestamp()
        entry = self._hosts.setdefault(host, _Host())
        if entry.day != _day(moment):
            entry.day, entry.requests = _day(moment), 0
        entry.in_flight += 1
        entry.requests += 1
        entry.free_at = max(entry.free_at, moment + self.rules.spacing_s)

    def counted(self, host: str, at: datetime) -> None:
        """Count a request that this ledger permitted and another crawler made."""
        self.started(host, at)
        self.finished(host)

    def finished(self, host: str) -> None:
        self._hosts[host].in_flight -= 1

    def hold(self, host: str, until: datetime) -> None:
        """Send nothing to a host until then, as it asked."""
        entry = self._hosts.setdefault(host, _Host())
        entry.free_at = max(entry.free_at, until.timestamp())

    def __len__(self) -> int:
        return len(self._hosts)

    def to_json(self, now: datetime) -> dict[str, Any]:
        """What must survive a restart: today's requests to each host, and which hosts to leave alone until when."""
        moment = now.timestamp()
        hosts = {
            host: [entry.free_at, entry.requests]
            for host, entry in sorted(self._hosts.items())
            if entry.free_at > moment or entry.day == _day(moment)
        }
        return {"day": _day(moment), "hosts": hosts}

    def restore(self, value: dict[str, Any]) -> None:
        """Restore what `to_json` wrote; requests that were under way then have ended."""
        for host, (free_at, requests) in value.get("hosts", {}).items():
            self._hosts[host] = _Host(free_at=float(free_at), day=int(value["day"]), requests=int(requests))

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
    """A transport that sends nothing unless the ledger permits it."""

    transport: Transport
    ledger: HostLedger
    clock: Callable[[], datetime]
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep

    def open(self, request: Request) -> _PoliteExchange:
        return _PoliteExchange(self, request)


class _PoliteExchange:
    """One exchange, which the ledger permits before it begins and counts until it ends."""

    __slots__ = ("_exchange", "_host", "_polite", "_request")

    def __init__(self, polite: PoliteTransport, request: Request) -> None:
        self._polite = polite
        self._request = request
        self._host = host_of(request.url)
        self._exchange: AbstractAsyncContextManager[Response] | None = None

    async def __aenter__(self) -> Response:
        polite, host = self._polite, self._host
        if self._request.is_onward:
            # Most redirects lead back to the host that was just asked: refusing would mean never to arrive.
            wait_s = polite.ledger.wait_s(host, polite.clock())
            if 0.0 < wait_s < math.inf:
                await polite.sleep(wait_s)
        now = polite.clock()
        if not polite.ledger.permits(host, now):
            raise TransportError(Reason.BUSY, host)
        polite.ledger.started(host, now)
        try:
            self._exchange = polite.transport.open(self._request)
            response = await self._exchange.__aenter__()
        except BaseException:
            polite.ledger.finished(host)
            raise
        self._heed(response)
        return response

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._polite.ledger.finished(self._host)
        if self._exchange is not None:
            await self._exchange.__aexit__(kind, error, trace)

    def _heed(self, response: Response) -> None:
        now, ledger = self._polite.clock(), self._polite.ledger
        rest_s = ledger.rules.rest_s(response.status, retry_after_s(response.headers, now))
        if rest_s:
            ledger.hold(self._host, now + timedelta(seconds=rest_s))


def _day(moment: float) -> int:
    return int(moment // 86_400)
