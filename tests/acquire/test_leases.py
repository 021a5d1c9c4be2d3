"""Hubs confirm and push while we speak to them: whatever comes in between, nothing that it changed is taken back.

Everything runs in one thread: whenever the clock is polled, the next thing that others do is done first.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from feedweir.acquire.fetch.transport import Reason, Request, Response, TransportError
from feedweir.acquire.refresh.source_state import SourceMemory
from feedweir.acquire.websub.leases import Leases, lease_of
from feedweir.acquire.websub.subscriber import Hub, Lease, LeaseStatus, NamedBy
from feedweir.service.installation import Weir

START = datetime(2026, 6, 1, 12, tzinfo=UTC)
LEASE_S = 86_400
LOOKS = range(5)
"""At which poll the clock others come in; there are fewer polls than that."""


class Clock:
    def __init__(self) -> None:
        self.now = START
        self._polls = 0
        self._meanwhile: Callable[[], object] | None = None

    def at_poll(self, poll: int, deed: Callable[[], object]) -> None:
        """Somebody else does this at the so-many-th poll from now."""
        self._polls, self._meanwhile = poll, deed

    def catch_up(self) -> None:
        """What nobody's poll came for is done now."""
        deed, self._meanwhile = self._meanwhile, None
        if deed:
            deed()

    def __call__(self) -> datetime:
        self._polls -= 1
        if self._polls < 0:
            self.catch_up()
        return self.now


class Hubs:
    """All hubs: they answer with a status, 0 for none, after whatever happens `on_request`."""

    def __init__(self, status: int = 202) -> None:
        self.status = status
        self.on_request: Callable[[], object] = lambda: None
        self.asked: list[str] = []

    @asynccontextmanager
    async def open(self, request: Request) -> AsyncIterator[Response]:
        self.asked.append(request.url)
        self.on_request()
        if not self.status:
            raise TransportError(Reason.CONNECTION)
        yield Response(self.status, (), _nothing())


async def _nothing() -> AsyncIterator[bytes]:
    for _ in ():
        yield b""


class Office:
    """Leases of some sources, with a real catalog."""

    def __init__(self, weir: Weir, clock: Clock, sources: int = 1) -> None:
        lines = [f"register feed http://feeds.example/{n} as S{n}" for n in range(sources)]
        weir.execute(";".join(lines))
        self.weir, self.clock = weir, clock
        self.leases = Leases(
            weir.catalog,
            weir.log,
            SourceMemory(weir.catalog),
            public_url="http://us.example",
            allow_private=True,
            clock=clock,
        )
        self.leases.take_hubs({f"S{n}": hub_of(n) for n in range(sources)})

    def lease(self, source: str) -> Lease:
        """As it is held, which is how it is written down."""
        held = self.leases.of(source)
        assert held is not None
        assert lease_of(self.weir.catalog.sources.named(source)) == held
        return held

    def confirm(self, source: str = "S0") -> None:
        lease = self.lease(source)
        query = {
            "hub.mode": "subscribe",
            "hub.topic": lease.hub.topic,
            "hub.challenge": "c",
            "hub.lease_seconds": str(LEASE_S),
        }
        verdict = self.leases.verify(source, lease.token, query)
        assert verdict is not None
        assert verdict.body == "c"

    def push(self, body: bytes) -> None:
        lease = self.lease("S0")
        signature = hmac.new(lease.secret.encode(), body, hashlib.sha256).hexdigest()
        headers = (("X-Hub-Signature", f"sha256={signature}"),)
        assert self.leases.receive("S0", lease.token, body, headers, "application/rss+xml")

    def tend(self, hubs: Hubs) -> int:
        return asyncio.run(self.leases.tend(hubs))


def hub_of(number: int, host: str = "hub") -> Hub:
    return Hub(url=f"http://{host}.example/", topic=f"http://feeds.example/{number}")


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def weir(tmp_path: Path, clock: Clock) -> Iterator[Weir]:
    with Weir.open(tmp_path, clock=clock) as weir:
        yield weir


