"""How frequent words and values are among the newest items: the set is compiled so that rare ones find its queries.

A version of the set never changes once it is compiled. Other frequencies change how fast queries are found, and never
which are found.
"""

from __future__ import annotations

import logging

import numpy as np
import pyarrow as pa

from feedweir.logs.batches import Manifest
from feedweir.logs.files import retry_when_compacted
from feedweir.logs.store import Store
from feedweir.match import Frequencies
from feedweir.match.words.frequencies import columns_observed, frequencies_of

ITEMS_OBSERVED = 2_000
_log = logging.getLogger(__name__)


class RecentFrequencies:
    """Frequencies among the newest items of a store."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._known: Frequencies | None = None

    def observe(self) -> Frequencies | None:
        """Count again among the newest items; None as long as there are none."""
        try:
            items = _newest(self._store)
        except OSError as error:  # the log is being compacted: the last counts will do
            _log.info("frequencies of the newest items were not updated: %s", error)
            return self._known
        if items.num_rows:
            self._known = frequencies_of(items)
        return self._known

    def known(self) -> Frequencies | None:
        """The last counts: good enough for a few queries that will soon be merged with all others."""
        return self._known or self.observe()


def _newest(store: Store) -> pa.RecordBatch:
    return retry_when_compacted(lambda: _newest_of(store))


def _newest_of(store: Store) -> pa.RecordBatch:
    wanted: list[Manifest] = []
    for manifest in store.manifests():
        wanted.append(manifest)
        if sum(one.item_count for one in wanted) >= ITEMS_OBSERVED:
            break
    table = store.item_table(wanted, columns_observed())
    places = np.linspace(0, max(len(table) - 1, 0), min(len(table), ITEMS_OBSERVED)).astype(np.int64)
    return table.take(pa.array(places)).combine_chunks().to_batches()[0] if len(table) else _nothing(table)


def _nothing(table: pa.Table) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist([], schema=table.schema)
