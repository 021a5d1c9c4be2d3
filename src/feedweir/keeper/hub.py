"""The WebSub hub of an installation: its leases are subscriptions like all others, on the channel `websub`."""

from __future__ import annotations

from collections.abc import Callable
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
    ended = [
        record
        for record in catalog.subscriptions.all()
        if record.channel == "websub" and _lease(record).until <= now
    ]
    for record in ended:
        catalog.subscriptions.set_status(record.id, "dropped", now)
    return len(ended)


def _of(catalog: Catalog, feed: str, request: HubRequest) -> SubscriptionRecord | None:
    for record in catalog.subscriptions.all(feed=feed):
        is_same = record.channel == "websub" and record.target == request.callback
        if is_same and record.options.get("topic") == request.topic:
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
