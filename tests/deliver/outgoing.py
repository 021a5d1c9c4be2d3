"""Senders on a simulated clock, with a real catalog and a channel whose luck and death are scripted."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from feedweir.catalog import Catalog, NewEntry, NewFeed, NewSubscription, open_catalog
from feedweir.deliver.address import Address
from feedweir.deliver.feed_views import EntryKey
from feedweir.deliver.render.view import EntryView, FeedView
from feedweir.deliver.send.parcel import Channel, Parcel
from feedweir.deliver.send.parcel_store import Parcels
from feedweir.deliver.send.sender import Sender, SenderOptions
from feedweir.deliver.transforms.stylesheets import Stylesheets
from feedweir.deliver.transforms.transformer import Transformer
from feedweir.errors import DeliveryError
from feedweir.items.model import Item
from tests.deliver.musical import NOON


class Crash(BaseException):
    """The sender dies here."""


@dataclass
class Clock:
    now: datetime = NOON

    def __call__(self) -> datetime:
        return self.now

    def advance(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)


class Memory:
    """Views of items that are kept in memory."""

    def __init__(self, items: Sequence[Item] = ()) -> None:
        self.items = {item.seq: item for item in items}

    def with_id(self, feed_id: int, limit: int = 0) -> FeedView:
        newest = sorted(self.items.values(), key=lambda item: -item.seq)[:limit]
        entries = tuple(EntryView(item=item) for item in newest)
        return FeedView(name="News", updated=NOON, entries=entries)

    def entries(self, keys: Iterable[EntryKey]) -> Mapping[EntryKey, tuple[EntryView, ...]]:
        return {key: (EntryView(item=self.items[key[1]]),) for key in keys if key[1] in self.items}


@dataclass
class Scripted:
    """A channel that takes its luck from a list: `ok`, `busy`, `refused`, `gone`, `die before`, `die after`."""

    script: list[str] = field(default_factory=list)
    newest: int = 0
    received: list[tuple[str, int, tuple[int, ...]]] = field(default_factory=list)
    """(key, subscription, sequence numbers), as often as it came."""

    async def send(self, parcel: Parcel) -> None:
        luck = self.script.pop(0) if self.script else "ok"
        if luck == "die before":
            raise Crash
        if luck == "busy":
            raise DeliveryError("come back later")
        if luck == "refused":
            raise DeliveryError("not for me", is_final=True)
        if luck == "gone":
            raise DeliveryError("nobody lives here", is_gone=True)
        seqs = tuple(sorted(entry.item.seq for entry in parcel.view.entries))
        self.received.append((parcel.key, parcel.destination.subscription, seqs))
        if luck == "die after":
            raise Crash
        if luck == "lost answer":
            raise DeliveryError("no answer came")

    def once_each(self) -> list[tuple[int, int]]:
        """What a receiver that remembers keys ends up with: (subscription, sequence number)."""
        kept = {key: (subscription, seqs) for key, subscription, seqs in self.received}
        return sorted((subscription, seq) for subscription, seqs in kept.values() for seq in seqs)


def subscribed(catalog: Catalog, **given: Any) -> int:
    if catalog.feeds.find("News") is None:
        catalog.feeds.add([NewFeed(name="News", kind="source", statement="register", created_at=NOON)])
    values: dict[str, Any] = {"channel": "hook", "target": "x", "statement": "", "created_at": NOON}
    return catalog.subscriptions.add(NewSubscription(feed="News", **{**values, **given}))


def arrive(catalog: Catalog, subscription: int, seqs: Sequence[int], now: datetime) -> None:
    entries = [NewEntry(subscription, f"News\ni{seq}", {"feed": 1, "seq": seq}, now) for seq in seqs]
    catalog.outbox.insert(entries, now)


def sender_of(
    catalog: Catalog,
    views: Memory,
    channels: Mapping[str, Channel],
    clock: Clock,
    worker: str = "one",
    *,
    transformer: Transformer | None = None,
    address: Address | None = None,
    options: SenderOptions | None = None,
    parcels: Parcels | None = None,
) -> Sender:
    return Sender(
        catalog,
        views,
        channels,
        worker=worker,
        clock=clock,
        transformer=transformer or Transformer(),
        stylesheets=Stylesheets(),
        address=address,
        options=options or SenderOptions(lease_s=60, timeout_s=10),
        parcels=parcels,
    )


def step(sender: Sender) -> int:
    return asyncio.run(sender.step())


class Catalogs:
    """New catalogs by copying an empty one, which is much faster than making it."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._count = 0
        open_catalog(f"sqlite:///{directory}/empty.db").close()

    def new(self) -> Catalog:
        self._count += 1
        path = self._directory / f"{self._count}.db"
        shutil.copy(self._directory / "empty.db", path)
        return open_catalog(f"sqlite:///{path}")
