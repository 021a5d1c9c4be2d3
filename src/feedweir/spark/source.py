"""The landing log as a stream that Spark follows: it says when there is something to do, and nothing more.

An offset is {landed, published}: what has landed, and what our manifests say of it. What a batch consists of is pinned
by our own record (`logs/pins.py`), so Spark's checkpoint may be lost, or restored from last week, without losing or
doubling anything. No row comes through this source: tasks read the log by themselves.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit

from feedweir.logs.directory import DataDirectory, current_version, latest_batch
from feedweir.logs.landing import LandingLog
from feedweir.storage import Place


class LandingReader(DataSourceStreamReader):
    def __init__(self, root: Place) -> None:
        self._directory = DataDirectory(root)
        self._landing = LandingLog(self._directory.landing)

    def initialOffset(self) -> dict[str, Any]:
        return {"landed": 0, "published": 0}

    def getDefaultReadLimit(self) -> ReadLimit:
        return ReadAllAvailable()

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:
        landed, published = self._landing.latest(), latest_batch(self._directory.batches)
        if landed <= published or current_version(self._directory.sets) is None:
            # Exactly the same offset: anything else would run an empty batch.
            return start
        return {"landed": landed, "published": published}

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> list[InputPartition]:
        return [InputPartition(0)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return iter(())


class LandingSource(DataSource):
    """`spark.readStream.format("feedweir_landing")`, of the place that `following` names."""

    root: Place

    @classmethod
    def name(cls) -> str:
        return "feedweir_landing"

    def schema(self) -> str:
        return "landed long"

    def streamReader(self, schema: Any) -> LandingReader:
        return LandingReader(self.root)


def following(root: Place) -> type[LandingSource]:
    """The source of one installation. What opens a store stays out of the query's options, which Spark shows."""
    return type("FollowedLanding", (LandingSource,), {"root": root})
