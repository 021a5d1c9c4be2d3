"""Parcels, which are sent as one message, and the interface of every channel."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol

from feedweir.deliver.address import Address
from feedweir.deliver.render.view import FeedView
from feedweir.deliver.transforms.transformer import Transformed


@dataclass(frozen=True, slots=True, kw_only=True)
class Destination:
    """Where a subscription's messages go."""

    subscription: int
    target: str
    """A mail address, a URL or a path, as the channel requires."""
    options: Mapping[str, Any] = field(default_factory=dict, repr=False)
    address: Address = field(default_factory=Address)
    """The public address of this installation, for links back."""
    zone: str = "UTC"
    """The reader's time zone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Parcel:
    """Entries that are sent together. After a crash the parcel is sent again with the same key and content."""

    key: str
    destination: Destination
    made_at: datetime
    view: FeedView
    """The feed with the parcel's entries, or with its newest ones for a channel that shows the whole feed."""
    transformed: Transformed | None = None
    """The output of the subscription's stylesheet, if it has one."""


class Channel(Protocol):
    """Sends parcels to readers. It keeps no state about them: only the outbox knows what was sent."""

    @property
    def newest(self) -> int:
        """How many of the feed's newest entries it shows; 0 if it sends only new entries."""

    async def send(self, parcel: Parcel) -> None:
        """Deliver; raises DeliveryError on a temporary or permanent failure."""


def parcel_key(subscription: int, element_keys: Iterable[str]) -> str:
    """A reproducible name for these elements of this subscription: 32 hexadecimal digits."""
    digest = hashlib.sha256(str(subscription).encode())
    for key in sorted(element_keys):
        digest.update(b"\0" + hashlib.sha256(key.encode("utf-8", "surrogatepass")).digest())
    return digest.hexdigest()[:32]
