"""Spark keeps workers for tasks, with a process that begets them: a touch reaches them."""

from __future__ import annotations

import os
from pathlib import Path

from benchmarks._running import process_tree
from pyspark.sql import SparkSession

from feedweir.spark.warmth import touch
from tests.engines import open_weir


def test_a_touch_is_for_the_workers_that_run_batches_and_joins(spark: SparkSession, tmp_path: Path) -> None:
    from feedweir.spark.pipeline import start_pipeline

    with open_weir(tmp_path / "data", "register feed push://A as A;") as weir:
        weir.refresh_set()
        weir.push("A", b"<rss><channel><item><title>High water</title></item></channel></rss>")
        query = start_pipeline(spark, weir.directory, weir.commit, tasks=2)
        try:
            query.processAllAvailable()
            before = pools()
            touch(spark)
            assert pools() == before
        finally:
            query.stop()


def pools() -> list[int]:
    """The processes that beget workers: children of the Java process."""
    processes = process_tree(os.getpid())
    java = {one.pid for one in processes if one.kind == "java"}
    return [one.pid for one in processes if one.kind == "worker" and one.parent in java]
