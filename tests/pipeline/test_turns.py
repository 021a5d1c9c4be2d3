"""Two engines take turns over one directory: whoever goes on, what was published is not published again."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeAlias

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from feedweir.acquire.parse.document_budget import DEFAULT_ALLOWANCE
from feedweir.acquire.parse.parse_process import parse_process
from feedweir.logs.landing import LandingLog
from feedweir.pipeline.batch_publisher import BatchPublisher
from feedweir.pipeline.batch_run import BatchRun, Division
from feedweir.pipeline.local_runner import LocalRunner
from feedweir.pipeline.worker import Worker
from feedweir.service.installation import Weir
from feedweir.spark.pipeline import start_pipeline
from tests.engines import land, naive, open_weir, published
from tests.join.stories import STATEMENTS, Shown, cut, histories

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


class Crash(Exception):
    """The engine dies after the tasks of a batch."""


class Wide:
    """The engine as Spark drives it: a batch is pinned, its tasks run in rounds, and it may die in between."""

    def __init__(self, weir: Weir) -> None:
        worker = Worker(weir.directory, parse_process(DEFAULT_ALLOWANCE))
        self._weir = weir
        self.rounds_left: int | None = None

        def run_tasks(tasks: Sequence[Any]) -> list[Any]:
            if self.rounds_left is not None:
                self.rounds_left -= 1
                if self.rounds_left < 0:
                    raise Crash
            return [worker.run(task) for task in tasks]

        self._batches = BatchRun(
            weir.directory,
            BatchPublisher(weir.directory),
            run_tasks,
            lambda after: LandingLog(weir.directory.landing).reach(after, 2_000),
        )

    def plan(self) -> bool:
        """Pin the next batch, and die."""
        return self._batches.next_pin(TWO_TASKS) is not None

    def run(self, rounds: int | None = None) -> bool:
        self.rounds_left = rounds
        try:
            manifest = self._batches.run_next(TWO_TASKS)
        except Crash:
            return False
        if manifest:
            self._weir.commit(manifest)
        return manifest is not None


TWO_TASKS = Division(2, least_bytes=1)


def take_turns(weir: Weir, history: Sequence[Shown], turns: Sequence[Turn]) -> None:
    weir.refresh_set()
    spark = Wide(weir)
    pieces = iter(cut(history, 2))
    for engine, landed in [*turns, ("process", len(history)), ("spark", 0)]:
        for _, documents in zip(range(landed), pieces, strict=False):
            land(weir, documents)
        if engine == "process":
            LocalRunner(weir.directory, weir.commit, max_segments=2).run_available()
        elif engine == "planned":
            spark.plan()
        elif engine == "crashed":
            spark.run(rounds=landed)
        else:
            while spark.run():
                pass


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


def test_a_checkpoint_that_is_lost_or_a_week_old_loses_and_doubles_nothing(
    spark: SparkSession, tmp_path: Path
) -> None:
    with open_weir(tmp_path, STATEMENTS) as weir:
        checkpoint, kept = weir.directory.checkpoint, tmp_path / "kept"
        for guid in range(6):
            land(weir, [Shown("Post", ((guid, f"river {guid}"),))])
            go_on("spark", spark, weir)
            if guid == 1:
                shutil.copytree(checkpoint, kept)
            if guid >= 2:
                shutil.rmtree(checkpoint)
            if guid == 4:
                shutil.copytree(kept, checkpoint)
        assert [guid for _, guid, *_ in published(weir)["Post"]] == [str(n) for n in range(6)]
        assert weir.store.latest() == weir.log.latest()


@contextmanager
def pipeline(session: SparkSession, weir: Weir) -> Iterator[Any]:
    query = start_pipeline(session, weir.directory, weir.commit, division=TWO_TASKS)
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
