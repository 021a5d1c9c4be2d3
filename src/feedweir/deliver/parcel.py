"""What leaves as one message, and the one shape that every channel has."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol

from feedweir.deliver.address import Address
from feedweir.deliver.transform import Transformed
from feedweir.deliver.view import FeedView


@dataclass(frozen=True, slots=True, kw_only=True)
class Destination:
    """Where a subscription's messages go."""

    subscription: int
    target: str
    """A mail address, a URL, a path: as the channel understands it."""
    options: Mapping[str, Any] = field(default_factory=dict, repr=False)
    address: Address = field(default_factory=Address)
    """Where this installation can be reached, for links back."""
    zone: str = "UTC"
    """The clock that the reader lives by."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Parcel:
    """Entries that go together. Sent again after any crash, a parcel has the same key and the same content."""

    key: str
    destination: Destination
    made_at: datetime
    view: FeedView
    """The feed with the parcel's entries; for a channel that keeps a document, with the feed's newest ones."""
    transformed: Transformed | None = None
    """What the subscription's stylesheet made of the entries, if it has one."""


class Channel(Protocol):
    """Carries parcels to readers. Stateless towards them: what was sent is known by the outbox only."""

    @property
    def newest(self) -> int:
        """How many of the feed's newest entries its document shows; 0 when it carries only what is new."""

    async def send(self, parcel: Parcel) -> None:
        """Deliver; raises DeliveryError when that failed, for now or for good."""


def parcel_key(subscription: int, element_keys: Iterable[str]) -> str:
    """A name for these elements of this subscription: 32 letters and digits, the same every time."""
    digest = hashlib.sha256(str(subscription).encode())
    for key in sorted(element_keys):
        digest.update(b"\0" + hashlib.sha256(key.encode("utf-8", "surrogatepass")).digest())
    return digest.hexdigest()[:32]
