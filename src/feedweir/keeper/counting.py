"""Hits of every feed, added up in the catalog: now and then over many batches, each exactly once.

The element log is the truth and the catalog's counters follow it, so that no batch waits for ten thousand counters.
"""

from __future__ import annotations

from datetime import datetime

import numpy as np

from feedweir.catalog import BatchCommit, Catalog, FeedCounts
from feedweir.engine.store import Store
from feedweir.items.numbering import document_number, first_seq

_PREFIX = "counts "


def count_hits(catalog: Catalog, store: Store, now: datetime) -> int:
    """Count what was published since the last time; up to which landing segment the counters now are."""
    last = catalog.batches.last(prefix=_PREFIX)
    counted = int(last.batch.removeprefix(_PREFIX)) if last else 0
    manifests = [manifest for manifest in store.manifests() if manifest.upto > counted]
    if not manifests:
        return counted
    upto = manifests[0].upto
    elements = store.element_table(manifests)
    # A compacted batch may hold elements that were counted before.
    is_new = elements.column("seq").to_numpy() >= first_seq(document_number(counted + 1, 0))
    feeds, hits = np.unique(elements.column("feed").to_numpy()[is_new], return_counts=True)
    items = sum(manifest.item_count for manifest in manifests if manifest.after >= counted)
    counts = tuple(
        FeedCounts(feed, items=items, hits=count, last_hit_at=now)
        for feed, count in zip(feeds.tolist(), hits.tolist(), strict=True)
        if feed > 0
    )
    catalog.batches.commit(
        BatchCommit(batch=f"{_PREFIX}{upto:012d}", version=manifests[0].version, at=now, counts=counts)
    )
    return upto
