"""The open tables while batches and compactions run and processes are killed: the same rows by every reader.

A process pushes documents, runs batches, lets the tables follow and merges, and is killed again and again at a random
moment. Meanwhile the newest version of each table is read by DuckDB and Polars and compared with what the engine has of
those batches; at the end Spark reads, too.
"""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
from deltalake import DeltaTable

from benchmarks._streams import documents_of, generated_stories, vocabulary
from feedweir.logs.store import Store
from feedweir.pipeline.local_runner import LocalRunner
from feedweir.service.installation import Weir
from feedweir.tables.delta_table import APP, FollowingTable
from feedweir.tables.snapshots import bounds
from feedweir.tables.table_kinds import ELEMENTS, ITEMS, TableKind

STATEMENTS = "".join(
    f"create feed F{number} from * where title contains '{word}';"
    for number, word in enumerate(vocabulary(16))
)
ITEMS_OF_A_BATCH = 500
KINDS = (ITEMS, ELEMENTS)


def figures(kills: int = 6, batches: int = 60) -> dict[str, object]:
    """The keys of `cluster` that speak of tables."""
    chance = random.Random(5)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as scratch:
        root = Path(scratch) / "house"
        checks, differences = 0, 0
        for end in [*sorted(chance.sample(range(3, batches), kills)), batches]:
            process = subprocess.Popen([sys.executable, "-m", __name__, str(root), str(batches)])
            for _ in _published(root, end, process):
                checks += 1
                differences += _differences(root)
            if end < batches:
                time.sleep(chance.random() / 4)
                process.send_signal(signal.SIGKILL)
            process.wait()
        with Weir.open(root) as weir:
            weir.tidy()
        differences += _differences(root) + _differences_by_spark(root)
        took = np.loadtxt(root / "commits.txt")
        return {
            "tables_agree": differences == 0,
            "tables_checks": checks + 2,
            "tables_kills": kills,
            "tables_rows": sum(_by_engine(kind, root, 1 << 30).num_rows for kind in KINDS),
            "commit_p50_ms": round(float(np.percentile(took[:, 0], 50)), 1),
            "commit_p95_ms": round(float(np.percentile(took[:, 0], 95)), 1),
            "commit_cpu_p95_ms": round(float(np.percentile(took[:, 1], 95)), 1),
            "commits": len(took),
        }


def _published(root: Path, end: int, process: subprocess.Popen[bytes]) -> Iterator[int]:
    """Each time when something was published, until that batch was or the process has ended."""
    seen = 0
    while seen < end and process.poll() is None:
        latest = Store(root).latest()
        if latest == seen:
            time.sleep(0.05)
            continue
        seen = latest
        yield seen


def _differences(root: Path) -> int:
    """How many tables have other rows by a reader than by the engine."""
    found = 0
    for kind in KINDS:
        place = kind.place(root)
        if not (place / "_delta_log").is_dir():
            continue
        table = DeltaTable(place)
        wanted = _by_engine(kind, root, table.transaction_version(APP) or 0)
        with duckdb.connect() as connection:
            connection.register("t", table.to_pyarrow_dataset())
            by_duckdb = connection.sql("select * from t").to_arrow_table()
        by_polars = pl.scan_delta(str(place), version=table.version()).collect().to_arrow()
        for reader, rows in (("DuckDB", by_duckdb), ("Polars", by_polars)):
            if _digest(rows, kind) != _digest(wanted, kind):
                print(
                    f"{kind.name} by {reader}: {rows.num_rows} rows, the engine has {wanted.num_rows}",
                    flush=True,
                )
                found += 1
    return found


def _by_engine(kind: TableKind, root: Path, upto: int) -> pa.Table:
    store = Store(root)
    manifests = store.manifests()
    rows = store.item_table(manifests) if kind is ITEMS else store.element_table(manifests)
    return rows.filter(pc.less(rows["seq"], bounds(kind, 0, upto)[1]))


def _digest(rows: pa.Table, kind: TableKind) -> tuple[object, ...]:
    """The same for the same rows, in any order."""
    names = ["feed", "seq"] if kind is ELEMENTS else ["seq", "fingerprint", "title", "source", "identity"]
    ordered = rows.select(names).sort_by([(name, "ascending") for name in names])
    return tuple(tuple(ordered[name].to_pylist()) for name in names)


def _differences_by_spark(root: Path) -> int:
    from feedweir.spark.session import close_session, open_session

    session = open_session("local[2]", root / "scratch")
    try:
        found = 0
        for kind in KINDS:
            frame = session.read.format("feedweir").option("table", kind.name).load(str(root))
            wanted = _by_engine(kind, root, 1 << 30)
            columns = (
                ["feed", "seq"] if kind is ELEMENTS else ["seq", "fingerprint", "title", "source", "identity"]
            )
            rows = pa.Table.from_pylist([row.asDict() for row in frame.select(*columns).collect()])
            if _digest(rows, kind) != _digest(wanted, kind):
                print(
                    f"{kind.name} by Spark: {rows.num_rows} rows, the engine has {wanted.num_rows}",
                    flush=True,
                )
                found += 1
        return found
    finally:
        close_session(session)


def write(root: Path, batches: int) -> None:
    """Run batches from where the last process stopped; how long each commit of a table took is written down."""
    stories = list(generated_stories(ITEMS_OF_A_BATCH * batches))
    root.mkdir(parents=True, exist_ok=True)
    log = (root / "commits.txt").open("a")
    commit = FollowingTable._commit

    def timed(self: FollowingTable, *given: object) -> None:
        begun, cpu = time.perf_counter(), time.process_time()
        commit(self, *given)  # type: ignore[arg-type]
        print(1e3 * (time.perf_counter() - begun), 1e3 * (time.process_time() - cpu), file=log, flush=True)

    FollowingTable._commit = timed  # type: ignore[method-assign]
    with Weir.open(root) as weir:
        if not weir.catalog.feeds.count():
            weir.execute(STATEMENTS)
        weir.refresh_set()
        with weir.in_charge():
            runner = LocalRunner(weir.directory, weir.commit, max_segments=1, charge=weir.charge)
            weir.follow_tables()
            for number in range(weir.store.latest(), batches):
                if weir.log.latest() <= number:
                    some = stories[ITEMS_OF_A_BATCH * number : ITEMS_OF_A_BATCH * (number + 1)]
                    weir.log.append(documents_of(some, weir.clock()))
                runner.run_batch()
                weir.follow_tables()
                if number % 8 == 7:
                    weir.tidy()


if __name__ == "__main__":
    write(Path(sys.argv[1]), int(sys.argv[2]))
