"""Items pushed through landing → published, on Spark and in one process, with thousands of keyword feeds.

What waits is taken 40,000 items at a time (an installation takes 16 MB by default, which is more); delays are those of
a steady stream.
"""

from __future__ import annotations

import argparse
import os
import shutil
import tempfile
import threading
import time
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from benchmarks._streams import documents_of, generated_stories, keyword_queries, stories_of
from feedweir.logs.batches import Manifest
from feedweir.logs.directory import DataDirectory
from feedweir.logs.landing import LandingLog
from feedweir.logs.store import Store
from feedweir.match import KeywordQueries, apply_changes, prepare_merge, write_version
from feedweir.pipeline.local_runner import LocalRunner
from feedweir.pipeline.sets import change_set, install_set
from feedweir.plan.predicates import Contains, Term
from feedweir.plan.query import Query

BATCH_ITEMS = 10_000
SEGMENTS_AT_ONCE = 4
STEADY_ITEMS_PER_S = 500
TICK_S = 0.25
CHANGES_PER_S = 1_000
MERGED_FROM = 0.1
"""The share of a set that has changed when it is merged."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--items", type=Path, help="a Parquet file of news instead of the generator")
    parser.add_argument("--feeds", type=int, default=10_000, help="how many keyword feeds (default: 10000)")
    parser.add_argument("--batches", type=int, default=16, help="batches of 10,000 items (default: 16)")
    parser.add_argument("--steady-s", type=float, default=20, help="seconds of 500 items/s (default: 20)")
    parser.add_argument("--cores", type=int, default=2)


def run(options: argparse.Namespace) -> dict[str, object]:
    after = int(STEADY_ITEMS_PER_S * options.steady_s)
    wanted = BATCH_ITEMS * (30 if options.full else options.batches) + after
    source = stories_of(options.items) if options.items else generated_stories(wanted)
    stories = [story for story, _ in zip(source, range(wanted), strict=False)]
    batches = (len(stories) - after) // BATCH_ITEMS
    bulk, steady = stories[: BATCH_ITEMS * batches], stories[BATCH_ITEMS * batches :]
    queries = keyword_queries(stories, options.feeds)
    with tempfile.TemporaryDirectory() as scratch:
        alone = DataDirectory(Path(scratch) / "engine")
        wide = DataDirectory(Path(scratch) / "spark")
        build_s = _compile(alone, queries)
        shutil.copytree(alone.sets, wide.sets, copy_function=os.link)
        for directory in (alone, wide):
            for first in range(0, len(bulk), BATCH_ITEMS):
                _land(directory, bulk[first : first + BATCH_ITEMS])
        changing = DataDirectory(Path(scratch) / "changing")
        for name in ("sets", "landing"):
            shutil.copytree(getattr(alone, name), getattr(changing, name), copy_function=os.link)
        engine_rate, updates = _in_process(alone, changing, queries)
        figures = _on_spark(wide, options.cores, batches, steady)
        _land(alone, steady)
        LocalRunner(alone, _ignore, max_segments=1_000).run_available()
        return {
            "items": len(stories),
            "feeds": len(queries.keys),
            **figures,
            "engine_items_per_s": round(engine_rate),
            "spark_to_engine_per_core": round(figures["items_per_s"] / options.cores / engine_rate, 3),
            "build_s": round(build_s, 2),
            **updates,
            **_compared(Store(alone.root), Store(wide.root), len(stories)),
        }


def _compile(directory: DataDirectory, queries: KeywordQueries) -> float:
    """Put queries in force, as columns: a million of them as objects would take longer than all the rest."""
    install_set(directory.sets, 1, ())
    begun = time.perf_counter()
    write_version(directory.sets, 1, queries)
    return time.perf_counter() - begun


def _land(directory: DataDirectory, stories: list) -> None:
    LandingLog(directory.landing).append(documents_of(stories, datetime.now(UTC)))


def _ignore(manifest: Manifest) -> None:
    """The catalog is not what is measured here."""


def _in_process(
    still: DataDirectory, changing: DataDirectory, queries: KeywordQueries
) -> tuple[float, dict[str, object]]:
    """Items a second on one core; and what is lost of it when so many feeds change a second.

    A batch with a set that stays is followed by the same one with a set that changes, so that whatever else the machine
    does meets both. The first loads the kernels and does not count.
    """
    runners = [LocalRunner(directory, _ignore, max_segments=1) for directory in (still, changing)]
    changes = _Changes(changing, queries)
    changes.begin()
    for runner in runners:
        runner.run_batch()
    items, clock_s, still_s, changing_s = 0, 0.0, 0.0, 0.0
    while True:
        begun, cpu = time.perf_counter(), time.process_time()
        manifest = runners[0].run_batch()
        if manifest is None:
            break
        items += manifest.item_count
        clock_s += time.perf_counter() - begun
        still_s += time.process_time() - cpu
        cpu = time.process_time()
        runners[1].run_batch()
        changing_s += time.process_time() - cpu
        changing_s += changes.of(changing_s)
    share = still_s / changing_s * (1 - changes.merge_share())
    return items / clock_s, {"update_dip": round(1 - share, 3)}


class _Changes:
    """Changes of a set, half of them new queries and half removed ones, each second's in force for the next batch."""

    def __init__(self, directory: DataDirectory, queries: KeywordQueries) -> None:
        self._sets = directory.sets
        self._queries = queries
        self._random = np.random.default_rng(3)
        self._version = 1
        self._done_s = 0.0
        self._cycle = MERGED_FROM * max(len(queries.keys), 50_000)

    def begin(self) -> None:
        """As many as there are in the middle between two merges."""
        for _ in range(int(self._cycle / CHANGES_PER_S / 2)):
            self._change(CHANGES_PER_S)

    def of(self, elapsed_s: float) -> float:
        """Make what has become due by then, when it is a second's; what it took."""
        count = round(CHANGES_PER_S * (elapsed_s - self._done_s))
        if count < CHANGES_PER_S:
            return 0.0
        self._done_s = elapsed_s
        return self._change(count)

    def merge_share(self) -> float:
        """How much of a core is busy with merging."""
        begun = time.process_time()
        apply_changes(self._sets, prepared=prepare_merge(self._sets))
        return (time.process_time() - begun) * CHANGES_PER_S / self._cycle

    def _change(self, count: int) -> float:
        size = len(self._queries.keys)
        first = 10**9 + self._version * 10**6
        added = _drawn(self._queries, self._random.integers(0, size, count // 2), first)
        removed = self._random.integers(1, size + 1, count // 2).tolist()
        begun = time.process_time()
        change_set(self._sets, self._version, self._version + 1, added, removed)
        self._version += 1
        return time.process_time() - begun


def _drawn(queries: KeywordQueries, rows: np.ndarray, first: int) -> list[Query]:
    """Queries like some of those that are there, under new keys."""
    return [
        Query(key, (), Contains(None, tuple(map(Term, words)), len(words)))
        for key, words in enumerate(queries.terms.take(pa.array(rows)).to_pylist(), start=first)
    ]


def _on_spark(directory: DataDirectory, cores: int, batches: int, steady: list) -> dict[str, float]:
    from feedweir.spark.pipeline import start_pipeline
    from feedweir.spark.session import open_session

    session = open_session(f"local[{cores}]", directory.scratch)
    published: dict[int, tuple[float, int]] = {}
    arrived = threading.Condition()

    def commit(manifest: Manifest) -> None:
        with arrived:
            published[manifest.upto] = (time.time(), manifest.item_count)
            arrived.notify_all()

    def wait_for(segment: int) -> None:
        with arrived:
            arrived.wait_for(lambda: max(published, default=0) >= segment, timeout=600)

    at_once = SEGMENTS_AT_ONCE * max(path.stat().st_size for path in directory.landing.glob("*.parquet"))
    query = start_pipeline(session, directory, commit, tasks=cores, max_batch_bytes=at_once)
    try:
        wait_for(batches)
        (begun, _), *rest = (published[segment] for segment in sorted(published))
        rate = sum(items for _, items in rest) / (rest[-1][0] - begun)
        delays = _steady_delays(directory, steady, published, wait_for)
    finally:
        query.stop()
        session.stop()
    return {
        "items_per_s": round(rate),
        "p50_ms": round(1000 * float(np.percentile(delays, 50))),
        "p95_ms": round(1000 * float(np.percentile(delays, 95))),
    }


def _steady_delays(directory: DataDirectory, steady: list, published: dict, wait_for) -> list[float]:  # type: ignore[no-untyped-def]
    """Land a little every quarter second; how long each segment took to be published."""
    log = LandingLog(directory.landing)
    landed: dict[int, float] = {}
    size = int(STEADY_ITEMS_PER_S * TICK_S)
    begun = time.time()
    for tick, first in enumerate(range(0, len(steady), size)):
        time.sleep(max(0.0, begun + tick * TICK_S - time.time()))
        segment = log.append(documents_of(steady[first : first + size], datetime.now(UTC)))
        landed[segment] = time.time()
    wait_for(max(landed))
    ends = sorted(published)
    # The first seconds wake the query up; they are the restart's delay, not the stream's.
    counted = sorted(landed)[int(2 / TICK_S) :]
    return [published[min(end for end in ends if end >= segment)][0] - landed[segment] for segment in counted]


def _compared(alone: Store, wide: Store, stories: int) -> dict[str, object]:
    """What Spark published against what one process did, and against what was sent."""
    mine, theirs = _names(alone), _names(wide)
    names = np.unique(np.concatenate([mine, theirs]))
    expected, found = (
        _pairs(alone, np.searchsorted(names, mine)),
        _pairs(wide, np.searchsorted(names, theirs)),
    )
    distinct = len(np.unique(theirs))
    return {
        "hits_per_item": round(len(expected) / stories, 2),
        "lost": stories - distinct + len(np.setdiff1d(expected, found)),
        "doubled": len(theirs) - distinct + len(found) - len(np.unique(found)),
    }


def _names(store: Store) -> np.ndarray:
    """Of every item its source and identity, in stream order."""
    items = store.item_table(store.manifests())
    return pc.binary_join_element_wise(items["source"], items["identity"], "\n").to_numpy()


def _pairs(store: Store, stories: np.ndarray) -> np.ndarray:
    """Elements as numbers of feed and story, which do not depend on how documents were cut into segments."""
    manifests = store.manifests()
    seqs, elements = store.item_table(manifests)["seq"].to_numpy(), store.element_table(manifests)
    places = np.searchsorted(seqs, elements["seq"].to_numpy())
    return (elements["feed"].to_numpy() << 32) + stories[places]
