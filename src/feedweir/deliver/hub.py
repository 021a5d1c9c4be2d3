"""WebSub as a hub, for every feed that is served: who may be pushed to, for how long, and what is pushed.

Values and pure functions; `verified` is the only one that speaks to anybody.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Literal
from urllib.parse import urlencode, urlsplit, urlunsplit

from feedweir.deliver.posting import Answer, Post, Poster
from feedweir.errors import DeliveryError

DEFAULT_LEASE_S = 10 * 86_400
_LEAST_LEASE_S = 3_600
_MOST_LEASE_S = 30 * 86_400
_MAX_SECRET_BYTES = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class HubRequest:
    """What a subscriber asked for; nothing holds until it has confirmed that it did."""

    mode: Literal["subscribe", "unsubscribe"]
    topic: str
    callback: str
    lease_s: int = DEFAULT_LEASE_S
    secret: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    """A confirmed subscription of a callback to a topic."""

    topic: str
    callback: str
    secret: str = field(default="", repr=False)
    until: datetime


def requested(form: Mapping[str, str]) -> HubRequest:
    """A subscriber's form, checked; the DeliveryError it raises is the text of a 400 answer."""
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
    """The question whether the subscriber meant it: it must answer with the challenge."""
    query = {"hub.mode": request.mode, "hub.topic": request.topic, "hub.challenge": challenge}
    if request.mode == "subscribe":
        query["hub.lease_seconds"] = str(request.lease_s)
    return Post(_with_query(request.callback, query), (), b"", "GET")


def is_confirmed(answer: Answer, challenge: str) -> bool:
    """Whether the subscriber meant it: any 2xx with the challenge and nothing else."""
    return 200 <= answer.status < 300 and hmac.compare_digest(answer.body, challenge.encode())


def granted(request: HubRequest, now: datetime) -> Lease:
    """The lease after a confirmed request; asked for again, it begins anew."""
    until = now + timedelta(seconds=request.lease_s)
    return Lease(topic=request.topic, callback=request.callback, secret=request.secret, until=until)


def distribution(lease: Lease, content: bytes, media_type: str, hub: str, key: str) -> Post:
    """Content for a subscriber, signed where it gave a secret; `key` stays the same when it is sent again."""
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
    """Ask the subscriber whether it meant it."""
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
    """The callback keeps the query that it has."""
    parts = urlsplit(url)
    added = "&".join(filter(None, (parts.query, urlencode(query))))
    return urlunsplit((parts.scheme, parts.netloc, parts.path, added, ""))
