"""Documents made of two items, by the hundred thousand: as columns, never one by one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from feedweir.engine.joined_log import MADE_SCHEMA
from feedweir.engine.store import ELEMENT_SCHEMA
from feedweir.join.rows import ranges

Longs = NDArray[np.int64]


def pairs_of_feeds(pairs: Longs, roots: Sequence[tuple[int, int]]) -> Longs:
    """(feed, left, right) by feed, from (key of a stream, left, right); what has one key lies together, in order."""
    if not len(pairs):
        return pairs
    starts = np.flatnonzero(np.append(True, pairs[1:, 0] != pairs[:-1, 0])).astype(np.int64)
    stops = np.append(starts[1:], len(pairs))
    place = {key: number for number, key in enumerate(pairs[starts, 0].tolist())}
    held = [(feed, place[key]) for feed, key in sorted(roots) if key in place]
    feeds, chosen = (np.array(column, np.int64) for column in zip(*held, strict=True))
    rows = pairs[ranges(starts[chosen], stops[chosen])]
    rows[:, 0] = np.repeat(feeds, stops[chosen] - starts[chosen])
    return rows


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
