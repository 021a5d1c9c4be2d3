"""Rows → the columns of `ITEM_SCHEMA`, without a Python object per cell beyond those that parsing made."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, chain
from typing import Any

import pyarrow as pa

from feedweir.acquire.entry import Row
from feedweir.items.schema import ITEM_SCHEMA


class ItemColumns:
    """Rows of several documents, collected until they become one batch."""

    def __init__(self) -> None:
        self._rows: list[Row] = []
        self._seqs: list[int] = []
        self._sources: list[str] = []
        self._arrived_us: list[int] = []

    def add(self, rows: Sequence[Row], *, source: str, first_seq: int, arrived_us: int) -> None:
        self._rows += rows
        self._seqs += range(first_seq, first_seq + len(rows))
        self._sources += [source] * len(rows)
        self._arrived_us += [arrived_us] * len(rows)

    def batch(self) -> pa.RecordBatch:
        """Everything added so far."""
        if not self._rows:
            return pa.RecordBatch.from_pylist([], schema=ITEM_SCHEMA)
        columns: dict[str, Any] = dict(zip(Row._fields, zip(*self._rows, strict=True), strict=True))
        columns |= {"seq": self._seqs, "source": self._sources, "arrived": self._arrived_us}
        columns["revision"] = [0] * len(self._rows)
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
