"""Pushes to WebSub subscribers of our own feeds.

Guarantee: at least once while the lease lasts; by the stable ids of entries a subscriber recognises duplicates.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import datetime
from urllib.parse import urlsplit

from feedweir.deliver.address import Address
from feedweir.deliver.channels.channel_types import ChannelContext, ChannelType
from feedweir.deliver.hub import distribution, lease_of
from feedweir.deliver.render.formats import Format, rendered
from feedweir.deliver.send.parcel import Parcel
from feedweir.deliver.send.poster import Poster, check
from feedweir.deliver.send.retry import RetryPolicy
from feedweir.errors import DeliveryError


@dataclass(frozen=True, slots=True)
class WebSubChannel:
    """Posts new entries in the format of the topic; `hub` is the public URL of our hub."""

    post: Poster
    clock: Callable[[], datetime]
    hub: str
    newest: int = 0

    async def send(self, parcel: Parcel) -> None:
        lease = lease_of(parcel.destination)
        if lease.until <= self.clock():
            raise DeliveryError("the lease has ended", is_gone=True)
        format_ = format_of(lease.topic)
        content = rendered(parcel.view, format_, parcel.destination.address)
        answer = await self.post(distribution(lease, content, format_.media_type, self.hub, parcel.key))
        check(answer, self.clock())


def format_of(topic: str) -> Format:
    """The format of the topic by its suffix; RSS if it has none."""
    suffix = urlsplit(topic).path.rpartition(".")[2]
    return {"atom": Format.ATOM, "json": Format.JSON}.get(suffix, Format.RSS)


def _open(context: ChannelContext, stack: ExitStack) -> WebSubChannel | None:
    """None without a public address: subscribers could not reach the hub."""
    base = context.settings.public_url.rstrip("/")
    return WebSubChannel(context.post, context.clock, Address(base).hub()) if base else None


CHANNEL = ChannelType(open=_open, retry=RetryPolicy(first_s=30, attempts=8), when_gone="dropped")
