"""Items that go to very many subscriptions: what committing a batch of them holds in memory, and how fast it goes.

Each setting is a process of its own, so that its peak is its own. `growth` is by how many MB the peak rises while the
deliveries of a batch are written; with ten times as many deliveries it should stay as it is.
"""

from __future__ import annotations

import argparse
import multiprocessing
import resource
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from feedweir.catalog import Catalog, tables
from feedweir.catalog.rows import insert_all
from feedweir.logs.batches import Manifest
from feedweir.pipeline.commit import commit_batch
from feedweir.pipeline.local_runner import LocalRunner
from feedweir.service.installation import Weir

NOON = datetime(2026, 6, 1, 12, tzinfo=UTC)
_SUBSCRIPTIONS, _ITEMS = 20_000, (5, 50)
_FULL_SUBSCRIPTIONS = 200_000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--subscriptions", type=int, help=f"to one feed [default: {_SUBSCRIPTIONS:,}]")
    parser.add_argument(
        "--items", type=int, nargs="+", default=list(_ITEMS), help="in a batch, of each setting"
    )


def run(options: argparse.Namespace) -> dict[str, object]:
    count = options.subscriptions or (_FULL_SUBSCRIPTIONS if options.full else _SUBSCRIPTIONS)
    with multiprocessing.get_context("spawn").Pool(1, maxtasksperchild=1) as pool:
        found = pool.starmap(_setting, [(count, items) for items in options.items], chunksize=1)
    return {"subscriptions": count, "settings": found, "complete": all(one["complete"] for one in found)}


def _setting(subscriptions: int, items: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as directory, Weir.open(directory, clock=lambda: NOON) as weir:
        weir.execute("register feed http://example.org/ as News")
        _subscribe(weir.catalog, weir.catalog.feeds.named("News").id, subscriptions)
        weir.push("News", _document(items))
        weir.refresh_set()
        manifests: list[Manifest] = []
        LocalRunner(weir.directory, manifests.append).run_available()
        before, begun = _peak_mb(), time.process_time()
        commit_batch(weir.catalog, weir.store, manifests[-1], NOON)
        seconds, growth = time.process_time() - begun, _peak_mb() - before
        written = sum(weir.catalog.outbox.counts().values())
        size = sum(path.stat().st_size for path in Path(directory).glob("catalog*"))
    return {
        "items": items,
        "deliveries": written,
        "complete": written == items * subscriptions,
        "growth_mb": round(growth, 1),
        "deliveries_per_cpu_s": round(written / seconds),
        "catalog_mb": round(size / 1e6, 1),
    }


def _subscribe(catalog: Catalog, feed: int, count: int) -> None:
    """In bulk: statements would take longer than what is measured."""
    common = {"feed_id": feed, "statement": "", "channel": "webhook", "schedule": {}, "options": {}}
    rest = {"status": "active", "owner": "", "created_at": NOON, "version": 1}
    rows = ({"id": n, "target": f"http://example.org/{n}", **common, **rest} for n in range(1, count + 1))
    rhythm = {"next_due_at": None, "last_sent_at": None, "state": {}, "channel": "webhook", "hears": 1}
    catalog.database.write(lambda connection: insert_all(connection, tables.subscription, rows))
    rhythms = ({"subscription_id": number, **rhythm} for number in range(1, count + 1))
    catalog.database.write(lambda connection: insert_all(connection, tables.rhythm, rhythms))


def _document(items: int) -> bytes:
    told = "".join(f"<item><guid>{n}</guid><title>flood {n}</title></item>" for n in range(items))
    return f"<rss version='2.0'><channel><title>News</title>{told}</channel></rss>".encode()


def _peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
