"""The read model: feeds with their entries, items, counts and failures, from the logs and the catalog.

Web pages, the command line and senders all read it. Secrets in addresses are left out: they are between us and the
publisher.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TypeAlias

import pyarrow as pa

from feedweir.catalog import Catalog, Failure, FeedRecord, FeedStatistics, SourceRecord
from feedweir.deliver.pages.archive_pages import PAGE, archive_before, upto_edge
from feedweir.deliver.partners import (
    Annotation,
    annotations_of,
    bindings_shown,
    may_name_variables,
    selecting_patterns,
)
from feedweir.deliver.render.view import EntryView, FeedKind, FeedSummary, FeedView
from feedweir.errors import CatalogError
from feedweir.items.model import Item
from feedweir.items.schema import items_of
from feedweir.join.constructed import items_shown, parts_of
from feedweir.logs.store import Store
from feedweir.plan.predicates import GraphPattern
from feedweir.plan.vocabularies import VOCABULARY
from feedweir.text.redact import without_secrets

EntryKey: TypeAlias = tuple[int, int]
"""(feed, sequence number)"""


class FeedViews:
    """Feeds as readers see them; changes nothing."""

    def __init__(self, catalog: Catalog, store: Store) -> None:
        self._catalog = catalog
        self._store = store

    def feeds(
        self,
        *,
        kind: FeedKind | None = None,
        like: str = "",
        after: str = "",
        limit: int | None = None,
        owner: str | None = None,
    ) -> Sequence[FeedSummary]:
        """Feeds by name, from the first name greater than `after`: of a kind, whose names are like a pattern, or that
        concern an owner."""
        records = self._catalog.feeds.all(kind=kind, owner=owner, like=like, after=after, limit=limit)
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
            updated=_changed(entries) or record.created_at,
            failure=_current(failures[0] if failures else None, source),
            entries=tuple(entries),
        )

    def with_id(self, feed_id: int, limit: int = 0) -> FeedView:
        """The feed of this number with its newest `limit` entries; raises CatalogError when it was dropped."""
        record = self._catalog.feeds.with_id(feed_id)
        view = self.feed(record.name, limit) if record else None
        if view is None:
            raise CatalogError(f"feed {feed_id} no longer exists")
        return view

    def page(self, name: str, limit: int = 0, *, before: int = 0) -> FeedView | None:
        """A feed's newest page, or the one whose entries come before a number, with the numbers of older pages.

        Without `limit`, a page has its usual length. None when there is no such feed.
        """
        record = self._catalog.feeds.find(name)
        view = self.feed(name, 0 if before else limit or PAGE)
        if view is None or record is None:
            return None
        if not before:
            return replace(self._with_older(view, record.id, _numbers(view.entries)), limit=limit)
        numbers = self._numbers_before(record.id, limit, before)
        items = _latest_revisions(self._store.items(numbers))
        entries = tuple(self._entries(self._shown(items, record.id), record.id))
        view = replace(
            view, entries=entries, before=before, limit=limit, updated=_changed(entries) or view.updated
        )
        return self._with_older(view, record.id, numbers)

    def _numbers_before(self, feed: int, limit: int, before: int) -> list[int]:
        """How many elements a page has: as many as were requested, or up to the next page edge."""
        wanted = limit or 4 * PAGE
        while True:
            seqs: list[int] = self._store.seqs(feed, wanted, before=before).tolist()
            end = limit or upto_edge(seqs)
            if end or len(seqs) < wanted:
                return seqs[:end]
            wanted *= 2

    def _with_older(self, view: FeedView, feed: int, numbers: Sequence[int]) -> FeedView:
        """The view with the numbers of the pages that follow these elements, newest first."""
        if not numbers or not len(self._store.seqs(feed, 1, before=numbers[-1])):
            return view
        return replace(view, older=numbers[-1], archive=archive_before(numbers))

    def item(self, seq: int) -> EntryView | None:
        """The item of this sequence number."""
        found = self._entries(list(items_of(self._store.items([seq]))))
        return found[0] if found else None

    def entries(self, keys: Iterable[EntryKey]) -> dict[EntryKey, tuple[EntryView, ...]]:
        """Elements of several feeds as entries; those that have been deleted are left out."""
        by_feed: dict[int, set[int]] = {}
        for feed, seq in keys:
            by_feed.setdefault(feed, set()).add(seq)
        return {
            (feed, seq): entries
            for feed, seqs in sorted(by_feed.items())
            for seq, entries in self.elements(feed, sorted(seqs)).items()
        }

    def elements(self, feed: int, seqs: Sequence[int]) -> dict[int, tuple[EntryView, ...]]:
        """Elements of a feed as entries, by sequence number. An element that stands for constructed documents has
        several."""
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
        """Elements as readers see them: constructed documents take the place of the item that completed them."""
        made = self._store.joined.made(feed, [item.seq for item in items])
        return items_shown(items, made, self._numbered(parts_of(made))) if made else items

    def _numbered(self, seqs: Sequence[int]) -> dict[int, Item]:
        return {item.seq: item for item in items_of(self._store.items(seqs))} if seqs else {}

    def _entries(self, items: list[Item], feed: int | None = None) -> list[EntryView]:
        """`feed` is where they are shown: entries come with what its joins found."""
        sources = self._sources(item.source for item in items)
        found = annotations_of(self._store, feed, items)
        told = self._patterns_of(feed, items) if feed is not None and items else {}
        return [
            replace(
                _entry(item, sources.get(item.source), joined),
                bindings=bindings_shown(told[item.seq], item) if told.get(item.seq) else (),
            )
            for item, joined in zip(items, found, strict=True)
        ]

    def _patterns_of(self, feed: int, items: Iterable[Item]) -> dict[int, tuple[GraphPattern, ...]]:
        """By item the patterns whose variables are told of it: those by which the feed was defined, and in the
        vocabularies that were known, when the item was matched. So what is told of an entry never changes."""
        wordings = self._catalog.feeds.wordings(feed)
        if not any(may_name_variables(statement) for _, statement in wordings):
            return {}
        matched = self._store.versions_at([item.seq for item in items])
        by_version = {version: self._told_in(wordings, version) for version in set(matched.values())}
        return {seq: by_version[version] for seq, version in matched.items()}

    def _told_in(self, wordings: Sequence[tuple[int, str]], version: int) -> tuple[GraphPattern, ...]:
        at = version or wordings[-1][0]
        known = [statement for since, statement in wordings if since <= at]
        vocabularies = self._catalog.feeds.beginning(VOCABULARY, at)
        return selecting_patterns(
            known[-1] if known else wordings[0][1],
            tuple(one.statement for one in sorted(vocabularies, key=lambda one: one.name)),
        )

    def _source(self, record: FeedRecord) -> SourceRecord | None:
        if record.kind != "source":
            return None
        return self._sources([record.name]).get(record.name)

    def _sources(self, names: Iterable[str]) -> dict[str, SourceRecord]:
        return {record.name: record for record in self._catalog.sources.several(names)}

    def _times(self, seqs: list[int]) -> dict[int, datetime]:
        """The times of these items."""
        items = items_of(self._store.items(seqs)) if seqs else ()
        return {item.seq: item.time for item in items}


def _numbers(entries: Sequence[EntryView]) -> list[int]:
    """Of the elements that are complete among these: the page may end within the documents of the last one."""
    seqs = sorted({entry.item.seq for entry in entries}, reverse=True)
    if entries and entries[-1].item.made_of:
        seqs[-1] += 1
    return seqs


def _changed(entries: Sequence[EntryView]) -> datetime | None:
    """When the newest of these entries arrived."""
    return max((entry.item.arrived for entry in entries), default=None)


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
    """A failure's reason, unless the source has succeeded since."""
    has_recovered = source is not None and source.state.failures == 0 and source.state.status != "gone"
    if failure is None or has_recovered:
        return ""
    return failure.reason


def _latest_revisions(items: pa.Table) -> list[Item]:
    """Newest first; an edited item appears once, in its latest revision."""
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
