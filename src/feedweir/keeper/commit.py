"""What a published batch leaves behind in the catalog: failures, descriptions, deliveries; each exactly once."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

import numpy as np

from feedweir.catalog import BatchCommit, Catalog, Failure, NewEntry, SubscriptionRecord
from feedweir.engine.batches import Manifest
from feedweir.engine.store import Store
from feedweir.keeper.counting import hits_in


def commit_batch(catalog: Catalog, store: Store, manifest: Manifest, now: datetime) -> bool:
    """Commit a batch; False when it was committed before."""
    name = batch_name(manifest)
    if catalog.batches.with_id(name):
        return False
    return catalog.batches.commit(
        BatchCommit(
            batch=name,
            version=manifest.version,
            at=now,
            detail={"items": manifest.item_count, "elements": manifest.element_count},
            failures=(*_failures(manifest, now), *_feed_failures(catalog, manifest, now)),
            entries=tuple(_deliveries(catalog, store, manifest, now)),
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


def _deliveries(catalog: Catalog, store: Store, manifest: Manifest, now: datetime) -> Iterator[NewEntry]:
    """One entry for each subscription and element. The key leaves the revision out: an edit is not sent again."""
    if not manifest.element_files:
        return
    feeds, _ = hits_in(store.element_runs([manifest]), oldest=0)
    subscriptions = catalog.subscriptions.to_deliver(feeds.tolist())
    wanted = {one.feed_id: store.seqs_in(manifest, one.feed_id) for one in subscriptions}
    if not wanted:
        return
    keys = _element_keys(store, np.unique(np.concatenate(list(wanted.values()))).tolist())
    for subscription in subscriptions:
        for seq in wanted[subscription.feed_id].tolist():
            yield _entry(subscription, seq, keys[seq], now)


def _element_keys(store: Store, seqs: list[int]) -> dict[int, str]:
    items = store.items(seqs)
    names = zip(items.column("source").to_pylist(), items.column("identity").to_pylist(), strict=True)
    return dict(
        zip(
            items.column("seq").to_pylist(),
            (f"{source}\n{identity}" for source, identity in names),
            strict=True,
        )
    )


def _entry(subscription: SubscriptionRecord, seq: int, key: str, now: datetime) -> NewEntry:
    return NewEntry(subscription.id, key, {"feed": subscription.feed_id, "seq": seq}, now)
