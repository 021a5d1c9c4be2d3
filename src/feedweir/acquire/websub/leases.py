"""WebSub as a subscriber: hubs that sources name are asked to push, answers checked, leases kept up.

A lease is kept with its source's state in the catalog. Whenever it is not certain that a hub pushes, the source is
polled as usual.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
import threading
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import asdict, replace
from datetime import datetime
from typing import Any
from urllib.parse import quote

from feedweir.acquire.fetch.addresses import AddressRule
from feedweir.acquire.fetch.aiohttp_transport import AiohttpTransport
from feedweir.acquire.fetch.http_rules import Headers
from feedweir.acquire.fetch.transport import Request, Transport
from feedweir.acquire.refresh.source_state import SourceMemory, SourceState, saved, state_of
from feedweir.acquire.websub import subscriber as websub
from feedweir.acquire.websub.subscriber import Hub, HubReply, Lease, LeaseStatus, NamedBy
from feedweir.catalog import Catalog, FetchState, SourceRecord
from feedweir.logs.landing import LandingLog

_log = logging.getLogger(__name__)

_AT_ONCE = 8
_PATIENCE_S = 20.0
_RELEASE_S = 60.0


class Leases:
    """The subscriptions at hubs of one installation. Its methods may be called from any thread."""

    def __init__(
        self,
        catalog: Catalog,
        log: LandingLog,
        memory: SourceMemory,
        *,
        public_url: str,
        allow_private: bool,
        clock: Callable[[], datetime],
        random: Callable[[int], str] = secrets.token_urlsafe,
    ) -> None:
        self._catalog = catalog
        self._log = log
        self._memory = memory
        self._public_url = public_url.rstrip("/")
        self._allow_private = allow_private
        self._clock = clock
        self._random = random
        self._turn = threading.Lock()
        self._released_at: datetime | None = None
        records = catalog.sources.all()
        self._leases = {record.name: lease for record in records if (lease := lease_of(record))}

    def callback(self, lease: Lease) -> str:
        """Where the hub reaches us: a name that cannot be guessed."""
        return f"{self._public_url}/websub/{quote(lease.source, safe='')}/{lease.token}"

    def of(self, source: str) -> Lease | None:
        return self._leases.get(source)

    def take_hubs(self, hubs: Mapping[str, Hub], *, named_by: NamedBy = NamedBy.DOCUMENT) -> None:
        """Ask for a lease wherever a source names a hub that it did not name before, or somebody set one."""
        if not self._public_url:
            return
        now = self._clock()

        def with_hub(source: str, lease: Lease | None) -> Lease | None:
            hub = hubs[source]
            if not websub.names_another(lease, hub, named_by):
                return websub.confirmed_by(lease, hub, named_by)
            return websub.new_lease(source, hub, now, self._random, named_by)

        self._change(hubs, with_hub)

    def check_silence(self, polls: Mapping[str, datetime]) -> None:
        """Stop trusting hubs that did not push what a poll found; `polls` has the time of the poll before."""
        now = self._clock()

        def judged(source: str, lease: Lease | None) -> Lease | None:
            is_silent = lease is not None and websub.is_silent(lease, polls[source], now)
            return websub.distrusted(lease, now) if lease and is_silent else lease

        self._change(polls, judged)

    def release(self) -> None:
        """Give up the leases of sources that are gone or were registered anew; forget those that hubs ended."""
        now = self._released_at = self._clock()
        with self._turn:
            held = dict(self._leases)
        # Leases are written down before they are held, so each of these has its record, unless that is gone.
        records = {record.name: record for record in self._catalog.sources.several(held)}
        for source, lease in sorted(held.items()):
            kept = lease_of(records[source]) if source in records else None
            is_wanted = (
                kept is not None and kept.token == lease.token and records[source].state.status != "gone"
            )
            with self._turn:
                if self._leases.get(source) is not lease:
                    continue
                if websub.is_over(lease, now):
                    del self._leases[source]
                elif not is_wanted and lease.status is not LeaseStatus.ENDING:
                    self._leases[source] = websub.given_up(lease, now)

    def is_due(self) -> bool:
        """Whether there is a hub to ask, or it is time to see which sources are gone."""
        now = self._clock()
        held = list(self._leases.values())
        is_time = self._released_at is None or (now - self._released_at).total_seconds() >= _RELEASE_S
        return any(websub.is_due(lease, now) for lease in held) or bool(held and is_time)

    async def tend(self, transport: Transport | None = None) -> int:
        """Request leases that are missing or about to end; returns how many."""
        self.release()
        now = self._clock()
        due = [lease for _, lease in sorted(self._leases.items()) if websub.is_due(lease, now)]
        async with self._transport(transport) as opened:
            for start in range(0, len(due), _AT_ONCE):
                await asyncio.gather(*(self._ask(lease, opened) for lease in due[start : start + _AT_ONCE]))
        return len(due)

    def verify(self, source: str, token: str, query: Mapping[str, str]) -> HubReply | None:
        """Answer a hub that verifies a request; None when there is no such lease."""
        now = self._clock()
        replies: list[HubReply] = []

        def verified(lease: Lease) -> Lease:
            replies.append(websub.verified(lease, query, now))
            return replies[-1].lease

        self._change_one(source, token, verified)
        return replies[0] if replies else None

    def receive(self, source: str, token: str, body: bytes, headers: Headers, media_type: str) -> bool:
        """Land what a hub pushes; False when there is no such lease, which is all that a sender learns."""
        lease = self._known(source, token)
        if lease is None:
            return False
        now = self._clock()
        document = websub.pushed(lease, body, headers, media_type, now)
        if document is None:
            _log.warning("content for %s was not signed by its hub and is ignored", source)
        else:
            if body.strip():
                record = self._catalog.sources.named(source)
                self._log.append([replace(document, id_path=record.state.id_path)])
            self._change_one(source, token, lambda held: websub.received(held, now))
        return True

    def _known(self, source: str, token: str) -> Lease | None:
        lease = self._leases.get(source)
        return lease if lease is not None and _is_of(lease, token) else None

    async def _ask(self, due: Lease, transport: Transport) -> None:
        now = self._clock()
        questions: list[tuple[Request, Lease]] = []

        def asked(lease: Lease) -> Lease:
            # While others were asked before it, it may have been confirmed.
            if not websub.is_due(lease, now):
                return lease
            questions.append(websub.request_for(lease, self.callback(lease), now))
            return questions[0][1]

        # Written down first: the hub may verify before it has answered.
        self._change_one(due.source, due.token, asked)
        for request, waiting in questions:
            self._answered(waiting, await _sent(request, transport))

    def _answered(self, waiting: Lease, status: int) -> None:
        now = self._clock()

        def answered(lease: Lease) -> Lease:
            # A hub confirms at its own time, perhaps before it answers: what it confirmed is not taken back.
            is_awaited = (lease.status, lease.attempts) == (waiting.status, waiting.attempts)
            return websub.answered(lease, status, now) if is_awaited else lease

        self._change_one(waiting.source, waiting.token, answered)

    def _change_one(self, source: str, token: str, changed: Callable[[Lease], Lease]) -> None:
        """Change the lease of this token, if it is still the source's."""

        def checked(_source: str, lease: Lease | None) -> Lease | None:
            return changed(lease) if lease is not None and _is_of(lease, token) else lease

        self._change([source], checked)

    def _change(self, sources: Iterable[str], changed: Callable[[str, Lease | None], Lease | None]) -> None:
        """Put `changed(source, lease)` in the place of each lease: read and written in one go.

        Hubs, polls and batches change leases from threads of their own; none may write back what another has changed.
        """
        now = self._clock()
        with self._turn:
            pairs = [(source, self._leases.get(source)) for source in sorted(set(sources))]
            after = {source: (lease, changed(source, lease)) for source, lease in pairs}
            leases = {
                source: new for source, (old, new) in after.items() if new is not None and new is not old
            }
            # A lease that ends belongs to a source that is gone, or to an earlier one of its name.
            kept = {name: lease for name, lease in leases.items() if lease.status is not LeaseStatus.ENDING}
            self._memory.change(kept, lambda record: leased(record, kept[record.name], now))
            self._leases.update(leases)

    @asynccontextmanager
    async def _transport(self, given: Transport | None) -> AsyncIterator[Transport]:
        if given is not None:
            yield given
            return
        async with AiohttpTransport(rule=AddressRule(allow_private=self._allow_private)) as transport:
            yield transport


