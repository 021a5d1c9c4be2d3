"""The way of one item through an installation: landing, batch, feeds and joins, and each delivery, with their times.

It is put together from the logs and the catalog; nothing is recorded for it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

import numpy as np
import pyarrow.compute as pc

from feedweir.catalog import Catalog, Delivery, Entry, SubscriptionRecord
from feedweir.errors import LandingError
from feedweir.items.model import Item
from feedweir.items.numbering import document_of, segment_of
from feedweir.logs.batches import Manifest
from feedweir.logs.files import retry_when_compacted
from feedweir.logs.landing import LandingLog
from feedweir.logs.store import Store
from feedweir.text.redact import without_secrets


@dataclass(frozen=True, slots=True, kw_only=True)
class Landing:
    """The document that an item came in."""

    source: str
    document: int
    segment: int
    at: datetime
    """When the document was received."""
    url: str = ""
    media_type: str = ""
    size: int | None = None
    """Bytes; None when the document is no longer stored."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchStep:
    """The published batch that an item belongs to."""

    name: str
    """That of its manifest: the last landing segment that it covers."""
    after: int
    upto: int
    version: int
    """Of the compiled set that the item was matched against."""
    at: datetime | None
    """When it was committed to the catalog; None before that."""
    batches: int
    """More than one when it was compacted from several since."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedStep:
    """A feed that has the item."""

    name: str
    partners: tuple[int, ...] = ()
    """The numbers of the items that it was joined with."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One line of the delivery log."""

    at: datetime
    outcome: str
    attempt: int
    reason: str
    together: int
    """Entries of the subscription with this outcome at this moment: the size of the parcel, as a rule."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeliveryStep:
    """The deliveries of an item to one subscription."""

    subscription: str
    number: int
    feed: str
    channel: str
    target: str
    entry: int | None
    """Its number in the outbox; None when the entry was deleted after it was sent."""
    state: str
    queued_at: datetime | None
    due_at: datetime | None
    """When a sender takes it next; None when it is settled."""
    attempts: tuple[Attempt, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RevisionTrace:
    """The way of one wording of an item."""

    item: Item
    landing: Landing
    batch: BatchStep | None
    feeds: tuple[FeedStep, ...]
    deliveries: tuple[DeliveryStep, ...]
    """At most as many as were asked for, by subscription."""
    delivery_count: int
    """How many there are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """The way of an item, revision by revision."""

    source: str
    guid: str
    title: str
    link: str
    revisions: tuple[RevisionTrace, ...]

    def to_json(self) -> dict[str, Any]:
        return {
            "source": self.source,
            "guid": self.guid,
            "title": self.title,
            "link": self.link,
            "revisions": [_revision_json(one) for one in self.revisions],
        }

    def lines(self) -> Iterator[str]:
        """For people, in the order in which it happened."""
        yield f"{self.title or '(no title)'}  [{self.source}, guid {self.guid}]"
        for one in self.revisions:
            yield from _revision_lines(one)


class Tracer:
    """Follows items through the logs and the catalog of an installation."""

    def __init__(self, catalog: Catalog, store: Store, landing: LandingLog) -> None:
        self._catalog = catalog
        self._store = store
        self._landing = landing

    def trace(self, item: Item, *, limit: int = 100) -> Trace:
        """The way of all stored revisions of an item, each with at most `limit` deliveries."""
        revisions = retry_when_compacted(lambda: self._store.revisions(item.source, item.identity))
        return Trace(
            source=item.source,
            guid=item.identity,
            title=item.title,
            link=item.link,
            revisions=tuple(self._revision(one, limit) for one in revisions),
        )

    def _revision(self, item: Item, limit: int) -> RevisionTrace:
        manifest = self._manifest(segment_of(item.seq))
        feeds = retry_when_compacted(lambda: self._feeds(item, manifest)) if manifest else {}
        found = self._deliveries(item, feeds)
        return RevisionTrace(
            item=item,
            landing=self._landed(item),
            batch=self._batch(manifest, segment_of(item.seq)) if manifest else None,
            feeds=tuple(
                FeedStep(
                    name=name or f"feed {id_} (dropped)",
                    partners=self._store.joined.partners(id_, item.seq),
                )
                for id_, name in sorted(feeds.items(), key=lambda feed: (not feed[1], feed[1]))
            ),
            deliveries=tuple(self._delivery(*one) for one in found[:limit]),
            delivery_count=len(found),
        )

    def _landed(self, item: Item) -> Landing:
        number, segment = document_of(item.seq), segment_of(item.seq)
        known = Landing(source=item.source, document=number, segment=segment, at=item.arrived)
        try:
            documents = self._landing.read(segment)
        except LandingError:
            return known
        rows = documents.filter(pc.equal(documents["number"], number)).to_pylist()
        if not rows:
            return known
        (row,) = rows
        return Landing(
            source=item.source,
            document=number,
            segment=segment,
            at=row["arrived"],
            url=without_secrets(row["url"]),
            media_type=row["media_type"],
            size=len(row["body"]),
        )

    def _manifest(self, segment: int) -> Manifest | None:
        return next((one for one in self._store.manifests() if one.after < segment <= one.upto), None)

    def _batch(self, manifest: Manifest, segment: int) -> BatchStep:
        committed = self._catalog.batches.holding(segment)
        return BatchStep(
            name=f"{manifest.upto:012d}",
            after=manifest.after,
            upto=manifest.upto,
            version=next(version for upto, version in manifest.steps if segment <= upto),
            at=committed.committed_at if committed else None,
            batches=manifest.batches,
        )

    def _feeds(self, item: Item, manifest: Manifest) -> dict[int, str]:
        """By id the feeds that have an item, without a name those that were dropped."""
        runs = self._store.element_parts([manifest])
        ids = {id_ for feeds, seqs in runs for id_ in np.unique(feeds[seqs == item.seq]).tolist() if id_ > 0}
        called = self._catalog.feeds.called(ids)
        return {id_: called[id_][0] if id_ in called else "" for id_ in sorted(ids)}

    def _deliveries(
        self, item: Item, feeds: dict[int, str]
    ) -> list[tuple[SubscriptionRecord, str, Entry | None]]:
        """The subscriptions that an item was queued for, each with its entry in the outbox while that is kept."""
        readers = {
            record.id: (record, name)
            for name in filter(None, feeds.values())
            for record in self._catalog.subscriptions.all(feed=name, with_dropped=True)
        }
        keys = _element_keys(item)
        entries = {one.subscription_id: one for one in self._catalog.outbox.of_elements(readers, keys)}
        sent = self._catalog.outbox.forgotten_as_sent(readers.keys() - entries.keys(), keys)
        return [(*readers[id_], entries.get(id_)) for id_ in sorted({*entries, *sent})]

    def _delivery(self, record: SubscriptionRecord, feed: str, entry: Entry | None) -> DeliveryStep:
        lines = self._catalog.deliveries.of_entry(entry) if entry else ()
        return DeliveryStep(
            subscription=str(record.options.get("name") or record.id),
            number=record.id,
            feed=feed,
            channel=record.channel,
            target=without_secrets(record.target),
            entry=entry.id if entry else None,
            state=entry.state if entry else "sent",
            queued_at=entry.created_at if entry else None,
            due_at=entry.due_at if entry else None,
            attempts=tuple(self._attempt(line) for line in lines),
        )

    def _attempt(self, line: Delivery) -> Attempt:
        return Attempt(
            at=line.at,
            outcome=line.outcome,
            attempt=line.attempt,
            reason=line.reason,
            together=self._catalog.deliveries.count_at(line),
        )


