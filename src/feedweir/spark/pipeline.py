"""The pipeline as one streaming query: landing log → tasks on the executors → published batches."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from py4j.protocol import Py4JError
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from feedweir.acquire.allowance import DEFAULT_ALLOWANCE, Allowance
from feedweir.engine.batches import Manifest
from feedweir.engine.directory import DataDirectory
from feedweir.engine.settle import Settler
from feedweir.errors import FeedweirError
from feedweir.spark.session import has_died
from feedweir.spark.shards import shards_on
from feedweir.spark.source import LandingSource
from feedweir.spark.tasks import receipts_in

MAX_BATCH_BYTES = 16 << 20
"""Of compressed documents: some ten thousand items."""
_ENDED = FeedweirError("the Java process of Spark ended")


def start_pipeline(
    session: SparkSession,
    directory: DataDirectory,
    commit: Callable[[Manifest], None],
    *,
    tasks: int,
    max_batch_bytes: int = MAX_BATCH_BYTES,
    allowance: Allowance = DEFAULT_ALLOWANCE,
    trigger: dict[str, Any] | None = None,
) -> StreamingQuery:
    """Start the one query. `commit` is told of every published batch, and again after a crash if it was cut short."""
    session.dataSource.register(LandingSource)
    root = str(directory.root.resolve())
    options = {
        "root": root,
        "tasks": str(tasks),
        "maxBytes": str(max_batch_bytes),
        "allowance": json.dumps(asdict(allowance)),
    }
    receipts = session.readStream.format(LandingSource.name()).options(**options).load()
    return (
        receipts.writeStream.foreachBatch(
            _publisher(Settler(directory, shards_on(session, directory)), commit)
        )
        .option("checkpointLocation", str(directory.checkpoint.resolve()))
        .trigger(**(trigger or {"processingTime": "0 seconds"}))
        .queryName("feedweir")
        .start()
    )


class WatchedQuery:
    """The query as its keeper sees it: with its JVM it ends, too, also while another JVM is being started."""

    def __init__(self, query: StreamingQuery) -> None:
        self._query = query

    @property
    def isActive(self) -> bool:
        try:
            return not has_died() and self._query.isActive
        except (OSError, Py4JError):  # nobody is there to be asked
            return False

    def stop(self) -> None:
        if not has_died():
            self._query.stop()

    def exception(self) -> Exception | None:
        try:
            return _ENDED if has_died() else self._query.exception()
        except (OSError, Py4JError):
            return _ENDED


def _publisher(settler: Settler, commit: Callable[[Manifest], None]) -> Callable[[DataFrame, int], None]:
    def publish(receipts: DataFrame, _batch_id: int) -> None:
        rows = receipts.collect()
        if not rows:
            # All of it was published, before a crash or by another engine: nothing is left to run.
            newest = settler.newest()
            if newest is not None:
                commit(newest)
            return
        commit(settler.settle(*receipts_in(rows)))

    return publish
