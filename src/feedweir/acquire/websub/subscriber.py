"""WebSub as a subscriber: leases, verification, signatures, and when to fall back to polling.

Values and pure functions: the HTTP server passes requests in, and sends the requests that are returned.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import Enum, IntEnum
from urllib.parse import urlencode

from feedweir.acquire.fetch.http_rules import Headers, all_values
from feedweir.acquire.fetch.transport import Request, Transport, TransportError
from feedweir.logs.landing import Landed

DEFAULT_LEASE_S = 10 * 86_400
_MIN_LEASE_S = 300
_MAX_LEASE_S = 90 * 86_400
_RENEW_AT = 0.2
"""A lease is renewed when this part of it remains."""
_PENDING_S = 3_600
_FIRST_RETRY_S = 900
_MAX_RETRY_S = 7 * 86_400
_DISTRUST_S = 86_400
_MAX_GOODBYES = 3
_HASHES = ("sha256", "sha384", "sha512", "sha1")


class LeaseStatus(Enum):
    WANTED = "not requested yet"
    PENDING = "requested, not yet confirmed"
    ACTIVE = "confirmed"
    DENIED = "refused by the hub"
    ENDING = "to be cancelled"


class NamedBy(IntEnum):
    """Who names a hub; the later in this list counts for more."""

    DOCUMENT = 0
    HEADERS = 1
    HAND = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Hub:
    """Where a feed is pushed from, and the name it is pushed under."""

    url: str
    topic: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    """One source's subscription at its hub. `token` makes the callback unguessable, `secret` signs the content."""

    source: str
    hub: Hub
    token: str
    secret: str
    status: LeaseStatus = LeaseStatus.WANTED
    lease_s: int = 0
    expires_at: datetime | None = None
    next_at: datetime
    """When to speak to the hub again."""
    attempts: int = 0
    reason: str = ""
    is_from_headers: bool = False
    """Headers name the hub; the document's counts only where headers name none."""
    is_set: bool = False
    """An operator set the hub; the one that the source names is ignored."""
    pushed_at: datetime | None = None
    """When the hub last pushed something."""
    silences: int = 0
    """How many polls in a row found what the hub should have pushed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HubReply:
    """The reply to a request of a hub, and the lease after it."""

    status: int
    body: str
    lease: Lease


def new_lease(
    source: str,
    hub: Hub,
    now: datetime,
    secrets: Callable[[int], str],
    named_by: NamedBy = NamedBy.DOCUMENT,
) -> Lease:
    """A lease to be requested. `secrets(n)` gives n bytes of randomness as text (`secrets.token_urlsafe`)."""
    lease = Lease(source=source, hub=hub, token=secrets(24), secret=secrets(32), next_at=now)
    return _named(lease, named_by)


def names_another(lease: Lease | None, hub: Hub, named_by: NamedBy) -> bool:
    """Whether a hub is another one than that of the lease, and named by somebody who counts as much."""
    if lease is None or lease.status is LeaseStatus.ENDING:
        return True
    return lease.hub != hub and named_by >= _namer(lease)


def confirmed_by(lease: Lease | None, hub: Hub, named_by: NamedBy) -> Lease | None:
    """The lease after its hub was named by somebody who counts for more: whoever counts for less cannot change it
    now."""
    is_stronger = lease is not None and lease.hub == hub and named_by > _namer(lease)
    return _named(lease, named_by) if lease and is_stronger else lease


def _namer(lease: Lease) -> NamedBy:
    if lease.is_set:
        return NamedBy.HAND
    return NamedBy.HEADERS if lease.is_from_headers else NamedBy.DOCUMENT


def _named(lease: Lease, named_by: NamedBy) -> Lease:
    return replace(lease, is_from_headers=named_by is NamedBy.HEADERS, is_set=named_by is NamedBy.HAND)


def is_due(lease: Lease, now: datetime) -> bool:
    return lease.next_at <= now


def request_for(
    lease: Lease, callback: str, now: datetime, *, lease_s: int = DEFAULT_LEASE_S
) -> tuple[Request, Lease]:
    """The request that asks for the lease (or gives it up), and the lease while the answer is awaited."""
    is_ending = lease.status is LeaseStatus.ENDING
    form = {
        "hub.callback": callback,
        "hub.mode": "unsubscribe" if is_ending else "subscribe",
        "hub.topic": lease.hub.topic,
    }
    if not is_ending:
        form |= {"hub.lease_seconds": str(lease_s), "hub.secret": lease.secret}
    headers = (("Content-Type", "application/x-www-form-urlencoded"),)
    request = Request(lease.hub.url, headers, "POST", urlencode(form).encode("ascii"))
    pending = LeaseStatus.PENDING if lease.status is LeaseStatus.WANTED else lease.status
    # A hub that accepts and then never verifies is asked again.
    attempts = lease.attempts + 1
    return request, replace(
        lease, status=pending, attempts=attempts, next_at=now + timedelta(seconds=_pause_s(attempts))
    )


def answered(lease: Lease, status: int, now: datetime) -> Lease:
    """The lease after the hub's answer: any 2xx means that it will verify."""
    if 200 <= status < 300:
        return lease
    pause = timedelta(seconds=_pause_s(lease.attempts))
    return replace(
        lease,
        reason=f"the hub answered HTTP {status}" if status else "the hub could not be reached",
        next_at=now + pause,
    )


