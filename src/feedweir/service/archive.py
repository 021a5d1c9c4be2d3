"""The stored data of an installation, for reading: its catalog and its logs. Opening it is cheap."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from types import TracebackType
from typing import Self

from feedweir.acquire.parse.document_budget import DEFAULT_ALLOWANCE, Allowance
from feedweir.catalog import Catalog, open_catalog
from feedweir.catalog.database import PATIENCE_S
from feedweir.config import Settings
from feedweir.deliver.feed_views import FeedViews
from feedweir.errors import SettingsError
from feedweir.items.model import Item
from feedweir.logs.directory import DataDirectory
from feedweir.logs.disk_errors import as_storage_errors
from feedweir.logs.landing import LandingLog
from feedweir.logs.store import Store
from feedweir.pipeline.quarantine import Quarantine
from feedweir.pipeline.retention import (
    KEEP_ALL,
    Due,
    Need,
    Retention,
    bound_of,
    due,
    remove,
    retention_report,
)
from feedweir.storage import ObjectPath, Place, is_store, place_of

STORES = ("s3", "gs", "az")
"""How the addresses of stores of objects begin."""


def now_utc() -> datetime:
    return datetime.now(UTC)


def place_in(settings: Settings) -> Place:
    """Where the settings have the logs."""
    return place_of(
        settings.data, options=settings.storage, cache=settings.cache, cache_bytes=settings.cache_bytes
    )


def _check_store(root: ObjectPath, catalog_url: str) -> None:
    """Whether a store can be relied upon, and what goes with it is there."""
    if str(root).partition("://")[0] not in STORES:
        hint = "name a directory, or s3://…, gs:// or az://… for a store of objects"
        raise SettingsError(f"{str(root)!r} is not a directory", hint=hint)
    if not catalog_url.startswith("postgresql"):
        hint = "set `catalog` to postgresql://…, which all machines reach"
        raise SettingsError(f"with data in {root} the catalog must be in PostgreSQL", hint=hint)
    root.probe()


class Archive:
    """One data directory and its catalog, open."""

    def __init__(
        self,
        directory: DataDirectory,
        catalog: Catalog,
        clock: Callable[[], datetime],
        retention: Retention = KEEP_ALL,
        allowance: Allowance = DEFAULT_ALLOWANCE,
        tables: bool = True,
    ) -> None:
        self.directory = directory
        self.catalog = catalog
        self.clock = clock
        self.retention = retention
        """How much of the logs is retained; the rest is removed when they are tidied."""
        self.allowance = allowance
        """What reading one document may cost."""
        self.keeps_tables = tables
        """Whether the logs are also written as open tables."""
        self.log = LandingLog(directory.landing)
        self.store = Store(directory.root)
        self.quarantine = Quarantine(directory.quarantine)
        """Quarantined documents."""
        self.feed_views = FeedViews(catalog, self.store)

    @classmethod
    def open(
        cls,
        data: Place | str,
        *,
        catalog_url: str = "",
        clock: Callable[[], datetime] = now_utc,
        patience_s: float = PATIENCE_S,
        retention: Retention = KEEP_ALL,
        allowance: Allowance = DEFAULT_ALLOWANCE,
        tables: bool = True,
    ) -> Self:
        """Open the installation in a directory, or create one; `patience_s` bounds the wait for a locked database."""
        root = place_of(data)
        if isinstance(root, ObjectPath):
            _check_store(root, catalog_url)
        else:
            with as_storage_errors():
                root.mkdir(parents=True, exist_ok=True)
        url = catalog_url or f"sqlite:///{root}/catalog.sqlite"
        catalog = open_catalog(url, patience_s=patience_s)
        return cls(DataDirectory(root), catalog, clock, retention, allowance, tables)

    @classmethod
    def configured(
        cls, settings: Settings, *, clock: Callable[[], datetime] = now_utc, patience_s: float = PATIENCE_S
    ) -> Self:
        """Open the installation that the settings name."""
        return cls.open(
            place_in(settings),
            catalog_url=settings.catalog if is_store(settings.data) else settings.catalog_url,
            clock=clock,
            patience_s=patience_s,
            retention=Retention(
                landing=bound_of(settings.retain_landing, "retain_landing"),
                items=bound_of(settings.retain_items, "retain_items"),
                elements=bound_of(settings.retain_elements, "retain_elements"),
            ),
            allowance=Allowance(
                seconds=settings.document_seconds, memory_bytes=settings.document_memory_mb << 20
            ),
            tables=settings.tables,
        )

    def items(self, feed: str, limit: int = 50) -> list[Item]:
        """The newest items of a source or virtual feed."""
        return self.feed_views.newest(self.catalog.feeds.named(feed).id, limit)

    def retained(self) -> dict[str, str]:
        """For each log what is stored and what was deleted."""
        return retention_report(self.store, self.log, self.retention, self._surplus())

    def remove_surplus(self) -> None:
        """Delete what exceeds the bounds and is no longer needed; only for the process that runs batches."""
        if self.retention:
            remove(self.store, self.log, self._surplus())

    def _surplus(self) -> Due:
        def needs() -> list[Need]:
            unsent = self.catalog.outbox.oldest_unsent()
            return [Need(unsent, "deliveries")] if unsent else []

        return due(self.directory, self.store, self.log, self.retention, self.clock(), needs)

    def close(self) -> None:
        self.catalog.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
