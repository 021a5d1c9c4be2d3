"""Leases in the catalog, and how often sources are polled that a hub pushes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, replace
from datetime import datetime
from typing import Any

from feedweir.acquire.refresh.source_state import SourceState
from feedweir.acquire.refresh.stored_state import saved, state_of
from feedweir.acquire.websub import subscriber as websub
from feedweir.acquire.websub.subscriber import Hub, Lease, LeaseStatus
from feedweir.catalog import FetchState, SourceRecord

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
    """The lease that `leased` kept."""
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
