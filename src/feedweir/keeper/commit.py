"""What a published batch leaves behind in the catalog: failures and deliveries; each exactly once.

An item may go to hundreds of thousands: deliveries are written some at a time, so that neither memory nor a lock of the
database is held for all of them. The last of them are written together with the note that the batch is committed. After
a crash before that all of them are offered again, and those that are there are left as they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from itertools import groupby, islice
from operator import itemgetter

from feedweir.catalog import BatchCommit, Catalog, Failure, NewEntry
from feedweir.engine.batches import Manifest
from feedweir.engine.store import Store
from feedweir.keeper.counting import hits_in

DELIVERIES_AT_ONCE = 20_000
"""Deliveries that are written in one transaction: those of most batches, in a second at most."""


def commit_batch(catalog: Catalog, store: Store, manifest: Manifest, now: datetime) -> bool:
    """Commit a batch; False when it was committed before."""
    name = batch_name(manifest)
    if catalog.batches.with_id(name):
        return False
    last = _all_but_last(catalog, _deliveries(catalog, store, manifest, now), now)
    return catalog.batches.commit(
        BatchCommit(
            batch=name,
            version=manifest.version,
            at=now,
            detail={"items": manifest.item_count, "elements": manifest.element_count},
            failures=(*_failures(manifest, now), *_feed_failures(catalog, manifest, now)),
            entries=last,
        )
    )


def batch_name(manifest: Manifest) -> str:
    return f"{manifest.upto:012d}"


def _failures(manifest: Manifest, now: datetime) -> Iterator[Failure]:
    for source, report in manifest.sources.items():
        if report.failure:
            yield Failure(
                kind="source", resource=source, at=now, reason=report.failure, batch=batch_name(manifest)
            )


def _feed_failures(catalog: Catalog, manifest: Manifest, now: datetime) -> Iterator[Failure]:
    for id_, reason in manifest.feed_failures.items():
        if feed := catalog.feeds.with_id(int(id_)):
            yield Failure(kind="feed", resource=feed.name, at=now, reason=reason, batch=batch_name(manifest))


def _all_but_last(catalog: Catalog, entries: Iterable[NewEntry], now: datetime) -> tuple[NewEntry, ...]:
    """Write deliveries; the last of them are handed back."""
    waiting: tuple[NewEntry, ...] = ()
    for some in _portions(entries):
        if waiting:
            catalog.outbox.insert(waiting, now)
        waiting = some
    return waiting


def _portions(entries: Iterable[NewEntry]) -> Iterator[tuple[NewEntry, ...]]:
    left = iter(entries)
    while some := tuple(islice(left, DELIVERIES_AT_ONCE)):
        yield some


def _deliveries(catalog: Catalog, store: Store, manifest: Manifest, now: datetime) -> Iterator[NewEntry]:
    """One entry for each subscription and element. The key leaves the revision out: an edit is not sent again, but to a
    file, which shows what the feed shows."""
    feeds, _ = hits_in(store.element_runs([manifest]), oldest=0)
    keys: dict[int, str] = {}
    wordings: dict[int, str] = {}
    for feed, readers in groupby(catalog.subscriptions.to_deliver(feeds.tolist()), key=itemgetter(0)):
        if not keys:
            keys, wordings = _element_keys(store, manifest)
        seqs = store.seqs_in(manifest, feed).tolist()
        for _, subscription, channel in readers:
            named = wordings if channel == "file" else keys
            for seq in seqs:
                yield NewEntry(subscription, named[seq], {"feed": feed, "seq": seq}, now)


def _element_keys(store: Store, manifest: Manifest) -> tuple[dict[int, str], dict[int, str]]:
    """What elements are known by, and what their wordings are."""
    items = store.item_table([manifest], ["seq", "source", "identity", "revision"])
    rows = list(zip(*(column.to_pylist() for column in items.columns), strict=True))
    keys = {seq: f"{source}\n{identity}" for seq, source, identity, _ in rows}
    edits = {seq: f"{keys[seq]}\n{revision}" for seq, _, _, revision in rows if revision}
    return keys, {**keys, **edits}
