"""The landing log as a replayable Spark stream, whose partitions are tasks and whose rows are their receipts.

An offset is {segment, version}: where the stream stands, and against which compiled set the batch that ends there is
matched. Spark writes it down before the batch runs, so a batch that is run again after a crash is matched against the
same set, and a new set is picked up by the next batch without a restart.

What was published is told by our manifests and not by Spark's checkpoint: another engine may have gone on meanwhile,
and then a batch is what is left of the range that Spark has planned.

A task is done where Spark reads its partition: another Python process behind it would cost every task a second start.
Spark also imports this module into the processes that plan; what runs a task is imported when there is one to run.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, ReadMaxBytes

from feedweir.acquire.allowance import Allowance
from feedweir.acquire.landing import LandingLog
from feedweir.engine.batches import Assignment, assignments
from feedweir.engine.directory import DataDirectory, current_version, latest_batch, version_of_batch

_EVERYTHING = 1 << 62
_SPARK_TYPES = "assignment string, receipt string"


@dataclass(frozen=True)
class TaskPartition(InputPartition):
    """An assignment on its way to an executor."""

    assignment: Assignment


class LandingReader(DataSourceStreamReader):
    def __init__(self, root: Path, tasks: int, max_bytes: int, allowance: Allowance) -> None:
        self._allowance = allowance
        self._directory = DataDirectory(root)
        self._tasks = tasks
        self._max_bytes = max_bytes
        self._landing = LandingLog(self._directory.landing)

    def initialOffset(self) -> dict[str, Any]:
        return {"segment": latest_batch(self._directory.batches), "version": 0}

    def getDefaultReadLimit(self) -> ReadLimit:
        return ReadMaxBytes(self._max_bytes)

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:
        version = current_version(self._directory.sets)
        is_everything = isinstance(limit, ReadAllAvailable)
        done = max(start["segment"], latest_batch(self._directory.batches))
        latest = self._landing.reach(done, _EVERYTHING if is_everything else self._max_bytes)
        if version is None or latest == done:
            # The very same offset: anything else would run an empty batch.
            return start
        return {"segment": latest, "version": version}

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> list[TaskPartition]:
        done = latest_batch(self._directory.batches)
        if done >= end["segment"]:
            return []
        version = end["version"]
        if done != start["segment"]:
            # What is left goes on from what was published, with no older a set.
            version = max(version, version_of_batch(self._directory.batches, done))
        tasks = assignments(done, end["segment"], version, self._tasks)
        return [TaskPartition(task) for task in tasks]

    def read(self, partition: TaskPartition) -> Iterator[pa.RecordBatch]:  # type: ignore[override]
        from feedweir.spark.tasks import receipt_of

        yield receipt_of(self._directory, partition.assignment, self._allowance)


class LandingSource(DataSource):
    """`spark.readStream.format("feedweir_landing").option("root", …)`."""

    @classmethod
    def name(cls) -> str:
        return "feedweir_landing"

    def schema(self) -> str:
        return _SPARK_TYPES

    def streamReader(self, schema: Any) -> LandingReader:
        options = self.options
        allowance = Allowance(**json.loads(options["allowance"]))
        return LandingReader(
            Path(options["root"]), int(options["tasks"]), int(options["maxbytes"]), allowance
        )
