"""The pipeline as one streaming query: landing log → tasks on the executors → published batches."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import asdict
from functools import lru_cache
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from feedweir.engine.batches import Assignment, Manifest, Receipt, SourceReport
from feedweir.engine.settle import Settler
from feedweir.engine.worker import DataDirectory, Worker
from feedweir.spark.source import LandingSource, assignments_in

MAX_BATCH_BYTES = 16 << 20
"""Of compressed documents: some ten thousand items."""

_RECEIPT_TYPES = "assignment string, receipt string"
_RECEIPT_SCHEMA = pa.schema([("assignment", pa.string()), ("receipt", pa.string())])


def start_pipeline(
    session: SparkSession,
    directory: DataDirectory,
    commit: Callable[[Manifest], None],
    *,
    tasks: int,
    max_batch_bytes: int = MAX_BATCH_BYTES,
    trigger: dict[str, Any] | None = None,
) -> StreamingQuery:
    """Start the one query. `commit` is told of every published batch, and again after a crash if it was cut short."""
    session.dataSource.register(LandingSource)
    root = str(directory.root.resolve())
    options = {"root": root, "tasks": str(tasks), "maxBytes": str(max_batch_bytes)}
    tasks_to_do = session.readStream.format(LandingSource.name()).options(**options).load()
    receipts = tasks_to_do.mapInArrow(_task_runner(root), _RECEIPT_TYPES)
    return (
        receipts.writeStream.foreachBatch(_publisher(Settler(directory), commit))
        .option("checkpointLocation", str(directory.checkpoint.resolve()))
        .trigger(**(trigger or {"processingTime": "0 seconds"}))
        .queryName("feedweir")
        .start()
    )


@lru_cache(maxsize=4)
def worker_of(root: str) -> Worker:
    """A Python worker process lives for many batches: what it opened for one serves the next."""
    return Worker(DataDirectory(Path(root)))


def _task_runner(root: str) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        # Imported where it runs: the process's own copy of this module keeps the worker, not what Spark shipped.
        from feedweir.spark import pipeline

        for batch in batches:
            yield pipeline.run_tasks(pipeline.worker_of(root), batch)

    return run


def run_tasks(worker: Worker, batch: pa.RecordBatch) -> pa.RecordBatch:
    """Run the tasks that Spark handed over, and hand back their receipts: none for what was published already."""
    tasks = assignments_in(batch)
    receipts = [None if worker.is_published(task) else json.dumps(asdict(worker.run(task))) for task in tasks]
    rows = {"assignment": [json.dumps(asdict(task)) for task in tasks], "receipt": receipts}
    return pa.RecordBatch.from_pydict(rows, schema=_RECEIPT_SCHEMA)


def _publisher(settler: Settler, commit: Callable[[Manifest], None]) -> Callable[[DataFrame, int], None]:
    def publish(receipts: DataFrame, _batch_id: int) -> None:
        rows = receipts.collect()
        if not rows:
            # A first batch that was published before a crash: the log now begins behind it, and nothing is left to run.
            newest = settler.newest()
            if newest is not None:
                commit(newest)
            return
        assignment = Assignment(**json.loads(rows[0].assignment))
        commit(settler.settle(assignment, [_receipt(row.receipt) for row in rows if row.receipt]))

    return publish


def _receipt(text: str) -> Receipt:
    value = json.loads(text)
    sources = {name: SourceReport(**report) for name, report in value["sources"].items()}
    return Receipt(**{**value, "sources": sources})
