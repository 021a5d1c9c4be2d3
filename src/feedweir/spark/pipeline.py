"""The pipeline as one streaming query: each of its micro-batches runs one of our batches, as jobs on the executors."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from py4j.protocol import Py4JError
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from feedweir.acquire.parse.document_budget import DEFAULT_ALLOWANCE, Allowance
from feedweir.errors import FeedweirError
from feedweir.logs.batches import Manifest
from feedweir.logs.directory import DataDirectory
from feedweir.logs.landing import LandingLog
from feedweir.pipeline.batch_publisher import BatchPublisher
from feedweir.pipeline.batch_run import BatchRun, Division, Pace
from feedweir.pipeline.charge import Charge
from feedweir.spark.session import has_died, kill_java
from feedweir.spark.source import LandingSource, following
from feedweir.spark.tasks import tasks_on

MAX_BATCH_BYTES = 16 << 20
"""Of compressed documents: some ten thousand items."""
_PACE, _STORE_PACE = "0 seconds", "1 second"
"""How long after one look at what landed the next one begins; a store is asked by requests that cost."""
_ENDED = FeedweirError("the Java process of Spark ended")


def start_pipeline(
    session: SparkSession,
    directory: DataDirectory,
    commit: Callable[[Manifest], None],
    *,
    tasks: int = 0,
    max_batch_bytes: int = MAX_BATCH_BYTES,
    batch_seconds: float = 0.0,
    allowance: Allowance = DEFAULT_ALLOWANCE,
    trigger: dict[str, Any] | None = None,
    log_level: str = "",
    charge: Charge | None = None,
    division: Division | None = None,
) -> StreamingQuery:
    """Start the query. `commit` is called with every published batch, and again if a crash interrupted it. A batch is
    divided into at most `tasks` tasks, or as many as there are cores when it begins; `division` overrules that. With
    `batch_seconds`, batches become so large that they take about so long."""
    session.dataSource.register(following(directory.root.resolve()))
    landing = LandingLog(directory.landing)

    pace = Pace(max_batch_bytes, batch_seconds)
    run_tasks = tasks_on(session, directory, allowance, log_level)
    batches = BatchRun(
        directory,
        BatchPublisher(directory, run_tasks, charge),
        run_tasks,
        lambda after: landing.reach(after, pace.bytes_at_once),
    )
    if newest := batches.newest():  # a crash may have come before it was committed
        commit(newest)

    def step(_landed: DataFrame, _batch_id: int) -> None:
        nonlocal pace
        begun = time.monotonic()
        if manifest := batches.run_next(division or Division(tasks or cores_of(session))):
            commit(manifest)
            pace = pace.after(manifest.landed_bytes, time.monotonic() - begun)

    landed = session.readStream.format(LandingSource.name()).load()
    return (
        landed.writeStream.foreachBatch(step)
        .option("checkpointLocation", str(directory.checkpoint.resolve()))
        .trigger(
            **(trigger or {"processingTime": _PACE if isinstance(directory.root, Path) else _STORE_PACE})
        )
        .queryName("feedweir")
        .start()
    )


def cores_of(session: SparkSession) -> int:
    """The cores of the executors that are there now."""
    return max(1, session.sparkContext.defaultParallelism)


class WatchedQuery:
    """The query as the daemon sees it: it has ended if its JVM has, even while another JVM is being started."""

    def __init__(self, query: StreamingQuery) -> None:
        self._query = query

    @property
    def isActive(self) -> bool:
        try:
            return not has_died() and self._query.isActive
        except (OSError, Py4JError):  # the JVM is gone
            return False

    def stop(self) -> None:
        if not has_died():
            self._query.stop()

    def kill(self) -> None:
        """End its JVM, which does not listen."""
        kill_java()

    def exception(self) -> Exception | None:
        try:
            return _ENDED if has_died() else self._query.exception()
        except (OSError, Py4JError):
            return _ENDED
