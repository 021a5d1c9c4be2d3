"""The stream experiment through the whole pipeline: items landed as feeds, joins as feeds, on Spark or in one process.

Equal queries are one join, and equal joins one feed here: what a hundred thousand subscriptions to them receive is
published once. Each batch is parsed, matched, its tree patterns witnessed, joined with all of history, and published.
"""

from __future__ import annotations

import tempfile
import threading
import time
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from xml.sax.saxutils import escape

import numpy as np

from feedweir.join.streams import JoinFeed
from feedweir.logs.batches import Manifest
from feedweir.logs.directory import DataDirectory
from feedweir.logs.landing import Landed, LandingLog
from feedweir.logs.store import Store
from feedweir.pipeline.local_runner import LocalRunner
from feedweir.pipeline.sets import install_set
from feedweir.plan.nodes import Block, PatternJoin, Source
from feedweir.plan.predicates import PatternNode, TreePattern

SOURCES = 8
_START = datetime(2026, 1, 1, tzinfo=UTC)

Columns = dict[str, list[str]]


def feeds_of(joins: Iterable[PatternJoin]) -> list[JoinFeed]:
    """A feed for each distinct join, over all sources; variables are called after what they bind."""
    distinct = dict.fromkeys(_canonical(join) for join in joins)
    return [JoinFeed(number, join) for number, join in enumerate(distinct, 1)]


def _canonical(join: PatternJoin) -> PatternJoin:
    assert isinstance(join.left, Block)
    left, left_names = _block(join.left, "a")
    right, right_names = _block(join.right, "b")
    pairs = sorted((left_names[one], right_names[other]) for one, other in join.equalities)
    return replace(join, left=left, right=right, equalities=tuple(pairs))


def _block(block: Block, mark: str) -> tuple[Block, dict[str, str]]:
    leaves = sorted(block.pattern.root.children, key=lambda node: node.name)
    names = {leaf.variable: f"{mark}_{leaf.name}" for leaf in leaves}
    children = tuple(replace(leaf, variable=names[leaf.variable]) for leaf in leaves)
    root = PatternNode("/", "item", children, f"{mark}_item")
    return Block(Source("*"), TreePattern(root)), names


def land(directory: DataDirectory, columns: Columns, times: Sequence[int], size: int) -> None:
    """Items in segments of `size`, spread over a few sources, each document of at most a thousand."""
    log = LandingLog(directory.landing)
    count = len(times)
    for start in range(0, count, size):
        rows = range(start, min(start + size, count))
        shares = [rows[source::SOURCES] for source in range(SOURCES)]
        documents = [
            Landed(
                source=f"S{source}", arrived=_START, body=_body(columns, times, share[first : first + 1000])
            )
            for source, share in enumerate(shares)
            for first in range(0, len(share), 1000)
        ]
        log.append(documents)


def _body(columns: Columns, times: Sequence[int], rows: Sequence[int]) -> bytes:
    items = "".join(_item(columns, times, row) for row in reversed(rows))
    return f"<rss version='2.0'><channel><title>t</title>{items}</channel></rss>".encode()


def _item(columns: Columns, times: Sequence[int], row: int) -> str:
    leaves = "".join(f"<{name}>{escape(column[row])}</{name}>" for name, column in columns.items())
    date = format_datetime(_START - timedelta(days=365) + timedelta(microseconds=times[row] % (10**13)))
    return f"<item><guid>{row}</guid><pubDate>{date}</pubDate>{leaves}</item>"


def measured(
    joins: Iterable[PatternJoin], columns: Columns, times: Sequence[int], *, size: int, cores: int
) -> dict[str, object]:
    """Items a second through Spark and in one process, the same results, and what the state takes on disk."""
    feeds = feeds_of(joins)
    with tempfile.TemporaryDirectory() as scratch:
        directories = [DataDirectory(Path(scratch) / name) for name in ("spark", "alone")]
        for directory in directories:
            install_set(directory.sets, 1, [], feeds)
            land(directory, columns, times, size)
        batches = -(-len(times) // size)
        spark = _on_spark(directories[0], cores, batches)
        alone = _in_process(directories[1])
        state = sum(path.stat().st_size for path in directories[0].joins.rglob("*") if path.is_file())
        stores = [Store(directory.root) for directory in directories]
        rows = [store.joined.made_table(store.manifests()) for store in stores]
        return {
            "joins": len(feeds),
            "items_per_s": round(spark),
            "in_process_items_per_s": round(alone),
            "documents_made": rows[0].num_rows,
            "state_bytes_per_item": round(state / len(times), 1),
            "agree": bool(rows[0].equals(rows[1])),
        }


def _in_process(directory: DataDirectory) -> float:
    """The first batch loads the kernels and does not count."""
    runner = LocalRunner(directory, lambda manifest: None, max_segments=1)
    runner.run_batch()
    begun, items = time.perf_counter(), 0
    while manifest := runner.run_batch():
        items += manifest.item_count
    return items / (time.perf_counter() - begun)


def _on_spark(directory: DataDirectory, cores: int, batches: int) -> float:
    from feedweir.spark.pipeline import start_pipeline
    from feedweir.spark.session import open_session

    session = open_session(f"local[{cores}]", directory.scratch)
    published: dict[int, tuple[float, int]] = {}
    arrived = threading.Condition()

    def commit(manifest: Manifest) -> None:
        with arrived:
            published[manifest.upto] = (time.time(), manifest.item_count)
            arrived.notify_all()

    query = start_pipeline(session, directory, commit, tasks=cores, max_batch_bytes=1)
    try:
        with arrived:
            arrived.wait_for(lambda: len(published) >= batches, timeout=900)
    finally:
        query.stop()
        session.stop()
    # Every Python worker has loaded the kernels and the set once two batches are through.
    order = sorted(published)
    ends = np.array([published[segment][0] for segment in order])
    items = np.array([published[segment][1] for segment in order])
    return float(items[2:].sum() / (ends[-1] - ends[1]))
