"""Documents made of two items, by the hundred thousand: as columns, never one by one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from feedweir.engine.store import ELEMENT_SCHEMA, MADE_SCHEMA
from feedweir.join.rows import ranges

Longs = NDArray[np.int64]


def pairs_of_feeds(pairs: Longs, roots: Sequence[tuple[int, int]]) -> Longs:
    """(feed, left, right), sorted by feed and by the later of the two, from (key of a stream, left, right)."""
    if not len(pairs):
        return pairs
    order = np.argsort(pairs[:, 0], kind="stable")
    pairs = pairs[order]
    feeds, keys = (np.array(column, np.int64) for column in zip(*roots, strict=True))
    low = np.searchsorted(pairs[:, 0], keys, "left").astype(np.int64)
    high = np.searchsorted(pairs[:, 0], keys, "right").astype(np.int64)
    rows = pairs[ranges(low, high)]
    rows[:, 0] = np.repeat(feeds, high - low)
    return rows[np.lexsort((rows[:, 2], rows[:, 1], np.maximum(rows[:, 1], rows[:, 2]), rows[:, 0]))]


def pair_elements(pairs: Longs) -> pa.Table:
    """An element for each feed and last item, from pairs in that order."""
    rows = np.column_stack([pairs[:, 0], np.maximum(pairs[:, 1], pairs[:, 2])])
    rows = rows[np.append(True, (rows[1:] != rows[:-1]).any(axis=1))[: len(rows)]]
    return pa.table([pa.array(rows[:, 0]), pa.array(rows[:, 1])], schema=ELEMENT_SCHEMA)


def pair_documents(pairs: Longs) -> pa.Table:
    """The documents that elements stand for."""
    count = len(pairs)
    offsets = pa.array(np.arange(0, 2 * count + 2, 2, dtype=np.int32))
    columns = [
        pa.array(pairs[:, 0]),
        pa.array(np.maximum(pairs[:, 1], pairs[:, 2])),
        pa.ListArray.from_arrays(offsets, pa.array(np.ascontiguousarray(pairs[:, 1:]).ravel())),
        pa.repeat(pa.scalar("", pa.string()), count),
        pa.repeat(pa.scalar(False), count),
    ]
    return pa.table(columns, schema=MADE_SCHEMA)
