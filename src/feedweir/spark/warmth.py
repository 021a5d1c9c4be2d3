"""Keeps idle Python workers alive: Spark ends them all when none of them has worked for a minute.

What they had loaded, such as join history, kernels and compiled sets, would be loaded again for the first item after a
quiet minute. Spark has no setting for this, so the workers get a trivial job now and then.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import suppress

import pyarrow as pa
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

TOUCH_EVERY_S = 20
"""Spark checks every ten seconds whether the minute has passed."""


def keep_workers(session: SparkSession, query: StreamingQuery) -> None:
    """Keep the workers of a session alive until the query ends."""
    threading.Thread(target=_keep, args=(session, query), name="feedweir-warmth", daemon=True).start()


def _keep(session: SparkSession, query: StreamingQuery) -> None:
    with suppress(OSError, Py4JError, PySparkException):  # a query that fails is reported by the daemon
        while not query.awaitTermination(TOUCH_EVERY_S):
            touch(session)


def touch(session: SparkSession) -> None:
    """Give a trivial job to the workers that run tasks, those of joins included."""
    count = session.sparkContext.defaultParallelism
    session.range(0, count, 1, count).mapInArrow(_the_same, "id long").collect()


def _the_same(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    return batches
