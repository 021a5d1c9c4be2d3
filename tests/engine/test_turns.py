"""Two engines take turns over one directory: whoever goes on, what was published is not published again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeAlias

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession
from pyspark.sql.streaming.datasource import ReadMaxBytes

from feedweir.acquire.allowance import DEFAULT_ALLOWANCE
from feedweir.acquire.parse_process import parse_process
from feedweir.engine.runner import Runner
from feedweir.engine.settle import Settler
from feedweir.engine.worker import Worker
from feedweir.keeper.weir import Weir
from feedweir.spark.pipeline import start_pipeline
from feedweir.spark.source import LandingReader
from tests.engine.engines import land, naive, open_weir, published
from tests.engine.stories import STATEMENTS, Shown, cut, histories

Turn: TypeAlias = tuple[str, int]
"""Which engine goes on, and how many pieces of the history have landed before it does."""

JOINED = (
    STATEMENTS
    + """
create feed Echo from Post as $p join last 10 days on Crier as $c with $p[title similar window.title];
create feed Once from distinct (Post | Crier | Notes);
"""
)

turns = st.lists(
    st.tuples(st.sampled_from(["spark", "process", "planned", "crashed"]), st.integers(0, 3)), max_size=8
)


class Checkpoint:
    """What Spark remembers of its stream: the offset that it committed, and the one that it has planned."""

    def __init__(self, weir: Weir) -> None:
        self._weir = weir
        self._reader = LandingReader(weir.directory.root, 2, 2_000, DEFAULT_ALLOWANCE)
        self.committed: dict[str, Any] = self._reader.initialOffset()
        self.planned: dict[str, Any] | None = None

    def plan(self) -> bool:
        """As Spark, which writes an offset down before its batch runs."""
        if self.planned is None:
            latest = self._reader.latestOffset(self.committed, ReadMaxBytes(2_000))
            self.planned = latest if latest != self.committed else None
        return self.planned is not None

    def run(self, *, is_cut_short: bool = False) -> None:
        """Run the batch that is planned, and commit it; or die after its tasks."""
        assert self.planned is not None
        tasks = [each.assignment for each in self._reader.partitions(self.committed, self.planned)]
        worker = Worker(self._weir.directory, parse_process(DEFAULT_ALLOWANCE))
        receipts = [worker.run(task) for task in tasks]
        if is_cut_short:
            return
        if tasks:
            self._weir.commit(Settler(self._weir.directory).settle(tasks[0], receipts))
        self.committed, self.planned = self.planned, None


def take_turns(weir: Weir, history: Sequence[Shown], turns: Sequence[Turn]) -> None:
    weir.refresh_set()
    spark = Checkpoint(weir)
    pieces = iter(cut(history, 2))
    for engine, landed in [*turns, ("process", len(history)), ("spark", 0)]:
        for _, documents in zip(range(landed), pieces, strict=False):
            land(weir, documents)
        if engine == "process":
            Runner(weir.directory, weir.commit, max_segments=2).run_available()
        elif engine == "planned":
            spark.plan()
        elif engine == "crashed" and spark.plan():
            spark.run(is_cut_short=True)
        else:
            while spark.plan():
                spark.run()


@settings(max_examples=40, deadline=None)
@given(histories, turns)
def test_whichever_engine_goes_on_everything_is_published_once(
    history: list[Shown], turns: list[Turn]
) -> None:
    with TemporaryDirectory() as first, TemporaryDirectory() as second:
        expected = naive(Path(first), STATEMENTS, [history])
        with open_weir(Path(second), STATEMENTS) as weir:
            take_turns(weir, history, turns)
            assert published(weir) == expected
            assert weir.store.latest() == weir.log.latest()


@settings(max_examples=15, deadline=None)
@given(histories, turns)
def test_joins_go_on_from_what_the_other_engine_left(history: list[Shown], turns: list[Turn]) -> None:
    with TemporaryDirectory() as first, TemporaryDirectory() as second:
        with open_weir(Path(first), JOINED) as weir:
            take_turns(weir, history, [])
            expected = published(weir)
        with open_weir(Path(second), JOINED) as weir:
            take_turns(weir, history, turns)
            assert published(weir) == expected


def test_a_planned_batch_that_nobody_took_over_is_run_as_it_was_planned(tmp_path: Path) -> None:
    with open_weir(tmp_path, STATEMENTS) as weir:
        weir.refresh_set()
        spark = Checkpoint(weir)
        land(weir, [Shown("Post", ((1, "river"),))])
        assert spark.plan()
        assert spark.planned is not None
        planned = spark.planned["version"]
        weir.execute("create feed Late from Post as $r where $r[title contains 'river']")
        weir.refresh_set()
        spark.run()
        assert weir.store.manifests()[0].version == planned < weir.version_in_force()
        assert published(weir)["Late"] == []


@contextmanager
def pipeline(session: SparkSession, weir: Weir) -> Iterator[Any]:
    query = start_pipeline(session, weir.directory, weir.commit, tasks=2)
    try:
        yield query
    finally:
        query.stop()


@settings(max_examples=3, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(histories, st.lists(st.sampled_from(["spark", "process"]), min_size=2, max_size=4))
def test_spark_itself_takes_turns_with_the_engine_in_one_process(
    spark: SparkSession, history: list[Shown], turns: list[str]
) -> None:
    pieces = cut(history, max(1, len(history) // 6))
    with TemporaryDirectory() as first, TemporaryDirectory() as second:
        expected = naive(Path(first), STATEMENTS, [history])
        with open_weir(Path(second), STATEMENTS) as weir:
            for place, engine in enumerate(["spark", *turns, "process", "spark"]):
                for documents in pieces[place : place + 1]:
                    land(weir, documents)
                go_on(engine, spark, weir)
            for documents in pieces[len(turns) + 3 :]:
                land(weir, documents)
            go_on("spark", spark, weir)
            assert published(weir) == expected


def go_on(engine: str, session: SparkSession, weir: Weir) -> None:
    weir.refresh_set()
    if engine == "process":
        weir.run()
        return
    with pipeline(session, weir) as query:
        query.processAllAvailable()


@pytest.mark.parametrize("documents", [1, 3])
def test_batches_of_one_process_do_not_come_again_through_spark(
    spark: SparkSession, tmp_path: Path, documents: int
) -> None:
    with open_weir(tmp_path, STATEMENTS) as weir:
        land(weir, [Shown("Post", ((0, "river"),))])
        go_on("spark", spark, weir)
        for guid in range(1, 1 + documents):
            land(weir, [Shown("Post", ((guid, f"river {guid}"),))])
            go_on("process", spark, weir)
        go_on("spark", spark, weir)
        assert [guid for _, guid, *_ in published(weir)["Post"]] == [str(n) for n in range(1 + documents)]
