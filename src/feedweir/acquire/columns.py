"""Rows → the columns of `ITEM_SCHEMA`, without a Python object per cell beyond those that parsing made."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, chain
from typing import Any

import pyarrow as pa

from feedweir.acquire.rows import COLUMNS, Rows
from feedweir.items.schema import ITEM_SCHEMA


class ItemColumns:
    """Rows of several documents, collected until they become one batch."""

    def __init__(self) -> None:
        self._columns: dict[str, list[Any]] = {name: [] for name in (*COLUMNS, "seq", "source", "arrived")}

    def add(self, rows: Rows, *, source: str, first_seq: int, arrived_us: int) -> None:
        columns, count = self._columns, len(rows)
        for name in COLUMNS:
            columns[name] += getattr(rows, name)
        columns["seq"] += range(first_seq, first_seq + count)
        columns["source"] += [source] * count
        columns["arrived"] += [arrived_us] * count

    def batch(self) -> pa.RecordBatch:
        """Everything added so far."""
        columns = self._columns | {"revision": [0] * len(self._columns["seq"])}
        return pa.record_batch(
            [_array(columns[field.name], field.type) for field in ITEM_SCHEMA], schema=ITEM_SCHEMA
        )


def _array(values: Sequence[Any], kind: pa.DataType) -> pa.Array:
    if pa.types.is_timestamp(kind):
        return pa.array(values, pa.int64()).cast(kind)
    if not pa.types.is_list(kind):
        return pa.array(values, kind)
    offsets = pa.array([0, *accumulate(map(len, values))], pa.int32())
    return pa.ListArray.from_arrays(
        offsets, _values(list(chain.from_iterable(values)), kind.value_type), type=kind
    )


def _values(values: list[Any], kind: pa.DataType) -> pa.Array:
    """The flat values of a list column; structs come as tuples in the order of their fields."""
    if not pa.types.is_struct(kind):
        return pa.array(values, kind)
    fields = [kind.field(i) for i in range(kind.num_fields)]
    parts = zip(*values, strict=True) if values else ([] for _ in fields)
    return pa.StructArray.from_arrays(
        [pa.array(part, field.type) for part, field in zip(parts, fields, strict=True)], fields=fields
    )
