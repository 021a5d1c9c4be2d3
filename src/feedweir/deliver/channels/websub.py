"""Content pushed to WebSub subscribers, as the hub of our own feeds.

Guarantee: at least once while the lease lasts; entries have stable ids by which a subscriber recognises a repeat.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from urllib.parse import urlsplit

from feedweir.deliver.hub import Lease, distribution
from feedweir.deliver.parcel import Destination, Parcel
from feedweir.deliver.posting import Poster, check
from feedweir.deliver.render import Format, rendered
from feedweir.errors import DeliveryError


@dataclass(frozen=True, slots=True)
class WebSubChannel:
    """Posts the new entries in the format of the topic; `hub` is the public URL of ours."""

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


def lease_of(destination: Destination) -> Lease:
    """The lease as the subscription's options keep it."""
    options = destination.options
    return Lease(
        topic=options["topic"],
        callback=destination.target,
        secret=options.get("secret", ""),
        until=datetime.fromisoformat(options["until"]),
    )


def options_of(lease: Lease) -> dict[str, str]:
    """What a subscription keeps of a lease."""
    return {"topic": lease.topic, "secret": lease.secret, "until": lease.until.isoformat()}


def format_of(topic: str) -> Format:
    """The format that the topic's address ends in; RSS where it does not say."""
    suffix = urlsplit(topic).path.rpartition(".")[2]
    return {"atom": Format.ATOM, "json": Format.JSON}.get(suffix, Format.RSS)
