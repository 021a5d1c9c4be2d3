"""Four ways to meet a batch's witnesses with those of history on Spark, all over the same files and R_T.

Each starts a streaming query over `source/NUMBER.parquet`, a file a batch, and writes the pairs it finds to
`results/BATCH/`, so that a repeated batch replaces its own results.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.stateful_processor import StatefulProcessor

from benchmarks._join_items import ITEM_LEAVES, Items, batches
from benchmarks._join_queries import Schema, block_of
from feedweir.join.patterns.history_store import HistoryStore
from feedweir.join.patterns.pattern_logic import PatternLogic
from feedweir.join.patterns.pattern_set import PatternSet, compile_patterns
from feedweir.join.patterns.variables import PatternQuery
from feedweir.join.window_bounds import JoinBounds
from feedweir.plan.nodes import PatternJoin, TimeSpan

WITNESSES = "variable string, value string, item bigint, time timestamp"
PAIRS = "left_variable string, right_variable string, left bigint, right bigint"

Rule = tuple[str, str, int]
"""A row of R_T: the left variable, the right variable, and the longest window of its queries in seconds."""


@dataclass(frozen=True)
class Setting:
    """Where a way works and what it is told; `run` changes with every start, so that nothing is kept in memory."""

    session: SparkSession
    source: Path
    place: Path
    rules: tuple[Rule, ...]
    run: int
    done: Callable[[int], None]

    @property
    def results(self) -> Path:
        return self.place / "results"

    @property
    def state(self) -> Path:
        return self.place / "state"

    @property
    def longest_s(self) -> int:
        return max(rule[2] for rule in self.rules)

    def witnesses(self) -> DataFrame:
        reader = self.session.readStream.schema(WITNESSES).option("maxFilesPerTrigger", 1)
        return reader.parquet(str(self.source))

    def table(self) -> DataFrame:
        """R_T, to be sent to every task."""
        names = "left_variable string, right_variable string, length_s bigint"
        return F.broadcast(self.session.createDataFrame(list(self.rules), names))

    def started(self, rows: DataFrame, each: Callable[[DataFrame, int], None]) -> StreamingQuery:
        def batch(found: DataFrame, number: int) -> None:
            each(found, number)
            self.done(number)

        writer = rows.writeStream.foreachBatch(batch).outputMode("append")
        return writer.option("checkpointLocation", str(self.place / "checkpoint")).start()

    def kept(self, found: DataFrame, number: int) -> None:
        found.write.mode("overwrite").parquet(str(self.results / str(number)))


Way = Callable[[Setting], StreamingQuery]


def met(left: DataFrame, right: DataFrame, setting: Setting) -> DataFrame:
    """The conjunctive query of the template, in Spark's words."""
    longest = F.expr(f"interval {setting.longest_s} seconds")
    one = left.select(*(F.col(name).alias(f"l_{name}") for name in left.columns))
    other = right.select(*(F.col(name).alias(f"r_{name}") for name in right.columns))
    is_near = (F.col("r_time") > F.col("l_time")) & (F.col("r_time") <= F.col("l_time") + longest)
    pairs = one.join(other, (F.col("l_value") == F.col("r_value")) & is_near)
    apart = F.unix_micros("r_time") - F.unix_micros("l_time")
    chosen = (
        (F.col("l_variable") == F.col("left_variable"))
        & (F.col("r_variable") == F.col("right_variable"))
        & (apart <= F.col("length_s") * 1_000_000)
    )
    taken = pairs.join(setting.table(), chosen)
    return taken.select(
        "left_variable", "right_variable", F.col("l_item").alias("left"), F.col("r_item").alias("right")
    )


def stream_stream_join(setting: Setting) -> StreamingQuery:
    """Spark keeps both sides in its state stores, until the watermark has passed the window."""
    rows = [setting.witnesses().withWatermark("time", "0 seconds") for _ in range(2)]
    return setting.started(met(rows[0], rows[1], setting), setting.kept)


