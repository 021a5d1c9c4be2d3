"""WebSub as a subscriber: hubs that sources name are asked to push, answers checked, leases kept up.

A lease is kept with its source's state. Whenever it is not certain that a hub pushes, the source is polled as ever.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
import threading
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict, replace
from datetime import datetime
from typing import Any
from urllib.parse import quote

from feedweir.acquire import websub
from feedweir.acquire.addresses import AddressRule
from feedweir.acquire.aiohttp_transport import AiohttpTransport
from feedweir.acquire.exchange import Transport
from feedweir.acquire.http_rules import Headers
from feedweir.acquire.landing import LandingLog
from feedweir.acquire.refresh.state import SourceState
from feedweir.acquire.websub import Hub, Lease, LeaseStatus, Verdict
from feedweir.catalog import Catalog, FetchState, SourceRecord
from feedweir.keeper.source_states import SourceMemory, saved, state_of

_log = logging.getLogger(__name__)

_AT_ONCE = 8
_PATIENCE_S = 20.0
_RELEASE_S = 60.0
_TIMES = ("expires_at", "next_at", "pushed_at")


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

    def notice(self, hubs: Mapping[str, Hub], *, is_from_headers: bool = False) -> None:
        """Sources and the hubs they name now, in headers or in their documents."""
        if not self._public_url:
            return
        now = self._clock()
        new = {
            source: websub.wanted(source, hub, now, self._random, is_from_headers=is_from_headers)
            for source, hub in sorted(hubs.items())
            if websub.is_news(self._leases.get(source), hub, is_from_headers=is_from_headers)
        }
        self._put(new)

    def found(self, looks: Mapping[str, datetime]) -> None:
        """Sources where a look found something new, and when the look before it was: should a hub have pushed it?"""
        now = self._clock()
        self._put(
            {
                source: websub.distrusted(lease, now)
                for source, before in sorted(looks.items())
                if (lease := self._leases.get(source)) and websub.is_silent(lease, before, now)
            }
        )

    def release(self) -> None:
        """Give up the leases of sources that are gone, or have begun anew; forget those that hubs let go."""
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
        """Whether there is a hub to speak to, or it is time to see which sources are gone."""
        now = self._clock()
        held = list(self._leases.values())
        is_time = self._released_at is None or (now - self._released_at).total_seconds() >= _RELEASE_S
        return any(websub.is_due(lease, now) for lease in held) or bool(held and is_time)

    async def tend(self, transport: Transport | None = None) -> int:
        """Ask hubs for what is wanted or about to run out; how many were asked."""
        self.release()
        now = self._clock()
        due = [lease for _, lease in sorted(self._leases.items()) if websub.is_due(lease, now)]
        async with self._transport(transport) as opened:
            for start in range(0, len(due), _AT_ONCE):
                await asyncio.gather(*(self._ask(lease, opened) for lease in due[start : start + _AT_ONCE]))
        return len(due)

    def verify(self, source: str, token: str, query: Mapping[str, str]) -> Verdict | None:
        """A hub asks whether we meant it; None when there is no such lease."""
        with self._turn:
            lease = self._known(source, token)
            if lease is None:
                return None
            verdict = websub.verified(lease, query, self._clock())
        self._put({source: verdict.lease})
        return verdict

    def receive(self, source: str, token: str, body: bytes, headers: Headers, media_type: str) -> bool:
        """Land what a hub pushes; whether there is such a lease at all, which is all that a sender learns."""
        lease = self._known(source, token)
        if lease is None:
            return False
        document = websub.pushed(lease, body, headers, media_type, self._clock())
        if document is None:
            _log.warning("content for %s was not signed by its hub, and is ignored", source)
        else:
            if body.strip():
                self._log.append([document])
            self._put({source: websub.received(lease, self._clock())})
        return True

    def _known(self, source: str, token: str) -> Lease | None:
        lease = self._leases.get(source)
        is_known = lease is not None and secrets.compare_digest(lease.token.encode(), token.encode())
        return lease if is_known else None

    async def _ask(self, lease: Lease, transport: Transport) -> None:
        request, asked = websub.asked(lease, self.callback(lease), self._clock())
        # Written down first: the hub may verify before it has answered.
        self._put({lease.source: asked})
        try:
            async with asyncio.timeout(_PATIENCE_S):
                status = await websub.sent(request, transport)
        except TimeoutError:
            status = 0
        if 200 <= status < 300:
            # It verifies at its own time, perhaps at this very moment: nothing of ours may overwrite that.
            return
        with self._turn:
            current = self._leases.get(lease.source, asked)
        if current.status is not LeaseStatus.ACTIVE or status >= 300:
            self._put({lease.source: websub.answered(current, status, self._clock())})

    def _put(self, leases: Mapping[str, Lease]) -> None:
        now = self._clock()
        # A lease that ends belongs to a source that is gone, or to an earlier one of its name.
        kept = {name: lease for name, lease in leases.items() if lease.status is not LeaseStatus.ENDING}
        self._memory.change(kept, lambda record: leased(record, kept[record.name], now))
        with self._turn:
            self._leases.update(leases)

    @asynccontextmanager
    async def _transport(self, given: Transport | None) -> AsyncIterator[Transport]:
        if given is not None:
            yield given
            return
        async with AiohttpTransport(rule=AddressRule(allow_private=self._allow_private)) as transport:
            yield transport


def leased(record: SourceRecord, lease: Lease, now: datetime) -> FetchState:
    """The state of a source with its lease, and looked at as rarely as that allows."""
    kept = saved(record, _pushed(state_of(record), websub.pushed_until(lease, now), now))
    return replace(
        kept,
        hub=lease.hub.url,
        hub_topic=lease.hub.topic,
        hub_secret=lease.secret,
        hub_lease_until=lease.expires_at,
        refresh={**kept.refresh, "lease": _plain(lease)},
    )


def _pushed(state: SourceState, until: datetime | None, now: datetime) -> SourceState:
    """From now until then a hub pushes; when it begins or ceases to, one more look finds what it did not push."""
    was_pushed = state.pushed_until is not None and state.pushed_until > now
    if was_pushed == (until is not None):
        return replace(state, pushed_until=until)
    soon = state.next_at if state.failures else min(state.next_at, max(state.not_before or now, now))
    since = now if until is not None else state.pushed_since
    return replace(state, pushed_until=until, pushed_since=since, next_at=soon)


def lease_of(record: SourceRecord) -> Lease | None:
    """The lease that `leased` kept."""
    value = record.state.refresh.get("lease")
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


__all__: Sequence[str] = ("Leases", "hubs_in", "lease_of", "leased")
