"""Politeness to hosts: judged by an obvious twin that remembers every request."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedweir.acquire.fetch.hosts import HostLedger, HostRules, PoliteTransport
from feedweir.acquire.fetch.transport import Reason, Request, Response, TransportError

NOW = datetime(2024, 5, 1, 12, tzinfo=UTC)


async def nothing() -> AsyncIterator[bytes]:
    return
    yield b""


class Scripted:
    """A transport that answers each request with the next status of its script."""

    def __init__(self, *answers: tuple[int, tuple[tuple[str, str], ...]]) -> None:
        self.answers = list(answers)
        self.sent: list[Request] = []

    @asynccontextmanager
    async def open(self, request: Request) -> AsyncIterator[Response]:
        self.sent.append(request)
        status, headers = self.answers.pop(0) if self.answers else (200, ())
        yield Response(status, headers, nothing())


@given(
    st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 4), st.booleans()), max_size=60),
    st.integers(1, 3),
    st.integers(0, 5),
    st.integers(1, 8),
)
def test_the_ledger_permits_exactly_what_the_rules_allow(
    story: list[tuple[str, int, bool]], concurrent: int, spacing_s: int, per_day: int
) -> None:
    rules = HostRules(max_concurrent=concurrent, spacing_s=spacing_s, max_per_day=per_day)
    ledger = HostLedger(rules)
    starts: dict[str, list[datetime]] = {"a": [], "b": []}
    flying = {"a": 0, "b": 0}
    now = NOW
    for host, seconds, is_end in story:
        now += timedelta(seconds=seconds)
        if is_end and flying[host]:
            ledger.finished(host)
            flying[host] -= 1
            continue
        is_spaced = not starts[host] or (now - starts[host][-1]).total_seconds() >= spacing_s
        allowed = is_spaced and flying[host] < concurrent and len(starts[host]) < per_day
        assert ledger.permits(host, now) == allowed
        if allowed:
            ledger.started(host, now)
            starts[host].append(now)
            flying[host] += 1


def test_a_new_day_has_a_new_allowance() -> None:
    ledger = HostLedger(HostRules(spacing_s=0, max_per_day=1))
    ledger.started("a", NOW)
    ledger.finished("a")
    assert not ledger.permits("a", NOW + timedelta(hours=11))
    assert ledger.permits("a", NOW + timedelta(hours=12))


def polite(transport: Scripted, rules: HostRules) -> tuple[PoliteTransport, list[datetime]]:
    clock = [NOW]
    return PoliteTransport(transport, HostLedger(rules), lambda: clock[0]), clock


async def ask(transport: PoliteTransport, url: str) -> int:
    async with transport.open(Request(url, ())) as response:
        return response.status


def test_nothing_leaves_that_the_ledger_does_not_permit() -> None:
    async def run() -> None:
        scripted = Scripted()
        transport, clock = polite(scripted, HostRules(spacing_s=2))
        assert await ask(transport, "http://a/1") == 200
        with pytest.raises(TransportError) as refused:
            await ask(transport, "http://A:80/2")
        assert refused.value.reason is Reason.BUSY
        assert await ask(transport, "http://b/") == 200
        clock[0] += timedelta(seconds=2)
        assert await ask(transport, "http://a/2") == 200
        assert [request.url for request in scripted.sent] == ["http://a/1", "http://b/", "http://a/2"]

    asyncio.run(run())


@pytest.mark.parametrize("status", [429, 503])
def test_a_host_that_asks_for_peace_has_it_for_all_its_sources(status: int) -> None:
    async def run() -> None:
        scripted = Scripted((status, (("Retry-After", "60"),)))
        transport, clock = polite(scripted, HostRules(spacing_s=0))
        assert await ask(transport, "http://a/1") == status
        clock[0] += timedelta(seconds=59)
        with pytest.raises(TransportError):
            await ask(transport, "http://a/2")
        clock[0] += timedelta(seconds=1)
        assert await ask(transport, "http://a/2") == 200

    asyncio.run(run())


@pytest.mark.parametrize(("status", "rest_s"), [(429, 60), (503, 0), (500, 0), (404, 0)])
def test_too_many_requests_are_a_breather_for_the_host_even_if_it_does_not_say_how_long(
    status: int, rest_s: int
) -> None:
    async def run() -> None:
        transport, clock = polite(Scripted((status, ())), HostRules(spacing_s=0))
        assert await ask(transport, "http://a/1") == status
        if rest_s:
            clock[0] += timedelta(seconds=rest_s - 1)
            with pytest.raises(TransportError):
                await ask(transport, "http://a/2")
            clock[0] += timedelta(seconds=1)
        assert await ask(transport, "http://a/2") == 200

    asyncio.run(run())


def test_a_failed_exchange_frees_its_place() -> None:
    async def run() -> None:
        transport, _ = polite(Scripted(), HostRules(spacing_s=0, max_concurrent=1))
        with pytest.raises(ValueError, match="broken"):
            async with transport.open(Request("http://a/", ())):
                raise ValueError("broken")
        assert await ask(transport, "http://a/") == 200

    asyncio.run(run())


def test_hosts_of_other_days_are_forgotten() -> None:
    ledger = HostLedger(HostRules())
    for number in range(60_000):
        ledger.started(f"host{number}", NOW + timedelta(days=number // 20_000))
        ledger.finished(f"host{number}")
    assert len(ledger) < 45_000
