"""Elements in runs: complete, the same when repeated, and never all in memory."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from feedweir.acquire.parse.document_budget import DEFAULT_ALLOWANCE
from feedweir.acquire.parse.parse_process import parse_process
from feedweir.logs.batches import Assignment, Receipt, manifest_of
from feedweir.logs.directory import DataDirectory
from feedweir.logs.landing import Landed, LandingLog
from feedweir.logs.sorted_files import Run
from feedweir.logs.store import Store
from feedweir.match import KeywordQueries, write_version
from feedweir.pipeline.batch_tasks import WholeTask
from feedweir.pipeline.commit import hits_in
from feedweir.pipeline.compaction import FAN_IN, compact
from feedweir.pipeline.element_runs import merged_runs, write_merged
from feedweir.pipeline.local_runner import LocalRunner
from feedweir.pipeline.worker import Worker
from feedweir.spark.tasks import run_task
from tests.engines import NOON, Feeds, in_process, land, open_weir, published
from tests.join.stories import STATEMENTS, Shown, cut, histories

SUBSCRIPTIONS = 200_000
ITEMS = ("storm at the coast", "calm", "storm", "a coast without storm")

pairs = st.lists(st.tuples(st.integers(-3, 5), st.integers(0, 30)), unique=True, max_size=40)


class HeldRun:
    """Elements in memory."""

    def __init__(self, feeds: NDArray[np.int64], seqs: NDArray[np.int64]) -> None:
        self._feeds, self._seqs = feeds, seqs

    def __len__(self) -> int:
        return len(self._feeds)

    def part(self, first: int, end: int) -> Run:
        return self._feeds[first:end], self._seqs[first:end]


def run_of(elements: list[tuple[int, int]]) -> Run:
    feeds, seqs = np.array(sorted(elements), np.int64).reshape(-1, 2).T
    return feeds, seqs


def rows_of(table: pa.Table) -> list[tuple[int, int]]:
    return list(zip(table["feed"].to_pylist(), table["seq"].to_pylist(), strict=True))


@given(st.lists(pairs, max_size=5), st.integers(1, 12))
def test_runs_are_merged_in_order_a_few_elements_at_a_time(
    runs: list[list[tuple[int, int]]], limit: int
) -> None:
    tables = list(merged_runs([HeldRun(*run_of(run)) for run in runs], limit))
    assert [row for table in tables for row in rows_of(table)] == sorted(pair for run in runs for pair in run)
    assert all(0 < table.num_rows <= max(limit, len(runs)) for table in tables)


@given(st.lists(pairs, max_size=5), st.integers(0, 30))
def test_hits_are_counted_run_by_run(runs: list[list[tuple[int, int]]], oldest: int) -> None:
    feeds, hits = hits_in([run_of(run) for run in runs], oldest)
    wanted = [feed for run in runs for feed, seq in run if seq >= oldest]
    assert dict(zip(feeds.tolist(), hits.tolist(), strict=True)) == {
        feed: wanted.count(feed) for feed in sorted(set(wanted))
    }


def test_a_compaction_of_many_elements_writes_several_files_that_follow_each_other(tmp_path: Path) -> None:
    runs = [
        HeldRun(*run_of([(feed, 10 * number + n) for feed in range(20) for n in range(10)]))
        for number in range(8)
    ]
    store = Store(tmp_path)
    names = write_merged(store, "all", runs, limit=500)
    assert names == ("all.parquet", "all-000001.parquet")
    written = [rows_of(pq.read_table(tmp_path / "elements" / name)) for name in names]
    assert max(map(len, written)) <= 2 * 500
    assert [row for rows in written for row in rows] == [(feed, n) for feed in range(20) for n in range(80)]


@pytest.fixture(scope="module")
def wide(tmp_path_factory: pytest.TempPathFactory) -> DataDirectory:
    """A landed document, and so many subscriptions that want some of its items."""
    directory = DataDirectory(tmp_path_factory.mktemp("wide"))
    words = [["storm"], ["storm", "coast"], ["coast"]]
    texts = pa.array([words[n % 3] for n in range(SUBSCRIPTIONS)])
    write_version(directory.sets, 1, KeywordQueries(np.arange(1, SUBSCRIPTIONS + 1), texts))
    (directory.sets / "CURRENT").write_text("1")
    shown = Shown("Post", tuple(reversed(list(enumerate(ITEMS)))))
    LandingLog(directory.landing).append([Landed(source="Post", arrived=NOON, body=shown.body())])
    return directory


def by_worker(directory: DataDirectory, assignment: Assignment) -> Receipt:
    worker = Worker(directory, parse_process(DEFAULT_ALLOWANCE), pairs_at_once=20_000)
    receipt = worker.run(WholeTask(assignment))
    assert isinstance(receipt, Receipt)
    return receipt


def by_spark_task(directory: DataDirectory, assignment: Assignment) -> Receipt:
    receipt: Receipt = pickle.loads(run_task(directory.root, WholeTask(assignment), DEFAULT_ALLOWANCE))
    return receipt


@pytest.mark.parametrize(("run", "most"), [(by_worker, 3 * 20_000), (by_spark_task, 1 << 21)])
def test_an_item_that_two_hundred_thousand_subscriptions_want_is_published_to_all_of_them(
    wide: DataDirectory, run: Callable[[DataDirectory, Assignment], Receipt], most: int
) -> None:
    assignment = Assignment(0, 1, 1)
    receipt = run(wide, assignment)
    store = Store(wide.root)
    elements = store.element_table([manifest_of(assignment, [receipt])])
    items = store.item_table([manifest_of(assignment, [receipt])])
    titles = dict(zip(items["seq"].to_pylist(), items["title"].to_pylist(), strict=True))
    seqs, counts = np.unique(elements["seq"].to_numpy(), return_counts=True)
    found = {titles[seq]: count for seq, count in zip(seqs.tolist(), counts.tolist(), strict=True)}
    assert found == {ITEMS[0]: SUBSCRIPTIONS, ITEMS[2]: 66_667, ITEMS[3]: SUBSCRIPTIONS}
    assert receipt.element_count == elements.num_rows == len(np.unique(rows_of_columns(elements), axis=0))
    assert receipt.held_count <= most


def rows_of_columns(elements: pa.Table) -> np.ndarray:  # type: ignore[type-arg]
    return np.column_stack([elements["feed"].to_numpy(), elements["seq"].to_numpy()])


def test_a_task_that_is_repeated_writes_the_same_runs(wide: DataDirectory) -> None:
    assignment = Assignment(0, 1, 1, attempt="5eed")
    first = by_worker(wide, assignment)
    written = {name: (wide.root / "elements" / name).read_bytes() for name in first.element_files}
    assert len(written) > 10
    assert by_worker(wide, assignment).element_files == first.element_files
    assert {name: (wide.root / "elements" / name).read_bytes() for name in written} == written


def published_in_runs(directory: Path, batches: list[list[Shown]], pairs_at_once: int) -> Feeds:
    with open_weir(directory, STATEMENTS) as weir:
        weir.refresh_set()
        runner = LocalRunner(weir.directory, weir.commit, tasks=2, pairs_at_once=pairs_at_once)
        for documents in batches:
            land(weir, documents)
            runner.run_available()
        compact(weir.store)
        return published(weir)


@settings(max_examples=8, deadline=None)
@given(histories, st.integers(1, 4))
def test_what_is_published_does_not_depend_on_how_many_pairs_a_task_may_hold(
    history: list[Shown], pairs_at_once: int
) -> None:
    batches = [list(some) for some in cut(history * 3, max(1, 3 * len(history) // (FAN_IN + 2)))]
    with TemporaryDirectory() as first, TemporaryDirectory() as second:
        assert published_in_runs(Path(first), batches, pairs_at_once) == in_process(
            Path(second), STATEMENTS, batches
        )