@pytest.mark.parametrize("poll", LOOKS)
@pytest.mark.parametrize("status", [202, 503, 0])
def test_what_a_hub_confirms_is_not_overwritten_by_its_answer(
    weir: Weir, clock: Clock, status: int, poll: int
) -> None:
    office, hubs = Office(weir, clock), Hubs(status)
    hubs.on_request = lambda: clock.at_poll(poll, office.confirm)
    office.tend(hubs)
    clock.catch_up()
    lease = office.lease("S0")
    assert lease.status is LeaseStatus.ACTIVE
    assert lease.expires_at == START + timedelta(seconds=LEASE_S)
    assert not office.tend(hubs), "nobody is asked for what was confirmed"


@pytest.mark.parametrize("poll", LOOKS)
def test_a_push_does_not_bring_back_the_lease_that_was_renewed_meanwhile(
    weir: Weir, clock: Clock, poll: int
) -> None:
    office = Office(weir, clock)
    office.tend(Hubs())
    office.confirm()
    clock.now += timedelta(hours=20)
    clock.at_poll(poll, office.confirm)
    office.push(b"<rss/>")
    clock.catch_up()
    lease = office.lease("S0")
    assert lease.expires_at == clock.now + timedelta(seconds=LEASE_S)
    assert lease.pushed_at == clock.now
    assert weir.log.latest() == 1


@pytest.mark.parametrize("poll", LOOKS)
def test_what_is_confirmed_while_a_poll_doubts_the_hub_is_either_doubted_or_kept_whole(
    weir: Weir, clock: Clock, poll: int
) -> None:
    office = Office(weir, clock)
    office.tend(Hubs())
    office.confirm()
    clock.now += timedelta(hours=20)
    clock.at_poll(poll, lambda: office.push(b"<rss/>"))
    office.leases.check_silence({"S0": clock.now - timedelta(hours=1)})
    clock.catch_up()
    lease = office.lease("S0")
    is_doubted = (lease.status, lease.expires_at, lease.silences) == (LeaseStatus.WANTED, None, 1)
    assert is_doubted or (lease.status, lease.silences, lease.pushed_at) == (LeaseStatus.ACTIVE, 0, clock.now)


def test_a_source_that_moves_to_another_hub_while_others_are_asked_stays_there(
    weir: Weir, clock: Clock
) -> None:
    office, hubs = Office(weir, clock, sources=20), Hubs()
    moved = hub_of(9, "other")
    take_hubs = office.leases.take_hubs
    hubs.on_request = lambda: (
        take_hubs({"S9": moved}, named_by=NamedBy.HEADERS) if len(hubs.asked) == 1 else None
    )
    office.tend(hubs)
    assert office.lease("S9").hub == moved
    assert len(hubs.asked) == 19
    assert office.tend(hubs) == 1
    assert hubs.asked[-1] == moved.url


def test_a_lease_that_was_confirmed_while_others_were_asked_is_not_asked_for_again(
    weir: Weir, clock: Clock
) -> None:
    office, hubs = Office(weir, clock, sources=20), Hubs()
    hubs.on_request = lambda: office.confirm("S9") if len(hubs.asked) == 1 else None
    office.tend(hubs)
    assert len(hubs.asked) == 19
    assert office.lease("S9").attempts == 0


def test_a_hub_that_refuses_a_renewal_is_asked_again_and_its_lease_runs_on(weir: Weir, clock: Clock) -> None:
    office = Office(weir, clock)
    office.tend(Hubs())
    office.confirm()
    clock.now += timedelta(hours=20)
    assert office.tend(Hubs(503)) == 1
    lease = office.lease("S0")
    assert (lease.status, lease.reason) == (LeaseStatus.ACTIVE, "the hub answered HTTP 503")
    assert clock.now < lease.next_at < clock.now + timedelta(hours=1)
