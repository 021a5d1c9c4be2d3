"""The files of a batch as its joins read them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

import numpy as np
import pyarrow as pa

from feedweir.engine.batches import Manifest
from feedweir.engine.comparing import Compared
from feedweir.engine.store import Store
from feedweir.engine.streams import StreamLog, Streams
from feedweir.items.model import Item
from feedweir.items.schema import ITEM_SCHEMA, items_of


class BatchFiles:
    """What the files of a batch hold, read when it is first asked for."""

    def __init__(self, manifest: Manifest, store: Store, streams: StreamLog) -> None:
        self.manifest = manifest
        self._store = store
        self._streams = streams
        self._tables: dict[tuple[str, ...], pa.Table] = {}

    @cached_property
    def streams(self) -> Streams:
        return self._streams.read(self.manifest)

    @property
    def times(self) -> pa.Table:
        return self._table(("seq", "published", "arrived"))

    @cached_property
    def compared(self) -> Compared:
        return Compared(self.times.column("seq").to_numpy(), self.columns)

    def items(self, seqs: Sequence[int]) -> Mapping[int, Item]:
        return {item.seq: item for item in items_of(self.columns(seqs, ITEM_SCHEMA.names))}

    def columns(self, seqs: Sequence[int], names: Sequence[str]) -> pa.Table:
        """Columns of items, in the order of the stream."""
        table = self._table(("seq", *(name for name in names if name != "seq")))
        places = np.searchsorted(table.column("seq").to_numpy(), np.sort(np.array(seqs, np.int64)))
        return table.take(pa.array(places)).select(list(names))

    def _table(self, names: tuple[str, ...]) -> pa.Table:
        if names not in self._tables:
            self._tables[names] = self._store.item_table([self.manifest], names).combine_chunks()
        return self._tables[names]
