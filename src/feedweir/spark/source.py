"""The landing log as a replayable Spark stream.

An offset is {segment, version}: where the stream stands, and against which compiled set the batch that ends there is
matched. Spark writes it down before the batch runs, so a batch that is run again after a crash is matched against the
same set, and a new set is picked up by the next batch without a restart.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, ReadMaxBytes

from feedweir.acquire.landing import LandingLog
from feedweir.engine.batches import Assignment, assignments
from feedweir.engine.sets import current_version
from feedweir.engine.store import Store
from feedweir.engine.worker import DataDirectory, Worker
from feedweir.items.schema import DOCUMENT_SCHEMA

ASSIGNMENT_FIELDS = [
    pa.field("after", pa.int64()),
    pa.field("upto", pa.int64()),
    pa.field("version", pa.int64()),
    pa.field("parts", pa.list_(pa.int32())),
]
STREAM_SCHEMA = pa.schema([*ASSIGNMENT_FIELDS, *DOCUMENT_SCHEMA])
"""Documents, each with the assignment of its task. A task without documents has one row without a number."""

_SPARK_TYPES = (
    "after bigint, upto bigint, version bigint, parts array<int>, number bigint, source string, url string, "
    "media_type string, arrived timestamp, body binary"
)


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
        yield _with_assignment(Worker(self._directory).documents(partition.assignment), partition.assignment)

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


def assignment_of(batch: pa.RecordBatch) -> Assignment:
    """The assignment that the documents of a batch carry; all carry the same."""
    after, upto, version, parts = (batch.column(field.name)[0].as_py() for field in ASSIGNMENT_FIELDS)
    return Assignment(after, upto, version, tuple(parts))


def documents_of(batches: list[pa.RecordBatch]) -> pa.RecordBatch:
    """The documents in what a task was handed."""
    table = pa.Table.from_batches(batches).select(DOCUMENT_SCHEMA.names).cast(DOCUMENT_SCHEMA)
    documents = table.filter(pc.is_valid(table.column("number"))).combine_chunks().to_batches()
    return documents[0] if documents else pa.RecordBatch.from_pylist([], schema=DOCUMENT_SCHEMA)


def _with_assignment(documents: pa.RecordBatch, assignment: Assignment) -> pa.RecordBatch:
    if not documents.num_rows:
        documents = pa.RecordBatch.from_pylist([{}], schema=DOCUMENT_SCHEMA)
    values = (assignment.after, assignment.upto, assignment.version, list(assignment.parts))
    columns = [
        pa.array([value] * documents.num_rows, field.type)
        for value, field in zip(values, ASSIGNMENT_FIELDS, strict=True)
    ]
    return pa.RecordBatch.from_arrays([*columns, *documents.columns], schema=STREAM_SCHEMA)
