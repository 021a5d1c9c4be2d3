"""What senders read of the logs: entries with their sources and partners, as every renderer wants them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from feedweir.catalog import Catalog
from feedweir.deliver.view import EntryView, FeedView
from feedweir.engine.store import Store
from feedweir.errors import CatalogError
from feedweir.keeper.library import Shelves

Payload = Mapping[str, Any]
"""Of an outbox entry: `seq` and `feed`."""


Key = tuple[int, int]
"""(feed, seq)."""


def key_of(payload: Payload) -> Key:
    return payload.get("feed", 0), payload["seq"]


class EntryViews(Protocol):
    """What a sender needs to know of feeds and items."""

    def feed(self, feed_id: int) -> FeedView:
        """A feed without entries."""

    def entries(self, payloads: Sequence[Payload]) -> Mapping[Key, tuple[EntryView, ...]]:
        """The entries of these payloads by feed and sequence number; those that are kept no more are left out.

        An element that stands for constructed documents has several.
        """

    def newest(self, feed_id: int, limit: int) -> FeedView:
        """A feed with its newest entries."""


class StoredViews:
    """Views of the item log and the catalog."""

    def __init__(self, catalog: Catalog, store: Store) -> None:
        self._catalog = catalog
        self._shelves = Shelves(catalog, store)

    def feed(self, feed_id: int) -> FeedView:
        return self.newest(feed_id, 0)

    def newest(self, feed_id: int, limit: int) -> FeedView:
        record = self._catalog.feeds.with_id(feed_id)
        view = self._shelves.feed(record.name, limit) if record else None
        if view is None:
            raise CatalogError(f"feed {feed_id} is no more")
        return view

    def entries(self, payloads: Sequence[Payload]) -> Mapping[Key, tuple[EntryView, ...]]:
        by_feed: dict[int, set[int]] = {}
        for feed, seq in map(key_of, payloads):
            by_feed.setdefault(feed, set()).add(seq)
        return {
            (feed, seq): entries
            for feed, seqs in sorted(by_feed.items())
            for seq, entries in self._shelves.elements(feed, sorted(seqs)).items()
        }
