"""The WebSub hub of an installation: its leases are subscriptions like all others, on the channel `websub`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from datetime import datetime

from feedweir.catalog import Catalog, NewSubscription, SubscriptionRecord
from feedweir.deliver.channels.websub import lease_of, options_of
from feedweir.deliver.hub import HubRequest, Lease, granted, verified
from feedweir.deliver.parcel import Destination
from feedweir.deliver.posting import Poster


async def carry_out(
    catalog: Catalog,
    request: HubRequest,
    feed: str,
    *,
    post: Poster,
    new_challenge: Callable[[], str],
    now: datetime,
) -> bool:
    """Verify that the subscriber meant its request, then do it; False, and nothing done, when it did not.

    `feed` is the feed whose address the topic is. The request was already answered with 202.
    """
    if not await verified(request, new_challenge(), post):
        return False
    before = _of(catalog, feed, request)
    if request.mode == "unsubscribe":
        if before is not None:
            catalog.subscriptions.set_status(before.id, "dropped", now)
        return True
    new = _subscription(feed, granted(request, now), now)
    if before is None:
        catalog.subscriptions.add(new)
    else:
        catalog.subscriptions.replace(before.id, new)
    return True


def drop_ended(catalog: Catalog, now: datetime) -> int:
    """Drop the leases that were not renewed; returns how many."""
    return _drop((record for record in _leases(catalog) if _lease(record).until <= now), catalog, now)


def drop_all(catalog: Catalog, feed: str, now: datetime) -> int:
    """Drop the leases of a feed that is to go: its readers elsewhere cannot keep it."""
    return _drop(_leases(catalog, feed), catalog, now)


def _drop(ended: Iterable[SubscriptionRecord], catalog: Catalog, now: datetime) -> int:
    ids = [record.id for record in ended]
    for id_ in ids:
        catalog.subscriptions.set_status(id_, "dropped", now)
    return len(ids)


def _leases(catalog: Catalog, feed: str | None = None) -> Iterator[SubscriptionRecord]:
    return (record for record in catalog.subscriptions.all(feed=feed) if record.channel == "websub")


def _of(catalog: Catalog, feed: str, request: HubRequest) -> SubscriptionRecord | None:
    for record in _leases(catalog, feed):
        if record.target == request.callback and record.options.get("topic") == request.topic:
            return record
    return None


def _lease(record: SubscriptionRecord) -> Lease:
    return lease_of(Destination(subscription=record.id, target=record.target, options=record.options))


def _subscription(feed: str, lease: Lease, now: datetime) -> NewSubscription:
    return NewSubscription(
        feed=feed,
        statement="",
        channel="websub",
        target=lease.callback,
        options=options_of(lease),
        created_at=now,
    )
