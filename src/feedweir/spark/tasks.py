"""The tasks of a batch in Spark's Python workers: one job for each round, one partition for each task.

A partition is the number of a task; the tasks travel with the function, and what each hands back returns as its row. A
worker lives for many batches: what it opened for one is used by the next.
"""

from __future__ import annotations

import gc
import pickle
import re
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Any

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from feedweir import __version__
from feedweir.acquire.parse.document_budget import Allowance
from feedweir.acquire.parse.parse_process import parse_process
from feedweir.errors import EngineError
from feedweir.health.log_setup import log_in_worker
from feedweir.logs.directory import DataDirectory
from feedweir.pipeline.batch_tasks import RunTasks
from feedweir.pipeline.join_task import JoinWorker, ShardTask, SliceTask
from feedweir.pipeline.worker import Worker
from feedweir.storage import Place

_ABOUT_WORKERS = re.compile(r"worker \S+ (?:lacks Feedweir|has Feedweir)[^\n]*")
_COLUMNS = "task long, handed_back binary"


def tasks_on(
    session: SparkSession, directory: DataDirectory, allowance: Allowance, log_level: str = ""
) -> RunTasks:
    """Runs tasks on the executors of a session."""
    root = directory.root.resolve()

    def run_all(tasks: Sequence[Any]) -> list[Any]:
        if not tasks:
            return []
        _describe(session, tasks)
        numbers = session.range(0, len(tasks), 1, len(tasks))
        try:
            rows = numbers.mapInArrow(_runner(root, list(tasks), allowance, log_level), _COLUMNS).collect()
        except PySparkException as error:
            raise _sentence_in(error) or error from None
        return [pickle.loads(row.handed_back) for row in sorted(rows, key=lambda row: row.task)]

    return run_all


def _describe(session: SparkSession, tasks: Sequence[Any]) -> None:
    """What Spark's pages call the job of a round."""
    kind = type(tasks[0]).__name__.removesuffix("Task").lower()
    batch = tasks[0].manifest.upto if kind == "shard" else tasks[0].assignment.upto
    session.sparkContext.setJobDescription(f"feedweir batch {batch}: {kind}, {len(tasks)} tasks")


def _runner(
    root: Place, tasks: list[Any], allowance: Allowance, log_level: str
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    driver, order = __version__, pickle.dumps((root, tasks, allowance, log_level))

    def run(numbers: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        # It travels by value: of a worker's own Feedweir nothing is known yet.
        import socket

        try:
            from feedweir import __version__ as own
        except ImportError as error:
            raise RuntimeError(f"worker {socket.gethostname()} lacks Feedweir {driver} ({error})") from None
        if own != driver:
            raise RuntimeError(f"worker {socket.gethostname()} has Feedweir {own}, the driver has {driver}")
        # Imported where it runs: the process's own copy of this module keeps the worker, not what Spark shipped.
        from feedweir.spark import tasks as here

        place, given, allowed, level = pickle.loads(order)
        for batch in numbers:
            for number in batch.column(0).to_pylist():
                handed_back = here.run_task(place, given[number], allowed, level)
                yield pa.RecordBatch.from_pydict({"task": [number], "handed_back": [handed_back]})

    return run


def _sentence_in(error: Exception) -> EngineError | None:
    """What a worker says of its Feedweir, out of what Spark made of it."""
    found = _ABOUT_WORKERS.search(str(error))
    return EngineError(found[0], hint="install the driver's version on all workers") if found else None


def run_task(root: Place, task: Any, allowance: Allowance, log_level: str = "") -> bytes:
    """Run a task in this process; what it hands back, pickled."""
    log_in_worker(log_level)
    if isinstance(task, ShardTask | SliceTask):
        receipt: Any = join_worker_of(root).run(task)
    else:
        receipt = worker_of(root, allowance).run(task)
    _freeze_loaded()
    return pickle.dumps(receipt)


@lru_cache(maxsize=4)
def worker_of(root: Place, allowance: Allowance) -> Worker:
    return Worker(DataDirectory(root), parse_process(allowance))


@lru_cache(maxsize=4)
def join_worker_of(root: Place) -> JoinWorker:
    return JoinWorker(DataDirectory(root))


@lru_cache(maxsize=1)
def _freeze_loaded() -> None:
    """Spark collects garbage after every task; what the first one loaded stays, and need not be scanned again."""
    gc.collect()
    gc.freeze()