def two_stream_stream_joins(setting: Setting) -> StreamingQuery:
    """The same with one more join beside it, as when a template comes along."""
    rows = [setting.witnesses().withWatermark("time", "0 seconds") for _ in range(4)]
    both = met(rows[0], rows[1], setting).union(met(rows[2], rows[3], setting))
    return setting.started(both, setting.kept)


class Meeting(StatefulProcessor):
    """All witnesses with one value: the newly come meet those that are remembered."""

    def __init__(self, rules: tuple[Rule, ...]) -> None:
        self._length = {rule[:2]: rule[2] * 1_000_000 for rule in rules}
        self._longest = max(rule[2] for rule in rules) * 1_000_000

    def init(self, handle: Any) -> None:
        self._handle = handle
        self._past = handle.getListState("past", "variable string, item bigint, time bigint")

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:
        fresh = sorted((row.micros, row.item, row.variable) for row in rows)
        since = fresh[0][0] - self._longest
        past = [(time, item, name) for name, item, time in self._past.get() if time >= since]
        for place, (time, item, name) in enumerate(fresh):
            for before, other, earlier in (*past, *fresh[:place]):
                if 0 < time - before <= self._length.get((earlier, name), 0):
                    yield Row(left_variable=earlier, right_variable=name, left=other, right=item)
        self._past.put([(name, item, time) for time, item, name in (*past, *fresh)])
        for timer in list(self._handle.listTimers()):
            self._handle.deleteTimer(timer)
        self._handle.registerTimer((fresh[-1][0] + self._longest) // 1000 + 1)

    def handleExpiredTimer(self, key: Any, timerValues: Any, expiredTimerInfo: Any) -> Iterator[Row]:
        self._past.clear()
        return iter(())

    def close(self) -> None:
        pass


def stateful_operator(setting: Setting) -> StreamingQuery:
    rows = setting.witnesses().withWatermark("time", "0 seconds")
    timed = rows.select("variable", "value", "item", "time", F.unix_micros("time").alias("micros"))
    found = timed.groupBy("value").transformWithState(
        Meeting(setting.rules), outputStructType=PAIRS, outputMode="Append", timeMode="EventTime"
    )
    return setting.started(found, setting.kept)


def history_tables(setting: Setting) -> StreamingQuery:
    """Earlier batches are Parquet files, those in reach of the batch's windows are read and joined by Spark SQL."""

    def each(batch: DataFrame, number: int) -> None:
        target = setting.state / f"{number}.parquet"
        batch.write.mode("overwrite").parquet(str(target))
        since = _times(setting.source, number)[0] - setting.longest_s * 1_000_000
        held = [one for one in range(number + 1) if _times(setting.source, one)[1] >= since]
        paths = [str(setting.state / f"{one}.parquet") for one in held]
        reader = setting.session.read.schema(WITNESSES)
        setting.kept(met(reader.parquet(*paths), F.broadcast(reader.parquet(str(target))), setting), number)

    return setting.started(setting.witnesses(), each)


def _times(source: Path, number: int) -> tuple[int, int]:
    """The first and the last time in a batch, in microseconds, from its file's own statistics."""
    metadata = pq.read_metadata(source / f"{number:06d}.parquet")
    statistics = metadata.row_group(0).column(3).statistics
    low, high = (int(one.timestamp() * 1_000_000) for one in (statistics.min, statistics.max))
    return low, high


def history_files(setting: Setting) -> StreamingQuery:
    """As the pipeline does it: a second job of the batch, whose task reads and writes files of its own."""
    task = (str(setting.source), str(setting.place), setting.rules, setting.run)
    context = setting.session.sparkContext

    def each(_batch: DataFrame, number: int) -> None:
        context.parallelize([number], 1).map(lambda one: _run_task(task, one)).collect()

    # What starts a batch here is a task's name; its witnesses do not go through the JVM.
    return setting.started(setting.witnesses().select("item").limit(0), each)


def _run_task(task: tuple[str, str, tuple[Rule, ...], int], number: int) -> int:
    # Imported where it runs: the process's own copy of this module keeps the history, not what Spark shipped.
    from benchmarks import _join_ways

    return _join_ways.shard_of(*task).step(number)


@lru_cache(maxsize=2)
def shard_of(source: str, place: str, rules: tuple[Rule, ...], run: int) -> Shard:
    return Shard(Path(source), Path(place), rules)


class Shard:
    """The history of a template in a Python worker that lives for many batches."""

    def __init__(self, source: Path, place: Path, rules: tuple[Rule, ...]) -> None:
        self._source = source
        self._results = place / "results"
        self._joins = compiled(rules)
        self._logic = PatternLogic(self._joins)
        self._store = HistoryStore(place / "state")
        self._after = -1
        self._states = self._logic.start()

    def step(self, number: int) -> int:
        if self._after != number - 1:
            self._states = self._store.load(number)
        items = read_witnesses(self._source / f"{number:06d}.parquet")
        (batch,) = batches(self._joins, items.items, len(items.items), first=items.first)
        found, after = self._logic.step(self._states, batch, number)
        self._states = self._store.save(number, after)
        self._logic.saved(after, self._states)
        self._after = number
        pairs = pair_table(self._joins, found)
        target = self._results / str(number)
        target.mkdir(parents=True, exist_ok=True)
        pq.write_table(pairs, target / "pairs.parquet")
        return pairs.num_rows


def compiled(rules: tuple[Rule, ...]) -> PatternSet:
    schema = Schema(ITEM_LEAVES)
    place = {name: number for number, name in enumerate(ITEM_LEAVES)}
    queries = (
        PatternQuery(
            key,
            PatternJoin(
                "followed by",
                block_of(schema, [place[left]], "a"),
                block_of(schema, [place[right]], "b"),
                (("a0", "b0"),),
                TimeSpan(timedelta(seconds=length)),
            ),
        )
        for key, (left, right, length) in enumerate(rules)
    )
    # Spark's ways wait for nothing that is late, so this one keeps nothing for it either.
    return compile_patterns(queries, bounds=JoinBounds(lateness=timedelta(0)))


@dataclass(frozen=True)
class Read:
    items: Items
    first: int


def write_witnesses(path: Path, items: Items, start: int, stop: int) -> None:
    """A row for each leaf of each item, in order."""
    count = stop - start
    table = pa.table(
        {
            "variable": list(ITEM_LEAVES) * count,
            "value": [
                text
                for row in zip(*(items.columns[name][start:stop] for name in ITEM_LEAVES), strict=True)
                for text in row
            ],
            "item": np.repeat(np.arange(start, stop), len(ITEM_LEAVES)),
            "time": pa.array(np.repeat(items.times[start:stop], len(ITEM_LEAVES)), pa.timestamp("us", "UTC")),
        }
    )
    draft = path.with_name(f".{path.name}")
    pq.write_table(table, draft)
    draft.rename(path)


def read_witnesses(path: Path) -> Read:
    table = pq.read_table(path)
    values, width = table["value"].to_pylist(), len(ITEM_LEAVES)
    columns = {name: values[place::width] for place, name in enumerate(ITEM_LEAVES)}
    times = table["time"].cast(pa.int64()).to_numpy()[::width]
    return Read(Items(columns, np.ascontiguousarray(times)), int(table["item"][0].as_py()))


def pair_table(joins: PatternSet, found: Any) -> pa.Table:
    """What the join room found, by the variables of R_T's rows."""
    level = joins.levels[0]
    names = [one.pattern.root.children[0].name if one.pattern else "" for one in level.variables]
    columns: list[list[Any]] = [[], [], [], []]
    for one in found.levels[0].found:
        variables = level.relations[one.relation].variables[one.row]
        sides = level.relations[one.relation].template.sides
        left, right = sides.index(0), sides.index(1)
        columns[0] += [names[place] for place in variables[:, left].tolist()]
        columns[1] += [names[place] for place in variables[:, right].tolist()]
        columns[2] += one.left.tolist()
        columns[3] += one.right.tolist()
    types = (pa.string(), pa.string(), pa.int64(), pa.int64())
    names = ["left_variable", "right_variable", "left", "right"]
    return pa.table([pa.array(one, kind) for one, kind in zip(columns, types, strict=True)], names)
