"""What must survive a restart: sources, feeds, subscriptions, statistics, the outbox.

catalog = open_catalog("sqlite:///data/catalog.db")
catalog.feeds.add([NewFeed(name="news", kind="source", url=…, statement=…, created_at=now)])
version, definitions = catalog.feeds.definitions()
catalog.batches.commit(BatchCommit(batch="17", version=version, at=now, entries=(…,)))
entries = catalog.outbox.claim(100, worker="mailer", now=now, lease_s=60)
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from types import TracebackType
from typing import Any

from feedweir.catalog import transfer
from feedweir.catalog.committed_batches import Batches
from feedweir.catalog.database import PATIENCE_S, Database, connect
from feedweir.catalog.deliveries import Deliveries
from feedweir.catalog.failures import Failures
from feedweir.catalog.feeds import Feeds
from feedweir.catalog.hit_statistics import Statistics
from feedweir.catalog.migrate import migrate
from feedweir.catalog.outbox import Outbox
from feedweir.catalog.outlines import Outlines
from feedweir.catalog.records import (
    AtomCount,
    BatchCommit,
    BatchRecord,
    Change,
    Definition,
    Delivery,
    Entry,
    EntryOutcome,
    Fading,
    Failure,
    FeedCounts,
    FeedRecord,
    FeedStatistics,
    FetchState,
    NewEntry,
    NewFeed,
    NewSubscription,
    Rhythm,
    SourceRecord,
    SubscriptionRecord,
    Waiting,
)
from feedweir.catalog.replays import AGAIN
from feedweir.catalog.secrets import Secrets
from feedweir.catalog.sources import Sources
from feedweir.catalog.subscriptions import Subscriptions

__all__ = [
    "AGAIN",
    "AtomCount",
    "BatchCommit",
    "BatchRecord",
    "Catalog",
    "Change",
    "Definition",
    "Delivery",
    "Entry",
    "EntryOutcome",
    "Fading",
    "Failure",
    "FeedCounts",
    "FeedRecord",
    "FeedStatistics",
    "FetchState",
    "NewEntry",
    "NewFeed",
    "NewSubscription",
    "Rhythm",
    "SourceRecord",
    "SubscriptionRecord",
    "Waiting",
    "open_catalog",
]


@dataclass(frozen=True, slots=True)
class Catalog:
    """An open catalog: one part for each kind of thing it remembers, usable from several threads."""

    database: Database
    feeds: Feeds
    sources: Sources
    subscriptions: Subscriptions
    statistics: Statistics
    failures: Failures
    outbox: Outbox
    deliveries: Deliveries
    batches: Batches
    secrets: Secrets
    outlines: Outlines

    def transaction(self) -> AbstractContextManager[None]:
        """Everything done to the catalog in the block happens as a whole or, when the block raises, not at all."""
        return self.database.transaction()

    def snapshot(self) -> AbstractContextManager[None]:
        """Everything read in the block is as of one moment."""
        return self.database.snapshot()

    def dump(self) -> Iterator[dict[str, Any]]:
        """Everything there is, one JSON object after the other, as of one moment."""
        return transfer.dump(self.database)

    def load(self, lines: Iterable[dict[str, Any]]) -> None:
        """Take over what another catalog dumped, on either database; this one must still be empty."""
        transfer.load(self.database, lines)

    def close(self) -> None:
        self.database.close()

    def __enter__(self) -> Catalog:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def open_catalog(url: str, *, patience_s: float = PATIENCE_S) -> Catalog:
    """The catalog at a database URL, made or brought up to date when it has to be."""
    database = connect(url, patience_s=patience_s)
    migrate(database)
    return Catalog(
        database=database,
        feeds=Feeds(database),
        sources=Sources(database),
        subscriptions=Subscriptions(database),
        statistics=Statistics(database),
        failures=Failures(database),
        outbox=Outbox(database),
        deliveries=Deliveries(database),
        batches=Batches(database),
        secrets=Secrets(database),
        outlines=Outlines(database),
    )
