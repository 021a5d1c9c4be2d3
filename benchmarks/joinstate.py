"""Where the past of a join is kept on Spark: one value join over a stream, done four ways on the same data.

Witnesses (variable, value, item, time) come in micro-batches and meet those that came before on equal values, within
windows; R_T says which variables are compared and how far back. The ways:

- `stateful_operator`: `transformWithState` in Python, keyed by value, expired by event-time timers (RocksDB);
- `stream_stream_join`: Spark's own join of the stream with itself, bounded by watermarks (RocksDB);
- `history_tables`: each batch joined by Spark SQL with Parquet files of earlier batches;
- `history_files`: what Feedweir does: a task of the batch meets its witnesses with memory-mapped segments.

Of each: items a second without the first two batches, seconds from a restart to the next batch's results, bytes of
state for an item of the stream. `agree`: all gave the pairs of a plain loop over values. `new_template`: what the
stream-stream join says when one more join is put beside it on the state that it has.
"""

from __future__ import annotations

import argparse
import os
import random
import tempfile
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from benchmarks._join_items import ITEM_LEAVES, Items, generated_items

PLAIN_FILES = {
    # RocksDB failed to commit with the settings that the pipeline uses for its checkpoints.
    "spark.sql.streaming.checkpointFileManagerClass": (
        "org.apache.spark.sql.execution.streaming.checkpointing.FileContextBasedCheckpointFileManager"
    ),
    "spark.hadoop.fs.file.impl": "org.apache.hadoop.fs.LocalFileSystem",
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    ),
    "spark.sql.streaming.noDataMicroBatches.enabled": "false",
    "spark.sql.streaming.minBatchesToRetain": "2",
    "spark.sql.codegen.wholeStage": "true",
}
Pairs = set[tuple[str, str, int, int]]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--batches", type=int, default=5)
    parser.add_argument("--size", type=int, default=1000, help="items in a batch")
    parser.add_argument("--queries", type=int, default=3000)
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--ways", nargs="*", default=[], help="only these")


def rules_of(queries: int, seed: int = 5) -> tuple[tuple[str, str, int], ...]:
    """Random queries of one value join, windows of one to six hours: R_T by distinct row, with the longest window."""
    chance = random.Random(seed)
    longest: dict[tuple[str, str], int] = defaultdict(int)
    for _ in range(queries):
        pair = (chance.choice(ITEM_LEAVES), chance.choice(ITEM_LEAVES))
        longest[pair] = max(longest[pair], 3600 * chance.randrange(1, 7))
    return tuple((*pair, length) for pair, length in sorted(longest.items()))


def expected(items: Items, rules: tuple[tuple[str, str, int], ...]) -> Pairs:
    """By a plain loop over all that has one value."""
    length = {rule[:2]: rule[2] * 1_000_000 for rule in rules}
    by_value: dict[str, list[tuple[int, int, str]]] = defaultdict(list)
    for name, column in items.columns.items():
        for item, value in enumerate(column):
            by_value[value].append((int(items.times[item]), item, name))
    return {
        (left, right, one, other)
        for rows in by_value.values()
        for before, one, left in rows
        for after, other, right in rows
        if 0 < after - before <= length.get((left, right), 0)
    }


class Watch:
    """When each batch was through."""

    def __init__(self) -> None:
        self.ends: dict[int, float] = {}

    def done(self, number: int) -> None:
        self.ends[number] = time.time()

    def wait(self, query: Any, number: int, timeout_s: float = 300) -> None:
        """Until this batch is through; the query's own error when it ends before."""
        limit = time.time() + timeout_s
        while number not in self.ends:
            if query.awaitTermination(timeout=0.05) or time.time() > limit:
                raise TimeoutError(f"batch {number} did not come")
        query.stop()


def measured(name: str, session: Any, place: Path, items: Items, options: argparse.Namespace) -> Any:
    """All batches but the last, then a restart and the last."""
    from benchmarks import _join_ways as ways

    source, last = place / "source", options.batches - 1
    source.mkdir(parents=True)
    for number in range(last):
        _land(source, items, number, options.size)
    rules, watch = rules_of(options.queries), Watch()
    start: ways.Way = getattr(ways, name)
    query = start(ways.Setting(session, source, place, rules, 0, watch.done))
    watch.wait(query, last - 1)
    _land(source, items, last, options.size)
    begun = time.time()
    query = start(ways.Setting(session, source, place, rules, 1, watch.done))
    watch.wait(query, last)
    found = pq.read_table(place / "results").select(["left_variable", "right_variable", "left", "right"])
    pairs: Pairs = set(zip(*(column.to_pylist() for column in found.columns), strict=True))
    held = [place / "state", place / "checkpoint" / "state"]
    state = sum(path.stat().st_size for one in held for path in one.rglob("*") if path.is_file())
    return {
        "items_per_s": round((last - 2) * options.size / (watch.ends[last - 1] - watch.ends[1]), 1),
        "restart_s": round(watch.ends[last] - begun, 2),
        "state_bytes_per_item": round(state / len(items), 1),
        "agree": pairs == expected(items, rules) and len(pairs) == found.num_rows,
    }


def _land(source: Path, items: Items, number: int, size: int) -> None:
    from benchmarks._join_ways import write_witnesses

    path = source / f"{number:06d}.parquet"
    write_witnesses(path, items, number * size, (number + 1) * size)
    # Spark takes files by age: one second apart, whatever the file system's clock can tell.
    os.utime(path, (1_700_000_000 + number, 1_700_000_000 + number))


def new_template(session: Any, place: Path, options: argparse.Namespace) -> str:
    """One more join on the state of a stream-stream join that ran."""
    from benchmarks import _join_ways as ways

    watch = Watch()
    query = ways.two_stream_stream_joins(
        ways.Setting(session, place / "source", place, rules_of(options.queries), 2, watch.done)
    )
    try:
        query.processAllAvailable()
    except Exception as error:
        return f"refused: {str(error).split('exception: ')[-1].splitlines()[0]}"
    finally:
        query.stop()
    return "taken up"


def run(options: argparse.Namespace) -> dict[str, object]:
    from feedweir.spark.session import open_session

    if options.full:
        options.batches, options.size = 12, 4000
    items = generated_items(options.batches * options.size)
    names = options.ways or ["history_files", "history_tables", "stream_stream_join", "stateful_operator"]
    result: dict[str, object] = {"items": len(items), "queries": options.queries}
    with tempfile.TemporaryDirectory() as scratch:
        root = Path(scratch)
        session = open_session(f"local[{options.cores}]", root / "spark", settings=PLAIN_FILES)
        session.conf.set("spark.sql.shuffle.partitions", str(options.cores))
        try:
            ways = {name: measured(name, session, root / name, items, options) for name in names}
            if "stream_stream_join" in names:
                result["new_template"] = new_template(session, root / "stream_stream_join", options)
        finally:
            session.stop()
    return {**result, **ways, "agree": all(way["agree"] for way in ways.values())}
