"""Items pushed through landing → published, on Spark and in one process, with thousands of keyword feeds."""

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
from feedweir.acquire.landing import LandingLog
from feedweir.engine.batches import Manifest
from feedweir.engine.directory import DataDirectory
from feedweir.engine.runner import Runner
from feedweir.engine.sets import change_set, install_set
from feedweir.engine.store import Store
from feedweir.match import KeywordQueries, merge, write_version
from feedweir.plan.predicates import Contains, Term
from feedweir.plan.query import Query

BATCH_ITEMS = 10_000
STEADY_ITEMS_PER_S = 500
TICK_S = 0.25
CHANGES_PER_S = 1_000
MERGED_FROM = 0.1
"""The share of a set that has changed when it is merged."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--items", type=Path, help="a Parquet file of news instead of the generator")
    parser.add_argument("--feeds", type=int, default=10_000, help="how many keyword feeds (default: 10000)")
    parser.add_argument("--batches", type=int, default=12, help="batches of 10,000 items (default: 12)")
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
        engine_rate, cpu_rate = _in_process(alone)
        updates = _while_changing(changing, queries, cpu_rate)
        figures = _on_spark(wide, options.cores, batches, steady)
        _land(alone, steady)
        Runner(alone, _ignore, max_segments=1_000).run_available()
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


def _in_process(directory: DataDirectory) -> tuple[float, float]:
    """Items a second on one core, by the clock and by the time of the CPU; the first batch loads the kernels and does
    not count."""
    runner = Runner(directory, _ignore, max_segments=1)
    runner.run_batch()
    begun, cpu = time.perf_counter(), time.process_time()
    items = 0
    while manifest := runner.run_batch():
        items += manifest.item_count
    return items / (time.perf_counter() - begun), items / (time.process_time() - cpu)


def _while_changing(directory: DataDirectory, queries: KeywordQueries, rate: float) -> dict[str, object]:
    """What is left of a rate when so many feeds change a second, with all work for it on the same core.

    What changed in a second, half of it new and half of it removed, is in force for the next batch. The merge of
    everything is done once and counts by the share of it that is due.
    """
    random = np.random.default_rng(3)
    runner = Runner(directory, _ignore, max_segments=1)
    runner.run_batch()
    items, spent, version, changed_at = 0, 0.0, 1, 0.0
    while True:
        begun = time.process_time()
        manifest = runner.run_batch()
        spent += time.process_time() - begun
        if manifest is None:
            break
        items += manifest.item_count
        if spent - changed_at < 1.0:
            continue
        count = round(CHANGES_PER_S * (spent - changed_at) / 2)
        changed_at = spent
        added = _drawn(queries, random.integers(0, len(queries.keys), count), first=10**9 + version * 10**6)
        removed = random.integers(1, len(queries.keys) + 1, count).tolist()
        begun = time.process_time()
        change_set(directory.sets, version, version + 1, added, removed)
        spent += time.process_time() - begun
        version += 1
    share = items / spent / rate
    begun = time.process_time()
    merge(directory.sets)
    merge_share = (
        (time.process_time() - begun) * CHANGES_PER_S / (MERGED_FROM * max(len(queries.keys), 50_000))
    )
    return {
        "update_dip": round(1 - share * (1 - merge_share), 3),
        "update_merge_share": round(merge_share, 4),
    }


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

    query = start_pipeline(session, directory, commit, tasks=cores, max_batch_bytes=1)
    try:
        wait_for(batches)
        (begun, _), *rest = (published[segment] for segment in sorted(published))
        rate = sum(items for _, items in rest) / (rest[-1][0] - begun)
    finally:
        query.stop()
    query = start_pipeline(session, directory, commit, tasks=cores)
    try:
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