def verified(lease: Lease, query: Mapping[str, str], now: datetime) -> HubReply:
    """The hub asks whether we meant it: yes to what we asked for, no (404) to everything else."""
    mode, topic, challenge = query.get("hub.mode"), query.get("hub.topic"), query.get("hub.challenge", "")
    if mode == "denied" and topic == lease.hub.topic:
        reason = query.get("hub.reason", "") or "the hub gives no reason"
        pause = timedelta(seconds=_MAX_RETRY_S)
        denied = replace(lease, status=LeaseStatus.DENIED, reason=reason[:200], next_at=now + pause)
        return HubReply(status=200, body="", lease=denied)
    expects = {LeaseStatus.ENDING: "unsubscribe"}.get(lease.status, "subscribe")
    if mode != expects or topic != lease.hub.topic or not challenge:
        return HubReply(status=404, body="", lease=lease)
    if mode == "unsubscribe":
        return HubReply(status=200, body=challenge, lease=replace(lease, expires_at=now))
    return HubReply(
        status=200, body=challenge, lease=_granted(lease, query.get("hub.lease_seconds", ""), now)
    )


def is_signed(lease: Lease, body: bytes, headers: Headers) -> bool:
    """Whether content carries the signature that only our hub can make; compared in constant time."""
    method, _, signature = all_values(headers, "x-hub-signature").strip().partition("=")
    if method.lower() not in _HASHES:
        return False
    digest = hmac.new(lease.secret.encode("utf-8"), body, getattr(hashlib, method.lower())).hexdigest()
    return hmac.compare_digest(digest.encode("ascii"), signature.strip().lower().encode("utf-8"))


def pushed(lease: Lease, body: bytes, headers: Headers, media_type: str, now: datetime) -> Landed | None:
    """The document to land, or None for content that is not from our hub.

    The sender is answered 2xx either way, as the standard asks: who guesses learns nothing.
    """
    is_live = lease.status in (LeaseStatus.ACTIVE, LeaseStatus.ENDING) and is_active(lease, now)
    if not is_live or not is_signed(lease, body, headers):
        return None
    return Landed(source=lease.source, url=lease.hub.topic, media_type=media_type, arrived=now, body=body)


def is_active(lease: Lease, now: datetime) -> bool:
    """Whether content is pushed to us at present."""
    is_confirmed = lease.status in (LeaseStatus.ACTIVE, LeaseStatus.ENDING)
    return is_confirmed and lease.expires_at is not None and now < lease.expires_at


def status_text(lease: Lease, now: datetime) -> str:
    """The status of a lease in words."""
    is_over = lease.status is LeaseStatus.ACTIVE and not is_active(lease, now)
    about = "expired, requested again" if is_over else lease.status.value
    return f"{about}: {lease.reason}" if lease.reason else about


def pushed_until(lease: Lease | None, now: datetime) -> datetime | None:
    """Until when a source may be polled rarely; None as soon as the push is not certain: polling is the fall-back."""
    return lease.expires_at if lease is not None and is_active(lease, now) else None


def received(lease: Lease, now: datetime) -> Lease:
    """The lease after a push."""
    return replace(lease, pushed_at=now, silences=0)


def is_silent(lease: Lease, before: datetime, now: datetime) -> bool:
    """Whether a hub did not push what a poll found `now` and the poll `before` did not."""
    return is_active(lease, now) and (lease.pushed_at is None or lease.pushed_at < before)


def distrusted(lease: Lease, now: datetime) -> Lease:
    """The lease of a hub that did not push: the source is polled as usual, and the hub asked again, later each time."""
    pause_s = min(_DISTRUST_S * 2 ** min(lease.silences, 8), _MAX_LEASE_S)
    return replace(
        lease,
        status=LeaseStatus.WANTED,
        expires_at=None,
        attempts=0,
        silences=lease.silences + 1,
        next_at=now + timedelta(seconds=pause_s),
        reason="the hub did not push what was published",
    )


def given_up(lease: Lease, now: datetime) -> Lease:
    """A lease that is no longer wanted."""
    return replace(lease, status=LeaseStatus.ENDING, attempts=0, next_at=now)


def is_over(lease: Lease, now: datetime) -> bool:
    """Whether a lease that was given up can be forgotten: the hub agreed, or never will."""
    is_agreed = lease.expires_at is None or lease.expires_at <= now
    return lease.status is LeaseStatus.ENDING and (is_agreed or lease.attempts > _MAX_GOODBYES)


async def send(request: Request, transport: Transport) -> int:
    """Send a request to a hub; its status, 0 when it could not be reached."""
    try:
        async with transport.open(request) as response:
            return response.status
    except TransportError:
        return 0


def _granted(lease: Lease, seconds: str, now: datetime) -> Lease:
    asked_s = int(seconds[:12]) if seconds.isascii() and seconds.isdigit() else DEFAULT_LEASE_S
    lease_s = min(max(asked_s, _MIN_LEASE_S), _MAX_LEASE_S)
    return replace(
        lease,
        status=LeaseStatus.ACTIVE,
        lease_s=lease_s,
        expires_at=now + timedelta(seconds=asked_s if asked_s < _MIN_LEASE_S else lease_s),
        next_at=now + timedelta(seconds=lease_s * (1 - _RENEW_AT)),
        attempts=0,
        reason="",
    )


def _pause_s(attempts: int) -> float:
    return float(min(_FIRST_RETRY_S * 2 ** min(attempts - 1, 16) if attempts else _PENDING_S, _MAX_RETRY_S))
