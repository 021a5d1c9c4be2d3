"""What doors show: feeds with their newest entries, items, counts and failures, from the logs and the catalog.

Addresses are shown without the secrets in them: those are between us and the publisher.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime

import pyarrow as pa

from feedweir.catalog import Catalog, Failure, FeedRecord, FeedStatistics, SourceRecord
from feedweir.deliver.view import EntryView, FeedKind, FeedSummary, FeedView
from feedweir.engine.constructed import items_shown, parts_of
from feedweir.engine.store import Store
from feedweir.items.model import Item
from feedweir.items.redact import without_secrets
from feedweir.items.schema import items_of
from feedweir.keeper.partners import Annotation, annotations_of


class Shelves:
    """Reads feeds for people; writes nothing."""

    def __init__(self, catalog: Catalog, store: Store) -> None:
        self._catalog = catalog
        self._store = store

    def feeds(
        self,
        *,
        kind: FeedKind | None = None,
        after: str = "",
        limit: int | None = None,
        owner: str | None = None,
    ) -> Sequence[FeedSummary]:
        """Feeds of a kind (None: of both) by name, from the first name greater than `after`; all, or an owner's."""
        records = self._catalog.feeds.all(kind=kind, owner=owner, after=after, limit=limit)
        sources = self._sources(record.name for record in records if record.kind == "source")
        failures = self._catalog.failures.last_of("source", sources)
        failures |= self._catalog.failures.last_of(
            "feed", [record.name for record in records if record.name not in sources]
        )
        counts, newest = self._store.figures([record.id for record in records])
        times = self._times(newest[newest > 0].tolist())
        counted = {one.feed_id: one for one in self._catalog.statistics.feeds([one.id for one in records])}
        return [
            _with_counters(
                _summary(record, sources.get(record.name), failures.get(record.name), count, times.get(seq)),
                counted.get(record.id),
            )
            for record, count, seq in zip(records, counts.tolist(), newest.tolist(), strict=True)
        ]

    def count(self, kind: FeedKind) -> int:
        return self._catalog.feeds.count(kind)

    def feed(self, name: str, limit: int) -> FeedView | None:
        """The feed with its newest `limit` entries; None when there is no such feed."""
        record = self._catalog.feeds.find(name)
        if record is None:
            return None
        entries = self._entries(self.newest(record.id, limit), record.id)
        source = self._source(record)
        about = source.state.description if source else {}
        failures = self._catalog.failures.of("source" if source else "feed", name)
        return FeedView(
            name=name,
            kind=record.kind,
            title=about.get("title", ""),
            description=about.get("description", ""),
            home_link=about.get("link", ""),
            definition=without_secrets(record.statement),
            language=about.get("language", ""),
            updated=max((entry.item.arrived for entry in entries), default=record.created_at),
            failure=_current(failures[0] if failures else None, source),
            entries=tuple(entries),
        )

    def item(self, seq: int) -> EntryView | None:
        """The item of this sequence number."""
        found = self._entries(list(items_of(self._store.items([seq]))))
        return found[0] if found else None

    def elements(self, feed: int, seqs: Sequence[int]) -> dict[int, tuple[EntryView, ...]]:
        """Elements of a feed as entries, by number: several where one stands for several documents."""
        items = list(items_of(self._store.items(seqs)))
        found: dict[int, tuple[EntryView, ...]] = {}
        for entry in self._entries(self._shown(items, feed), feed):
            found[entry.item.seq] = (*found.get(entry.item.seq, ()), entry)
        return found

    def near_names(self, name: str) -> Sequence[str]:
        return self._catalog.feeds.near(name)

    def newest(self, feed: int, limit: int) -> list[Item]:
        """The newest items of a feed, each in the latest revision that reached it."""
        wanted = limit
        while True:
            seqs = self._store.seqs(feed, wanted)
            items = _latest_revisions(self._store.items(seqs.tolist()))
            if len(items) >= limit or len(seqs) < wanted:
                return self._shown(items[:limit], feed)[:limit]
            wanted *= 2

    def _shown(self, items: list[Item], feed: int) -> list[Item]:
        """Elements as they are read: constructed documents stand in the place of the item that completed them."""
        made = self._store.joined.made(feed, [item.seq for item in items])
        return items_shown(items, made, self._numbered(parts_of(made))) if made else items

    def _numbered(self, seqs: Sequence[int]) -> dict[int, Item]:
        return {item.seq: item for item in items_of(self._store.items(seqs))} if seqs else {}

    def _entries(self, items: list[Item], feed: int | None = None) -> list[EntryView]:
        """`feed` is where they are shown: what its joins found stands with them."""
        sources = self._sources(item.source for item in items)
        found = annotations_of(self._store, feed, items)
        return [
            _entry(item, sources.get(item.source), joined) for item, joined in zip(items, found, strict=True)
        ]

    def _source(self, record: FeedRecord) -> SourceRecord | None:
        if record.kind != "source":
            return None
        return self._sources([record.name]).get(record.name)

    def _sources(self, names: Iterable[str]) -> dict[str, SourceRecord]:
        return {record.name: record for record in self._catalog.sources.several(names)}

    def _times(self, seqs: list[int]) -> dict[int, datetime]:
        """When the items of these numbers are from."""
        items = items_of(self._store.items(seqs)) if seqs else ()
        return {item.seq: item.time for item in items}


def _summary(
    record: FeedRecord,
    source: SourceRecord | None,
    failure: Failure | None,
    item_count: int,
    last_item: datetime | None,
) -> FeedSummary:
    about = source.state.description if source else {}
    return FeedSummary(
        name=record.name,
        kind=record.kind,
        owner=record.owner,
        title=about.get("title", ""),
        description=about.get("description", ""),
        url=without_secrets(source.state.url) if source else "",
        home_link=about.get("link", ""),
        definition=without_secrets(record.statement),
        item_count=item_count,
        last_item=last_item,
        failure=_current(failure, source),
        failure_count=source.state.failures if source else 0,
    )


def _with_counters(summary: FeedSummary, counted: FeedStatistics | None) -> FeedSummary:
    if counted is None:
        return summary
    return replace(summary, hits=counted.hits, candidates=counted.candidates, last_hit=counted.last_hit_at)


def _current(failure: Failure | None, source: SourceRecord | None) -> str:
    """A failure's reason, unless the source has done well since."""
    has_recovered = source is not None and source.state.failures == 0 and source.state.status != "gone"
    if failure is None or has_recovered:
        return ""
    return failure.reason


def _latest_revisions(items: pa.Table) -> list[Item]:
    """Newest first; an item that was edited stands once, as it is now, where it was first."""
    latest: dict[tuple[str, str], Item] = {}
    for item in items_of(items):
        latest[item.source, item.identity] = item
    return sorted(latest.values(), key=lambda item: item.seq, reverse=True)


def _entry(item: Item, source: SourceRecord | None, annotation: Annotation) -> EntryView:
    about = source.state.description if source else {}
    return EntryView(
        item=item,
        source_title=about.get("title", ""),
        source_link=about.get("link", ""),
        source_url=without_secrets(source.state.url) if source else "",
        annotation=annotation,
    )
