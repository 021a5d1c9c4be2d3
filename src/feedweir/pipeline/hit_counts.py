"""Hits of every feed, added up in the catalog: now and then over many batches, each exactly once.

The element log is the truth and the catalog's counters follow it, so that no batch waits for ten thousand counters.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

import numpy as np

from feedweir.catalog import BatchCommit, Catalog, FeedCounts
from feedweir.items.gc_pause import gc_paused
from feedweir.items.numbering import document_number, first_seq
from feedweir.logs.sorted_files import Run
from feedweir.logs.store import Store

_PREFIX = "counts "


def count_hits(catalog: Catalog, store: Store, now: datetime) -> int:
    """Count what was published since the last time; returns the landing segment up to which counters now reach."""
    last = catalog.batches.last(prefix=_PREFIX)
    counted = int(last.batch.removeprefix(_PREFIX)) if last else 0
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
            BatchCommit(batch=f"{_PREFIX}{upto:012d}", version=manifests[0].version, at=now, counts=counts)
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