def _is_of(lease: Lease, token: str) -> bool:
    """Compared in constant time, so that guessing tokens reveals nothing."""
    return secrets.compare_digest(lease.token.encode(), token.encode())


async def _sent(request: Request, transport: Transport) -> int:
    """The hub's status; 0 when it could not be reached, or took too long."""
    try:
        async with asyncio.timeout(_PATIENCE_S):
            return await websub.send(request, transport)
    except TimeoutError:
        return 0


_TIMES = ("expires_at", "next_at", "pushed_at")


def leased(record: SourceRecord, lease: Lease, now: datetime) -> FetchState:
    """The state of a source with its lease, and polled as rarely as the lease allows."""
    kept = saved(record, _pushed(state_of(record), websub.pushed_until(lease, now), now))
    return replace(kept, lease=_plain(lease))


def _pushed(state: SourceState, until: datetime | None, now: datetime) -> SourceState:
    """The state of a source that a hub pushes until then. When the push begins or ends, one more poll finds what the
    hub did not push."""
    was_pushed = state.pushed_until is not None and state.pushed_until > now
    if was_pushed == (until is not None):
        return replace(state, pushed_until=until)
    soon = state.next_at if state.failures else min(state.next_at, max(state.not_before or now, now))
    since = now if until is not None else state.pushed_since
    return replace(state, pushed_until=until, pushed_since=since, next_at=soon)


def lease_of(record: SourceRecord) -> Lease | None:
    """The lease that `leased` stored."""
    value = record.state.lease
    if not value:
        return None
    times = {name: datetime.fromisoformat(value[name]) if value.get(name) else None for name in _TIMES}
    return Lease(
        **{
            **value,
            **times,
            "hub": Hub(**value["hub"]),
            "status": LeaseStatus[value["status"]],
            "source": record.name,
        }
    )


def with_hub(record: SourceRecord, url: str) -> FetchState:
    """The state of a source whose hub is set by hand; an empty address leaves it to the source again, and its lease is
    given up."""
    return replace(record.state, hub=url, lease=record.state.lease if url else {})


def hub_by_hand(record: SourceRecord) -> Hub | None:
    """The hub that `with_hub` set, where the source is known by its address."""
    url = record.state.hub
    return Hub(url=url, topic=record.state.url) if url else None


def hubs_in(descriptions: Mapping[str, Mapping[str, Any]], urls: Mapping[str, str]) -> dict[str, Hub]:
    """By source the hub that its document names."""
    return {
        source: Hub(url=str(about["hub"]), topic=str(about.get("self_link") or urls.get(source, "")))
        for source, about in descriptions.items()
        if about.get("hub")
    }


def _plain(lease: Lease) -> dict[str, Any]:
    value = asdict(lease)
    for name in _TIMES:
        value[name] = value[name].isoformat() if value[name] else None
    return {**value, "status": lease.status.name}
