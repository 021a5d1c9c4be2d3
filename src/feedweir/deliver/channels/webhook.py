"""Webhooks signed as Standard Webhooks describes.

Guarantee: at least once, under one `webhook-id` for the same entries: exactly once for a receiver that remembers ids.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from feedweir.deliver.parcel import Parcel
from feedweir.deliver.plain import rfc3339
from feedweir.deliver.posting import Post, Poster, check
from feedweir.deliver.render import Format, rendered
from feedweir.errors import DeliveryError

_PREFIX = "whsec_"


@dataclass(frozen=True, slots=True)
class WebhookChannel:
    """Posts each parcel to the subscription's URL, signed with its option `secret` (`whsec_…`) where it has one."""

    post: Poster
    clock: Callable[[], datetime]
    newest: int = 0

    async def send(self, parcel: Parcel) -> None:
        answer = await self.post(request_of(parcel, self.clock()))
        check(answer, self.clock())


def request_of(parcel: Parcel, now: datetime) -> Post:
    """The request for a parcel: the id and the body stay the same at every attempt, the time is the attempt's."""
    body, media_type = _body(parcel)
    message_id, timestamp = f"msg_{parcel.key}", str(int(now.timestamp()))
    headers = [
        ("Content-Type", media_type),
        ("webhook-id", message_id),
        ("webhook-timestamp", timestamp),
    ]
    keys = str(parcel.destination.options.get("secret", "")).split()
    if keys:
        # Several secrets, separated by spaces: receivers may change theirs without missing anything.
        signed = " ".join(signature(secret, message_id, timestamp, body) for secret in keys)
        headers.append(("webhook-signature", signed))
    return Post(parcel.destination.target, tuple(headers), body)


def new_secret() -> str:
    """A secret that nobody can guess, as Standard Webhooks writes it."""
    return _PREFIX + base64.b64encode(secrets.token_bytes(24)).decode()


def signature(secret: str, message_id: str, timestamp: str, body: bytes) -> str:
    """`v1,` and the HMAC-SHA256 of id, timestamp and body under the secret's bytes."""
    try:
        key = base64.b64decode(secret.removeprefix(_PREFIX), validate=True)
    except (binascii.Error, ValueError):
        raise DeliveryError(
            "the secret of the webhook is not base64", is_final=True, hint="as in whsec_MfKQ9r8GKYqrTwjU"
        ) from None
    content = f"{message_id}.{timestamp}.".encode() + body
    return "v1," + base64.b64encode(hmac.new(key, content, hashlib.sha256).digest()).decode()


def is_signed(
    secret: str, headers: dict[str, str], body: bytes, now: datetime, *, tolerance_s: float = 300
) -> bool:
    """What a receiver checks: one of the signatures is ours, and the message is of these minutes."""
    message_id, timestamp = headers.get("webhook-id", ""), headers.get("webhook-timestamp", "")
    if not timestamp.isdigit() or abs(now.timestamp() - int(timestamp)) > tolerance_s:
        return False
    expected = signature(secret, message_id, timestamp, body)
    given = headers.get("webhook-signature", "").split()
    return any(hmac.compare_digest(expected.encode(), each.encode()) for each in given)


def _body(parcel: Parcel) -> tuple[bytes, str]:
    if parcel.transformed is not None:
        media_type = f"{parcel.transformed.media_type}; charset=utf-8"
        return parcel.transformed.text.encode("utf-8", "replace"), media_type
    # Written around the feed, which is the same for everybody who is sent these entries.
    start = f'{{"type":"feedweir.items","timestamp":"{rfc3339(parcel.made_at)}",'
    start += f'"data":{{"subscription":{parcel.destination.subscription},"feed":'
    feed = rendered(parcel.view, Format.JSON, parcel.destination.address)
    return start.encode() + feed.rstrip(b"\n") + b"}}", "application/json"
