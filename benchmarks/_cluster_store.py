"""An installation whose data is in a store of objects: `feedweir run` on Spark, killed and started again.

The store is an S3 server in a process of its own, the catalog is in PostgreSQL. Every document whose landing was
confirmed must be published once, and every item of it must be in the feed that wants it once.
"""

from __future__ import annotations

import random
import tempfile
import time
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
from tests.object_servers import ObjectServer, running_moto
from tests.postgres import running_server

from benchmarks._running import Installation, waited
from feedweir.catalog import open_catalog
from feedweir.logs.store import Store
from feedweir.storage import place_of

STATEMENTS = """
register feed 'http://example.org/a' as A;
register feed 'http://example.org/b' as B;
create feed Storms from A | B where title contains 'storm';
"""
ITEMS_OF_A_DOCUMENT = 50
_LIMIT_S = 240.0


class InStore(Installation):
    """An installation with its data in a store; its log is on the disk."""

    def __init__(self, scratch: Path, server: ObjectServer, catalog: str) -> None:
        super().__init__(
            scratch / "house",
            storage=";".join(f"{name}={value}" for name, value in server.options.items()),
            cache=scratch / "cache",
            catalog=catalog,
            master="local[2]",
            fetch="false",
            send="false",
        )
        self.data = server.place


def figures(kills: int, documents: int) -> dict[str, object]:
    """The keys of `cluster` that speak of a store of objects."""
    chance = random.Random(17)
    with (
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as scratch,
        running_moto() as server,
        running_server() as postgres,
    ):
        catalog = postgres.new_database()
        begun = time.monotonic()
        with InStore(Path(scratch), server, catalog) as running:
            running.wait_until_ready(_LIMIT_S)
            running.execute(STATEMENTS)
            landed, recoveries = _pushed(running, documents, kills, chance)
            waited(running.all_published, _LIMIT_S)
        counted = _counted(server, Path(scratch), catalog, landed)
        return {"s3": {"kills": kills, **counted, **_told(recoveries, begun)}}


def _pushed(
    running: Installation, documents: int, kills: int, chance: random.Random
) -> tuple[list[int], list[float]]:
    """The documents whose landing was confirmed, and how long each recovery took."""
    landed: list[int] = []
    recoveries: list[float] = []
    at = set(chance.sample(range(2, documents), kills))
    for number in range(documents):
        if number in at:
            if chance.random() < 0.7:  # the others die while batches run
                waited(running.all_published, _LIMIT_S)
            running.kill()
            begun = time.monotonic()
            running.start()
            running.wait_until_ready(_LIMIT_S)
            recoveries.append(time.monotonic() - begun)
        while not running.post(f"/push/{'AB'[number % 2]}", _document(number), "application/rss+xml").is_good:
            time.sleep(0.1)
        landed.append(number)
        time.sleep(chance.random())
    return landed, recoveries


def _counted(server: ObjectServer, scratch: Path, catalog: str, landed: list[int]) -> dict[str, int]:
    options = tuple(sorted(server.options.items()))
    store = Store(place_of(server.place, options=options, cache=str(scratch / "reader")))
    table = store.item_table(store.manifests(), ["seq", "identity"])
    items = Counter(table["identity"].to_pylist())
    with open_catalog(catalog) as opened:
        feed = opened.feeds.named("Storms").id
    elements = store.seqs(feed).tolist()
    wanted = {f"g{number}-{place}" for number in landed for place in range(ITEMS_OF_A_DOCUMENT)}
    shown = table.filter(pc.is_in(table["seq"], pa.array(elements, pa.int64())))["identity"].to_pylist()
    return {
        "items": len(wanted),
        "lost": len(wanted - items.keys()) + len(wanted - set(shown)),
        "doubled": sum(items.values()) - len(items) + len(elements) - len(set(elements)),
    }


def _told(recoveries: list[float], begun: float) -> dict[str, float]:
    ordered = sorted(recoveries)
    p95 = ordered[int(0.95 * (len(ordered) - 1))] if ordered else 0.0
    return {"recovery_p95_s": round(p95, 1), "took_s": round(time.monotonic() - begun, 1)}


def _document(number: int) -> bytes:
    items = "".join(
        f"<item><title>storm {number} {place}</title><guid>g{number}-{place}</guid>"
        f"<link>http://example.org/{number}/{place}</link></item>"
        for place in range(ITEMS_OF_A_DOCUMENT)
    )
    return f"<rss version='2.0'><channel><title>c</title>{items}</channel></rss>".encode()
