"""What annotation joins compare of a batch's items: extracted once, for whichever shard asks first."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from feedweir.join.features import Feature, Ragged, columns_of, empty, extract

Longs = NDArray[np.int64]
ReadTable = Callable[[Sequence[int], Sequence[str]], pa.Table]
"""Columns of items by their numbers, in the order of the stream."""


class Compared:
    """Features of items by row: the items of a batch have the rows 0, 1, … in the order of the stream."""

    def __init__(self, seq: Longs, read: ReadTable) -> None:
        self._seq = seq
        self._read = read
        self._known: dict[Feature, tuple[Longs, Ragged]] = {}

    def columns(self, rows: Longs, features: Iterable[Feature]) -> dict[Feature, Ragged]:
        """The features of some rows."""
        return {feature: self._column(rows, feature) for feature in features}

    def arrived(self, rows: Longs) -> Longs:
        """When items arrived, in microseconds."""
        table = self._read(self._seq[rows].tolist(), ["arrived"])
        return np.asarray(table.column("arrived").cast(pa.int64()).to_numpy())

    def _column(self, rows: Longs, feature: Feature) -> Ragged:
        place, held = self._known.get(feature) or (np.full(len(self._seq), -1, np.int64), empty(feature))
        missing = rows[place[rows] < 0]
        if len(missing):
            items = whole_batch(self._read(self._seq[missing].tolist(), columns_of([feature])))
            place[missing] = len(held) + np.arange(len(missing))
            held = held.joined(extract(feature, items))
            self._known[feature] = place, held
        return held.take(place[rows])


def whole_batch(items: pa.Table) -> pa.RecordBatch:
    """A table in one piece."""
    pieces = items.combine_chunks().to_batches()
    return pieces[0] if pieces else pa.RecordBatch.from_pylist([], schema=items.schema)
