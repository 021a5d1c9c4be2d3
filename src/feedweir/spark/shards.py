"""The join step of a batch as Spark tasks: a second job in the same micro-batch, one task for each shard."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict
from functools import lru_cache
from pathlib import Path

from pyspark.sql import SparkSession

from feedweir.engine.batches import Manifest
from feedweir.engine.directory import DataDirectory
from feedweir.engine.join_worker import JoinWorker, ShardReceipt, ShardTask
from feedweir.engine.settle import RunShards


def shards_on(session: SparkSession, directory: DataDirectory) -> RunShards:
    """Runs shards on the executors of a session."""
    context = session.sparkContext
    run = _runner(str(directory.root.resolve()))

    def run_all(tasks: Sequence[ShardTask]) -> list[ShardReceipt]:
        texts = [json.dumps({"shard": task.shard, "manifest": task.manifest.to_json()}) for task in tasks]
        return [_receipt(text) for text in context.parallelize(texts, len(texts)).map(run).collect()]

    return run_all


def _runner(root: str) -> Callable[[str], str]:
    def run(text: str) -> str:
        # Imported where it runs: the process's own copy of this module keeps the worker, not what Spark shipped.
        from feedweir.spark import shards

        return shards.run_shard(root, text)

    return run


def run_shard(root: str, text: str) -> str:
    """Do a shard in a Python worker of Spark."""
    value = json.loads(text)
    task = ShardTask(value["shard"], Manifest.from_json(value["manifest"]))
    return json.dumps(asdict(join_worker_of(root).run(task)))


@lru_cache(maxsize=4)
def join_worker_of(root: str) -> JoinWorker:
    """A Python worker process lives for many batches: what it opened for one serves the next."""
    return JoinWorker(DataDirectory(Path(root)))


def _receipt(text: str) -> ShardReceipt:
    value = json.loads(text)
    failures = tuple((feed, why) for feed, why in value["failures"])
    lists = {name: tuple(value[name]) for name in ("states", "doubts")}
    return ShardReceipt(**{**value, **lists, "failures": failures})
