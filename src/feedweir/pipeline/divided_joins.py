"""What slices of a batch's joins found, for the task that puts them together: pairs of documents, in mapped files.

Rows go by file and not through Spark's shuffle: they are written and read as they lie in memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from secrets import token_hex

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from feedweir.logs.files import open_arrow

Longs = NDArray[np.int64]

_SCHEMA = pa.schema([("join", pa.int64()), ("left", pa.int64()), ("right", pa.int64())])


class DividedJoins:
    """The files of one data directory's exchange; they are removed with it when the batch is published."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def write(self, batch: int, shard: int, found: Iterable[Longs]) -> str:
        """Write rows (join, left, right); the name of the file, which is not synced: the batch ends soon."""
        self._directory.mkdir(exist_ok=True)
        name = f"{batch:012d}-joins-{shard}-{token_hex(4)}.arrow"
        with (
            (self._directory / name).open("wb") as file,
            pa.ipc.new_file(file, _SCHEMA) as writer,
        ):
            for rows in found:
                writer.write_batch(pa.record_batch([pa.array(column) for column in rows], schema=_SCHEMA))
        return name

    def read(self, names: Sequence[str]) -> list[Longs]:
        """The rows of some files, each as three rows of numbers."""
        tables = [open_arrow(self._directory / name) for name in names]
        return [
            np.stack([batch.column(place).to_numpy() for place in range(len(_SCHEMA))])
            for table in tables
            for batch in table.to_batches()
        ]
