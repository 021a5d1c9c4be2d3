"""Committing published batches to the catalog: failures, deliveries and the hits of feeds, each exactly once.

An item may go to hundreds of thousands: deliveries are written some at a time, so that neither memory nor a lock of the
database is held for all of them. The last of them are written together with the note that the batch is committed. After
a crash before that all of them are offered again, and those that are there are left as they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from itertools import groupby, islice
from operator import itemgetter

import numpy as np

from feedweir.catalog import BatchCommit, Catalog, Failure, FeedCounts, NewEntry
from feedweir.channel_kinds import CHANNEL_KINDS, ChannelKind
from feedweir.health.item_log import hand_over, is_followed
from feedweir.items.gc_pause import gc_paused
from feedweir.items.numbering import document_number, document_of, first_seq
from feedweir.logs.batches import Manifest
from feedweir.logs.sorted_files import Run
from feedweir.logs.store import Store

_COUNTS = "counts "
_PLAIN = ChannelKind(name="")
DELIVERIES_AT_ONCE = 20_000
"""Deliveries that are written in one transaction: those of most batches, in a second at most."""


def commit_batch(catalog: Catalog, store: Store, manifest: Manifest, now: datetime) -> bool:
    """Commit a batch; False when it was committed before."""
    name = batch_name(manifest)
    if catalog.batches.with_id(name):
        return False
    backlog = _backlog(catalog, store, manifest)
    last = _all_but_last(catalog, _deliveries(catalog, store, manifest, backlog, now), now)
    is_new = catalog.batches.commit(
        BatchCommit(
            batch=name,
            version=manifest.version,
            at=now,
            detail={"items": manifest.item_count, "elements": manifest.element_count},
            failures=(*_failures(store, manifest, now), *_feed_failures(catalog, manifest, now)),
            entries=last,
        )
    )
    _log_queued(last)
    return is_new


def _log_queued(entries: Iterable[NewEntry]) -> None:
    for one in entries if is_followed() else ():
        hand_over(
            "queued", item=one.payload["seq"], feed=one.payload["feed"], subscription=one.subscription_id
        )


def batch_name(manifest: Manifest) -> str:
    return f"{manifest.upto:012d}"


def _failures(store: Store, manifest: Manifest, now: datetime) -> Iterator[Failure]:
    for source, reason in store.reports(manifest).failures().items():
        yield Failure(kind="source", resource=source, at=now, reason=reason, batch=batch_name(manifest))


def _feed_failures(catalog: Catalog, manifest: Manifest, now: datetime) -> Iterator[Failure]:
    for id_, reason in manifest.feed_failures.items():
        if feed := catalog.feeds.with_id(int(id_)):
            yield Failure(kind="feed", resource=feed.name, at=now, reason=reason, batch=batch_name(manifest))


def _all_but_last(catalog: Catalog, entries: Iterable[NewEntry], now: datetime) -> tuple[NewEntry, ...]:
    """Write deliveries, and return the last of them unwritten."""
    waiting: tuple[NewEntry, ...] = ()
    for some in _portions(entries):
        if waiting:
            catalog.outbox.insert(waiting, now)
            _log_queued(waiting)
        waiting = some
    return waiting


def _portions(entries: Iterable[NewEntry]) -> Iterator[tuple[NewEntry, ...]]:
    left = iter(entries)
    while some := tuple(islice(left, DELIVERIES_AT_ONCE)):
        yield some


def _backlog(catalog: Catalog, store: Store, manifest: Manifest) -> frozenset[int]:
    """The items that were published before their source was registered, as its first document brings them.

    Of what has no date, all that the first document brings. An edit of what was published before is none, either.
    """
    firsts = catalog.sources.first_documents(store.reports(manifest).having_news())
    if not firsts:
        return frozenset()
    items = store.item_table([manifest], ["seq", "source", "published", "revision"]).sort_by("seq")
    rows = list(zip(*(column.to_pylist() for column in items.columns), strict=True))
    new: dict[str, int] = {}
    for seq, source, _, _ in rows:
        if source in firsts and firsts[source].number is None:
            new.setdefault(source, document_of(seq))
    if new:
        catalog.sources.begin(new)
    numbers = {source: new.get(source, first.number) for source, first in firsts.items()}
    return frozenset(
        seq
        for seq, source, published, revision in rows
        if source in firsts
        and (revision or document_of(seq) == numbers[source])
        and (not revision if published is None else published < firsts[source].registered_at)
    )


def _deliveries(
    catalog: Catalog, store: Store, manifest: Manifest, backlog: frozenset[int], now: datetime
) -> Iterator[NewEntry]:
    """One entry for each subscription and element. Keys omit the revision, so that edits are not sent again, except to
    files, which show what the feed shows. The backlog of a new source goes only to subscriptions that ask for it."""
    feeds, _ = hits_in(store.element_parts([manifest]), oldest=0)
    keys: dict[int, str] = {}
    wordings: dict[int, str] = {}
    for feed, readers in groupby(catalog.subscriptions.to_deliver(feeds.tolist()), key=itemgetter(0)):
        if not keys:
            keys, wordings = _element_keys(store, manifest)
        seqs = store.seqs_in(manifest, feed).tolist()
        news = [seq for seq in seqs if seq not in backlog]
        for _, subscription, channel, wants_backlog in readers:
            kind = CHANNEL_KINDS.get(channel, _PLAIN)
            named = wordings if kind.repeats_edits else keys
            for seq in seqs if wants_backlog or kind.mirrors_feed else news:
                yield NewEntry(subscription, named[seq], {"feed": feed, "seq": seq}, now)


def _element_keys(store: Store, manifest: Manifest) -> tuple[dict[int, str], dict[int, str]]:
    """The keys of elements, without and with their revisions."""
    items = store.item_table([manifest], ["seq", "source", "identity", "revision"])
    rows = list(zip(*(column.to_pylist() for column in items.columns), strict=True))
    keys = {seq: f"{source}\n{identity}" for seq, source, identity, _ in rows}
    edits = {seq: f"{keys[seq]}\n{revision}" for seq, _, _, revision in rows if revision}
    return keys, {**keys, **edits}


# Hits: counted now and then over many batches, so that no batch waits for ten thousand counters.


def count_hits(catalog: Catalog, store: Store, now: datetime) -> int:
    """Count what was published since the last time; returns the landing segment up to which counters now reach."""
    last = catalog.batches.last(prefix=_COUNTS)
    counted = int(last.batch.removeprefix(_COUNTS)) if last else 0
    manifests = [manifest for manifest in store.manifests() if manifest.upto > counted]
    if not manifests:
        return counted
    upto = manifests[0].upto
    # A compacted batch may hold elements that were counted before.
    feeds, hits = hits_in(store.element_parts(manifests), first_seq(document_number(counted + 1, 0)))
    items = sum(manifest.item_count for manifest in manifests if manifest.after >= counted)
    with gc_paused():
        counts = tuple(
            FeedCounts(feed, items=items, hits=count, last_hit_at=now)
            for feed, count in zip(feeds.tolist(), hits.tolist(), strict=True)
            if feed > 0
        )
        catalog.batches.commit(
            BatchCommit(batch=f"{_COUNTS}{upto:012d}", version=manifests[0].version, at=now, counts=counts)
        )
    return upto


def hits_in(runs: Iterable[Run], oldest: int) -> Run:
    """Feeds, sorted, and how many of their elements are not older; what is held grows with the feeds only."""
    known, sums = np.empty(0, np.int64), np.empty(0, np.int64)
    for feeds, seqs in runs:
        found, hits = np.unique(feeds[seqs >= oldest], return_counts=True)
        known, places = np.unique(np.concatenate([known, found]), return_inverse=True)
        before, sums = np.concatenate([sums, hits]), np.zeros(len(known), np.int64)
        np.add.at(sums, places, before)
    return known, sums
