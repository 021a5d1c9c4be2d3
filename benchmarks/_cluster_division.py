"""A batch in 1, 16 and 64 tasks: what dividing it costs, how evenly the work lies, and how much of it the driver does.

The tasks of a batch are run one after another in this process, each timed by the processor time that it and its parser
take, so that neither the number of cores nor what else the machine does decides: `speedup_bound_N` is all that N tasks
spend over what the slowest of each round spends, `driver_share` what is spent between the rounds. Nine items of ten are
in one source.
"""

from __future__ import annotations

import argparse
import gc
import os
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks._streams import Story, documents_of, generated_stories, keyword_queries, stories_of
from feedweir.acquire.parse.document_budget import DEFAULT_ALLOWANCE
from feedweir.acquire.parse.parse_process import parse_process
from feedweir.logs.batches import Manifest, SourceReport
from feedweir.logs.directory import DataDirectory
from feedweir.logs.landing import LandingLog, Piece
from feedweir.logs.store import Store
from feedweir.match import write_version
from feedweir.pipeline.batch_publisher import BatchPublisher
from feedweir.pipeline.batch_run import BatchRun, Division
from feedweir.pipeline.sets import install_set
from feedweir.pipeline.worker import Worker

ITEMS = 40_000
FEEDS = 10_000
HOT_SHARE = 0.9


def figures(options: argparse.Namespace) -> dict[str, object]:
    source = stories_of(options.items) if options.items else generated_stories(2 * ITEMS)
    stories = [story for story, _ in zip(source, range(2 * ITEMS), strict=False)]
    warming, measured = stories[: len(stories) // 2], stories[len(stories) // 2 :]
    if not options.items:
        measured = [_moved(story, place) for place, story in enumerate(measured)]
    queries = keyword_queries(stories, FEEDS)
    found: dict[int, Timed] = {}
    for tasks in (1, 16, 64):
        with tempfile.TemporaryDirectory() as scratch:
            directory = DataDirectory(Path(scratch))
            install_set(directory.sets, 1, ())
            write_version(directory.sets, 1, queries)
            timed = Timed(directory)
            timed.run(warming, tasks)
            timed.run(measured, tasks)
            found[tasks] = timed
    one, some, many = (found[tasks] for tasks in (1, 16, 64))
    sources = sources_through_driver(100_000)
    return {
        "divided_items": len(measured),
        "items_per_cpu_s": round(len(measured) / one.total_s),
        "cpu_ratio_16": round(some.total_s / one.total_s, 3),
        "cpu_ratio_64": round(many.total_s / one.total_s, 3),
        "bytes_read_ratio": round(some.bytes_read / some.bytes_landed, 3),
        "skew_64": round(64 * many.longest_s / many.tasks_s, 2),
        "speedup_bound_16": round(some.tasks_s / some.longest_s, 1),
        "speedup_bound_64": round(many.tasks_s / many.longest_s, 1),
        "driver_share": round(some.driver_s / some.total_s, 3),
        "agree": one.published == some.published == many.published,
        **sources,
    }


class Timed:
    """Runs batches of one data directory task by task, and adds up what the last of them took."""

    def __init__(self, directory: DataDirectory) -> None:
        self._landing = LandingLog(directory.landing)
        self._store = Store(directory.root)
        self._parser = parse_process(DEFAULT_ALLOWANCE)
        self._worker = Worker(directory, self._parser)
        self._batches = BatchRun(
            directory, BatchPublisher(directory), self._round, lambda _: self._landing.latest()
        )
        self._clear()

    def _clear(self) -> None:
        self.rounds: list[list[float]] = []
        self.bytes_read = self.bytes_landed = 0
        self.total_s = 0.0
        self.published: tuple[int, int, int] = (0, 0, 0)

    @property
    def tasks_s(self) -> float:
        """Of the processor, in all tasks."""
        return sum(map(sum, self.rounds))

    @property
    def longest_s(self) -> float:
        """What the slowest task of each round takes."""
        return sum(map(max, self.rounds))

    @property
    def driver_s(self) -> float:
        return self.total_s - self.tasks_s

    def run(self, stories: Sequence[Story], tasks: int) -> None:
        """Land stories in one segment and run their batch."""
        self._clear()
        before = self._landing.latest()
        self._landing.append(documents_of(list(stories), datetime.now(UTC)))
        self.bytes_landed = self._landing.bytes_in(before, self._landing.latest())
        self._sizes = dict(self._landing.pieces_of(before, self._landing.latest(), 0))
        gc.collect()
        gc.freeze()  # as workers do; what the benchmark holds itself is not theirs to look through
        begun = _cpu_s()
        manifest = self._batches.run_next(Division(tasks, least_bytes=1))
        self.total_s = _cpu_s() - begun
        assert manifest
        elements = self._store.element_table([manifest])
        digest = int(
            np.bitwise_xor.reduce(elements["seq"].to_numpy() * 31 + elements["feed"].to_numpy(), initial=0)
        )
        self.published = manifest.item_count, elements.num_rows, digest

    def _round(self, tasks: Sequence[Any]) -> list[Any]:
        handed_back, spent = [], []
        for task in tasks:
            begun = _cpu_s()
            handed_back.append(self._worker.run(task))
            spent.append(_cpu_s() - begun)
            self.bytes_read += sum(map(self._size_of, getattr(task, "pieces", ())))
        if spent:
            self.rounds.append(spent)
        return handed_back

    def _size_of(self, piece: Piece) -> int:
        if piece.is_whole:
            return self.bytes_landed
        return sum(
            self._sizes[replace(piece, first=place, end=place + 1)] for place in range(piece.first, piece.end)
        )


def sources_through_driver(count: int, tasks: int = 16) -> dict[str, float]:
    """What the driver spends on what tasks wrote of so many sources, until their batch is published and committed,
    and how large the manifest is. What the fetcher then learns of each source is not in it."""
    names = [f"source {number:06d}" for number in range(count)]
    report = SourceReport(2, 20, 3, 0, arrived="2026-01-01T00:00:00+00:00", published=[1, 2, 3])
    with tempfile.TemporaryDirectory() as scratch:
        store = Store(Path(scratch))
        files = tuple(f"000000000001-parsed-{task:03d}-0000000a.parquet" for task in range(tasks))
        for task, name in enumerate(files):
            store.write_reports(name, dict.fromkeys(names[task::tasks], report))
        begun = time.process_time()
        manifest = store.publish(Manifest(0, 1, 1, (), (), 0, 0, source_files=files))
        store.published(1)
        told = store.reports(manifest)
        asked = told.failures(), told.newcomers(), told.having_news()
        spent_ms = 1000 * (time.process_time() - begun)
        assert len(asked[2]) == count
        size = next((Path(scratch) / "batches").glob("0*.json")).stat().st_size
    return {"driver_ms_100k_sources": round(spent_ms), "manifest_bytes_100k_sources": size}


def _moved(story: Story, place: int) -> Story:
    """Nine items of ten to one source."""
    return replace(story, source="hot") if place % 10 < 10 * HOT_SHARE else story


def _cpu_s() -> float:
    """The processor time of this process and of those that it has started."""
    return time.process_time() + sum(map(_spent_s, _children()))


def _children() -> list[int]:
    listed = Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children").read_text().split()
    return list(map(int, listed))


def _spent_s(pid: int) -> float:
    try:
        return int(Path(f"/proc/{pid}/schedstat").read_text().split()[0]) / 1e9
    except OSError:
        return 0.0