def _element_keys(item: Item) -> tuple[str, ...]:
    """What an item is known by in the outbox; files are sent each revision."""
    key = f"{item.source}\n{item.identity}"
    return (f"{key}\n{item.revision}",) if item.revision else (key,)


def _revision_json(one: RevisionTrace) -> dict[str, Any]:
    value = {name: getattr(one, name) for name in ("feeds", "deliveries")}
    return {
        "seq": one.item.seq,
        "revision": one.item.revision,
        "published": one.item.published,
        "landing": asdict(one.landing),
        "batch": asdict(one.batch) if one.batch else None,
        **{name: [asdict(step) for step in steps] for name, steps in value.items()},
        "delivery_count": one.delivery_count,
    }


def _revision_lines(one: RevisionTrace) -> Iterator[str]:
    landing, batch = one.landing, one.batch
    yield f"revision {one.item.revision}, item {one.item.seq}"
    if one.item.published:
        yield f"  {_time(one.item.published)}  published, according to the source"
    size = f", {landing.size:,} bytes" if landing.size is not None else ", no longer stored"
    origin = f" from {landing.url}" if landing.url else ""
    yield f"  {_time(landing.at)}  landed in segment {landing.segment}: document {landing.document}{size}{origin}"
    if batch is None:
        yield "  not in a published batch: it waits, or its batch was removed"
        return
    covered = f"segments {batch.after + 1} to {batch.upto}"
    compacted = f", compacted from {batch.batches} batches" if batch.batches > 1 else ""
    where = f"batch {batch.upto} ({covered}{compacted})"
    yield f"  {_time(batch.at)}  published in {where}, definitions version {batch.version}"
    yield from (f"{_BLANK}in {_feed(feed)}" for feed in one.feeds)
    for step in one.deliveries:
        yield from _delivery_lines(step)
    if one.delivery_count > len(one.deliveries):
        yield f"{_BLANK}and {one.delivery_count - len(one.deliveries):,} more deliveries: see --limit"


_BLANK = " " * 23


def _feed(feed: FeedStep) -> str:
    partners = ", ".join(map(str, feed.partners))
    return f"{feed.name}, joined with {partners}" if partners else feed.name


def _delivery_lines(step: DeliveryStep) -> Iterator[str]:
    whom = f"{step.subscription} ({step.channel} {step.target})".replace(" )", ")")
    if step.entry is None:
        yield f"{_BLANK}sent to {whom}; the log of it is no longer kept"
        return
    yield f"  {_time(step.queued_at)}  queued for {whom} from {step.feed}, as entry {step.entry}"
    yield from map(_attempt_line, step.attempts)
    if step.due_at is not None:
        yield f"  {_time(step.due_at)}  due, {step.state}"


def _attempt_line(one: Attempt) -> str:
    others = f", with {one.together - 1:,} more" if one.together > 1 else ""
    reason = f": {one.reason}" if one.reason else ""
    return f"  {_time(one.at)}  {one.outcome}, attempt {one.attempt}{others}{reason}"


def _time(moment: datetime | None) -> str:
    return f"{moment:%Y-%m-%d %H:%M:%S}" if moment else " " * 19
