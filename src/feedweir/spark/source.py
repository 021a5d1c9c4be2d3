"""The landing log as a replayable Spark stream.

An offset is {segment, version}: where the stream stands, and against which compiled set the batch that ends there is
matched. Spark writes it down before the batch runs, so a batch that is run again after a crash is matched against the
same set, and a new set is picked up by the next batch without a restart.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, ReadMaxBytes

from feedweir.acquire.landing import LandingLog
from feedweir.engine.batches import Assignment, assignments
from feedweir.engine.sets import current_version
from feedweir.engine.store import Store
from feedweir.engine.worker import DataDirectory

TASK_SCHEMA = pa.schema(
    [("after", pa.int64()), ("upto", pa.int64()), ("version", pa.int64()), ("parts", pa.list_(pa.int32()))]
)
"""What flows is tasks, not documents: a task reads its documents from the log, as it would read any file."""

_SPARK_TYPES = "after bigint, upto bigint, version bigint, parts array<int>"


@dataclass(frozen=True)
class TaskPartition(InputPartition):
    """An assignment on its way to an executor."""

    assignment: Assignment


class LandingReader(DataSourceStreamReader):
    def __init__(self, root: Path, tasks: int, max_bytes: int) -> None:
        self._directory = DataDirectory(root)
        self._tasks = tasks
        self._max_bytes = max_bytes

    def initialOffset(self) -> dict[str, Any]:
        return {"segment": Store(self._directory.root).latest(), "version": 0}

    def getDefaultReadLimit(self) -> ReadLimit:
        return ReadMaxBytes(self._max_bytes)

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:
        version = current_version(self._directory.sets)
        latest = self._last_segment(start["segment"], limit)
        if version is None or latest == start["segment"]:
            # The very same offset: anything else would run an empty batch.
            return start
        return {"segment": latest, "version": version}

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> list[TaskPartition]:
        if start["segment"] >= end["segment"]:
            return []
        tasks = assignments(start["segment"], end["segment"], end["version"], self._tasks)
        return [TaskPartition(task) for task in tasks]

    def read(self, partition: TaskPartition) -> Iterator[pa.RecordBatch]:  # type: ignore[override]
        row = {**asdict(partition.assignment), "parts": list(partition.assignment.parts)}
        yield pa.RecordBatch.from_pylist([row], schema=TASK_SCHEMA)

    def _last_segment(self, after: int, limit: ReadLimit) -> int:
        landing = LandingLog(self._directory.landing)
        last, size = after, 0
        for segment in landing.segments(after, landing.latest()):
            size += landing.path(segment).stat().st_size
            if last > after and size > self._max_bytes and not isinstance(limit, ReadAllAvailable):
                break
            last = segment
        return last


class LandingSource(DataSource):
    """`spark.readStream.format("feedweir_landing").option("root", …)`."""

    @classmethod
    def name(cls) -> str:
        return "feedweir_landing"

    def schema(self) -> str:
        return _SPARK_TYPES

    def streamReader(self, schema: Any) -> LandingReader:
        options = self.options
        return LandingReader(Path(options["root"]), int(options["tasks"]), int(options["maxbytes"]))


def assignments_in(batch: pa.RecordBatch) -> list[Assignment]:
    """The tasks in what Spark handed over."""
    return [Assignment(**{**row, "parts": tuple(row["parts"])}) for row in batch.to_pylist()]
