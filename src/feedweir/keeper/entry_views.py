"""What senders read of the logs: entries with their sources and partners, as every renderer wants them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from feedweir.catalog import Catalog, SourceRecord
from feedweir.deliver.view import EntryView, FeedView
from feedweir.engine.store import Store
from feedweir.errors import CatalogError
from feedweir.items.model import Item
from feedweir.items.schema import items_of
from feedweir.keeper.library import Shelves

Payload = Mapping[str, Any]
"""Of an outbox entry: `seq`, `feed`, and `partners`: {join identifier: [seq, …]} where there are any."""


class EntryViews(Protocol):
    """What a sender needs to know of feeds and items."""

    def feed(self, feed_id: int) -> FeedView:
        """A feed without entries."""

    def entries(self, payloads: Sequence[Payload]) -> Mapping[int, EntryView]:
        """The entries of these payloads by sequence number; those that are kept no more are left out."""

    def newest(self, feed_id: int, limit: int) -> FeedView:
        """A feed with its newest entries."""


class StoredViews:
    """Views of the item log and the catalog."""

    def __init__(self, catalog: Catalog, store: Store) -> None:
        self._catalog = catalog
        self._store = store
        self._shelves = Shelves(catalog, store)

    def feed(self, feed_id: int) -> FeedView:
        return self.newest(feed_id, 0)

    def newest(self, feed_id: int, limit: int) -> FeedView:
        record = self._catalog.feeds.with_id(feed_id)
        view = self._shelves.feed(record.name, limit) if record else None
        if view is None:
            raise CatalogError(f"feed {feed_id} is no more")
        return view

    def entries(self, payloads: Sequence[Payload]) -> Mapping[int, EntryView]:
        seqs = {seq for payload in payloads for seq in (payload["seq"], *_partner_seqs(payload))}
        items = {item.seq: item for item in items_of(self._store.items(sorted(seqs)))}
        sources = self._sources({item.source for item in items.values()})
        return {
            payload["seq"]: _entry(payload, items, sources) for payload in payloads if payload["seq"] in items
        }

    def _sources(self, names: set[str]) -> dict[str, SourceRecord]:
        found = {}
        for name in sorted(names):
            try:
                found[name] = self._catalog.sources.named(name)
            except CatalogError:  # pushed to, made from another feed, or dropped: then only its name is known
                continue
        return found


def _entry(payload: Payload, items: Mapping[int, Item], sources: Mapping[str, SourceRecord]) -> EntryView:
    item = items[payload["seq"]]
    source = sources.get(item.source)
    about = source.state.description if source else {}
    return EntryView(
        item=item,
        source_title=about.get("title", ""),
        source_link=about.get("link", ""),
        source_url=source.state.url if source else "",
        annotation=tuple(
            (name, tuple(items[seq] for seq in seqs if seq in items))
            for name, seqs in sorted(_partners(payload).items())
        ),
    )


def _partners(payload: Payload) -> Mapping[str, Sequence[int]]:
    partners: Mapping[str, Sequence[int]] = payload.get("partners") or {}
    return partners


def _partner_seqs(payload: Payload) -> list[int]:
    return [seq for seqs in _partners(payload).values() for seq in seqs]
