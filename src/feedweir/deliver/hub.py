"""The WebSub hub for every served feed: requests, leases, and what is pushed.

The first half is values and pure functions. Leases are subscriptions like any other, on the channel `websub`.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Literal
from urllib.parse import urlencode, urlsplit, urlunsplit

from feedweir.catalog import Catalog, NewSubscription, SubscriptionRecord
from feedweir.deliver.send.parcel import Destination
from feedweir.deliver.send.poster import Answer, Post, Poster
from feedweir.errors import DeliveryError

DEFAULT_LEASE_S = 10 * 86_400
_LEAST_LEASE_S = 3_600
_MOST_LEASE_S = 30 * 86_400
_MAX_SECRET_BYTES = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class HubRequest:
    """A subscriber's request; it has no effect until the subscriber confirms it."""

    mode: Literal["subscribe", "unsubscribe"]
    topic: str
    callback: str
    lease_s: int = DEFAULT_LEASE_S
    secret: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class GrantedLease:
    """A confirmed subscription of a callback to a topic."""

    topic: str
    callback: str
    secret: str = field(default="", repr=False)
    until: datetime


def requested(form: Mapping[str, str]) -> HubRequest:
    """A subscriber's form, checked; the message of the DeliveryError it raises is the text of a 400 response."""
    mode = form.get("hub.mode", "")
    if mode not in ("subscribe", "unsubscribe"):
        raise DeliveryError("hub.mode must be subscribe or unsubscribe", is_final=True)
    secret = form.get("hub.secret", "")
    if len(secret.encode("utf-8", "replace")) >= _MAX_SECRET_BYTES:
        raise DeliveryError(f"hub.secret must be shorter than {_MAX_SECRET_BYTES} bytes", is_final=True)
    return HubRequest(
        mode="subscribe" if mode == "subscribe" else "unsubscribe",
        topic=_web_url(form.get("hub.topic", ""), "hub.topic"),
        callback=_web_url(form.get("hub.callback", ""), "hub.callback"),
        lease_s=_lease_s(form.get("hub.lease_seconds", "")),
        secret=secret,
    )


def verification(request: HubRequest, challenge: str) -> Post:
    """The request by which the subscriber confirms: it must respond with the challenge."""
    query = {"hub.mode": request.mode, "hub.topic": request.topic, "hub.challenge": challenge}
    if request.mode == "subscribe":
        query["hub.lease_seconds"] = str(request.lease_s)
    return Post(_with_query(request.callback, query), (), b"", "GET")


def is_confirmed(answer: Answer, challenge: str) -> bool:
    """Whether the subscriber confirmed: any 2xx with the challenge and nothing else."""
    return 200 <= answer.status < 300 and hmac.compare_digest(answer.body, challenge.encode())


def granted(request: HubRequest, now: datetime) -> GrantedLease:
    """The lease that a confirmed request starts, or renews."""
    until = now + timedelta(seconds=request.lease_s)
    return GrantedLease(topic=request.topic, callback=request.callback, secret=request.secret, until=until)


def distribution(lease: GrantedLease, content: bytes, media_type: str, hub: str, key: str) -> Post:
    """Content for a subscriber, signed if it gave a secret; `key` is the same for every attempt."""
    headers = [
        ("Content-Type", media_type),
        ("Link", f'<{hub}>; rel="hub", <{lease.topic}>; rel="self"'),
        ("Idempotency-Key", f'"{key}"'),
    ]
    if lease.secret:
        digest = hmac.new(lease.secret.encode(), content, hashlib.sha256).hexdigest()
        headers.append(("X-Hub-Signature", f"sha256={digest}"))
    return Post(lease.callback, tuple(headers), content)


async def verified(request: HubRequest, challenge: str, post: Poster) -> bool:
    """Ask the subscriber to confirm its request."""
    try:
        return is_confirmed(await post(verification(request, challenge)), challenge)
    except DeliveryError:
        return False


def _web_url(text: str, name: str) -> str:
    try:
        parts = urlsplit(text)
        is_good = parts.scheme in ("http", "https") and bool(parts.hostname) and text.isprintable()
    except ValueError:
        is_good = False
    if not is_good or " " in text or parts.fragment or "<" in text or ">" in text:
        raise DeliveryError(f"{name} must be an http or https URL", is_final=True)
    return text


def _lease_s(text: str) -> int:
    if not (text.isascii() and text.isdigit()):
        return DEFAULT_LEASE_S
    return min(max(int(text[:12]), _LEAST_LEASE_S), _MOST_LEASE_S)


def _with_query(url: str, query: dict[str, str]) -> str:
    """The query that the callback already has stays."""
    parts = urlsplit(url)
    added = "&".join(filter(None, (parts.query, urlencode(query))))
    return urlunsplit((parts.scheme, parts.netloc, parts.path, added, ""))


def lease_of(destination: Destination) -> GrantedLease:
    """The lease that is stored in a subscription's options."""
    options = destination.options
    return GrantedLease(
        topic=options["topic"],
        callback=destination.target,
        secret=options.get("secret", ""),
        until=datetime.fromisoformat(options["until"]),
    )


def options_of(lease: GrantedLease) -> dict[str, str]:
    """A lease as options of a subscription."""
    return {"topic": lease.topic, "secret": lease.secret, "until": lease.until.isoformat()}


async def carry_out(
    catalog: Catalog,
    request: HubRequest,
    feed: str,
    *,
    post: Poster,
    new_challenge: Callable[[], str],
    now: datetime,
) -> bool:
    """Verify a subscriber's request, then carry it out; False, without effect, when the subscriber does not confirm.

    `feed` is the feed that the topic is the address of. The response 202 was already sent.
    """
    if not await verified(request, new_challenge(), post):
        return False
    before = _existing(catalog, feed, request)
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
    """Drop leases that were not renewed in time; returns how many."""
    return _drop((record for record in _leases(catalog) if _lease(record).until <= now), catalog, now)


def drop_all(catalog: Catalog, feed: str, now: datetime) -> int:
    """Drop the leases of a feed that is about to be dropped: remote subscribers cannot prevent that."""
    return _drop(_leases(catalog, feed), catalog, now)


def _drop(ended: Iterable[SubscriptionRecord], catalog: Catalog, now: datetime) -> int:
    ids = [record.id for record in ended]
    for id_ in ids:
        catalog.subscriptions.set_status(id_, "dropped", now)
    return len(ids)


def _leases(catalog: Catalog, feed: str | None = None) -> Iterator[SubscriptionRecord]:
    return (record for record in catalog.subscriptions.all(feed=feed) if record.channel == "websub")


def _existing(catalog: Catalog, feed: str, request: HubRequest) -> SubscriptionRecord | None:
    for record in _leases(catalog, feed):
        if record.target == request.callback and record.options.get("topic") == request.topic:
            return record
    return None


def _lease(record: SubscriptionRecord) -> GrantedLease:
    return lease_of(Destination(subscription=record.id, target=record.target, options=record.options))


def _subscription(feed: str, lease: GrantedLease, now: datetime) -> NewSubscription:
    return NewSubscription(
        feed=feed,
        statement="",
        channel="websub",
        target=lease.callback,
        options=options_of(lease),
        created_at=now,
    )
