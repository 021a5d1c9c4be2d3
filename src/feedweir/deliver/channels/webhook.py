"""Webhooks, signed as described by Standard Webhooks.

Guarantee: at least once, under one `webhook-id` for the same entries; exactly once for receivers that remember ids.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import secrets
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import datetime

from feedweir.acquire.fetch.http_rules import wire_url
from feedweir.deliver.channels.channel_types import ChannelContext, ChannelType
from feedweir.deliver.render.formats import Format, rendered
from feedweir.deliver.render.plain import rfc3339
from feedweir.deliver.send.parcel import Parcel
from feedweir.deliver.send.poster import Post, Poster, check
from feedweir.errors import DeliveryError

_PREFIX = "whsec_"


@dataclass(frozen=True, slots=True)
class WebhookChannel:
    """Posts each parcel to the subscription's URL, signed with its `secret` (`whsec_…`) if it has one."""

    post: Poster
    clock: Callable[[], datetime]
    newest: int = 0

    async def send(self, parcel: Parcel) -> None:
        answer = await self.post(request_of(parcel, self.clock()))
        check(answer, self.clock())


def request_of(parcel: Parcel, now: datetime) -> Post:
    """The request for a parcel: id and body are the same for every attempt, the timestamp is the attempt's."""
    body, media_type = _body(parcel)
    message_id, timestamp = f"msg_{parcel.key}", str(int(now.timestamp()))
    headers = [
        ("Content-Type", media_type),
        ("webhook-id", message_id),
        ("webhook-timestamp", timestamp),
    ]
    keys = str(parcel.destination.options.get("secret", "")).split()
    if keys:
        # Several secrets, separated by spaces, let a receiver change its secret without missing anything.
        signed = " ".join(signature(secret, message_id, timestamp, body) for secret in keys)
        headers.append(("webhook-signature", signed))
    return Post(parcel.destination.target, tuple(headers), body)


def new_secret() -> str:
    """A random secret in the notation of Standard Webhooks."""
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


def _body(parcel: Parcel) -> tuple[bytes, str]:
    if parcel.transformed is not None:
        media_type = f"{parcel.transformed.media_type}; charset=utf-8"
        return parcel.transformed.text.encode("utf-8", "replace"), media_type
    # The feed is rendered once for all subscriptions that are sent these entries.
    start = f'{{"type":"feedweir.items","timestamp":"{rfc3339(parcel.made_at)}",'
    start += f'"data":{{"subscription":{parcel.destination.subscription},"feed":'
    feed = rendered(parcel.view, Format.JSON, parcel.destination.address)
    return start.encode() + feed.rstrip(b"\n") + b"}}", "application/json"


def _open(context: ChannelContext, stack: ExitStack) -> WebhookChannel:
    return WebhookChannel(context.post, context.clock)


def _check_target(target: str, has_stylesheet: bool) -> None:
    if wire_url(target) is None:
        raise DeliveryError(
            f"{target!r} is not an http or https address", hint="as in https://example.org/hook"
        )


CHANNEL = ChannelType(open=_open, check_target=_check_target, new_secret=new_secret)
