"""The tables of a data directory, brought to what was published: again and again, by the process that runs batches.

Manifests and the files of range logs are what counts. A table is compared with them and takes a commit that says what
came and what went, so that a repeat is nothing, a crash between is caught up, and what others did to a table is undone.
Whoever merges files has the tables follow first: then a merge only arranges anew what they have, and says so.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterable, Sequence
from datetime import datetime

import pyarrow.parquet as pq

from feedweir.catalog import Catalog
from feedweir.logs.batches import Manifest
from feedweir.logs.files import replace_parquet
from feedweir.logs.store import Store
from feedweir.storage import Place, listed, local, places_in
from feedweir.tables.delta_table import FollowingTable, Wanted
from feedweir.tables.range_log import RangeFile, RangeLog
from feedweir.tables.table_kinds import BATCHES, DELIVERIES, FEEDS, SOURCES, TABLES, TableKind
from feedweir.tables.told_rows import batch_rows, delivery_rows, feed_rows, source_rows

_log = logging.getLogger(__name__)

LINES_AT_ONCE = 50_000
"""Lines of the delivery log in a file."""


class OpenTables:
    """The tables of one data directory. Thread-safe."""

    def __init__(self, root: Place, store: Store, catalog: Catalog) -> None:
        self._store = store
        self._catalog = catalog
        self._turn = threading.Lock()
        self._tables = {name: FollowingTable(kind, root) for name, kind in TABLES.items()}
        self._ranges = {one.name: RangeLog(one.place(root)) for one in (SOURCES, DELIVERIES, BATCHES)}
        self._feeds = FEEDS.place(root)

    def follow(self) -> None:
        """Commit what was published, merged and deleted since the last time; nothing if nothing was."""
        with self._turn:
            manifests = self._store.manifests()
            self._write_rows(manifests)
            for name, table in self._tables.items():
                if manifests:
                    table.create()
                self._follow(table, manifests, self._ranges.get(name))

    def tidy(self, before: datetime) -> None:
        """What need not be done for each batch: say what feeds are called, merge small files, delete what was merged
        before then, and look whether others changed a table."""
        with self._turn:
            manifests = self._store.manifests()
            emptied = max((one.upto for one in manifests if one.items_removed), default=0)
            for table in self._tables.values():
                table.look()
            if manifests:
                self._write_feeds()
            for path, state in list(listed(self._feeds, "[0-9]*.parquet"))[:-1]:
                if state.st_mtime < before.timestamp():
                    path.unlink(missing_ok=True)
            for name, log in self._ranges.items():
                if emptied and name != DELIVERIES.name:
                    log.forget(emptied)
                log.merge()
                log.remove_merged(before)
        self.follow()

    def _follow(self, table: FollowingTable, manifests: Sequence[Manifest], log: RangeLog | None) -> None:
        def wanted(reached: int) -> Wanted:
            if log is not None:
                return _of_ranges(log.files(), reached)
            if table.kind is FEEDS:
                return _of_feeds(self._feeds)
            return _of_manifests(table.kind, manifests, reached)

        reached = table.upto()
        change = table.follow(wanted)
        foreign = [name for name in change.removed if not name[:12].isdigit()]
        lacking = [name for name in change.added if _is_old(name, reached) and not change.removed]
        if foreign or lacking:
            _log.warning(
                "table %s was changed by others and is as it should be again: %d files came back, %d went",
                table.kind.name,
                len(change.added),
                len(change.removed),
            )

    def _write_rows(self, manifests: Sequence[Manifest]) -> None:
        if manifests:
            self._write_told(manifests)
            if _newest(self._feeds) is None:
                self._write_feeds()
        log = self._ranges[DELIVERIES.name]
        while lines := self._catalog.deliveries.since(log.end(), LINES_AT_ONCE):
            log.append(lines[-1]["id"], delivery_rows(lines))
            if len(lines) < LINES_AT_ONCE:
                break

    def _write_feeds(self) -> None:
        """What feeds are called now, as one file that is named by the version."""
        version = self._catalog.feeds.version()
        newest = _newest(self._feeds)
        if version and (newest is None or int(newest.stem) != version):
            before = pq.read_table(local(newest)) if newest else FEEDS.schema.empty_table()
            rows = feed_rows(self._catalog.feeds.definitions(version)[1], before)
            replace_parquet(
                self._feeds / f"{version:012d}.parquet", rows, row_group_size=100_000, repeating=("kind",)
            )

    def _write_told(self, manifests: Sequence[Manifest]) -> None:
        batches, sources = self._ranges[BATCHES.name], self._ranges[SOURCES.name]
        newest = manifests[0].upto
        if (end := sources.end()) < newest:
            sources.append(newest, source_rows(self._store, _since(manifests, end)))
        if (end := batches.end()) < newest:
            news = _since(manifests, end)
            records = ((one.upto, self._catalog.batches.with_id(f"{one.upto:012d}")) for one in news)
            committed = {upto: record.committed_at for upto, record in records if record}
            batches.append(newest, batch_rows(self._store, news, committed))


def _since(manifests: Iterable[Manifest], end: int) -> list[Manifest]:
    """Oldest first."""
    return sorted((one for one in manifests if one.upto > end), key=lambda one: one.upto)


def _of_manifests(kind: TableKind, manifests: Sequence[Manifest], reached: int) -> Wanted:
    """What a table consists of whose files manifests name."""
    named = {name: one for one in manifests for name in kind.files(one) if name.endswith(".parquet")}
    files = {name: one.upto <= reached for name, one in named.items()}

    def gone(name: str) -> bool:
        number = int(name[:12]) if name[:12].isdigit() else 0
        holder = next((one for one in manifests if one.after < number <= one.upto), None)
        return holder is None or kind.is_emptied(holder)

    return Wanted(files, gone, manifests[0].upto if manifests else 0)


def _of_ranges(files: Sequence[RangeFile], reached: int) -> Wanted:
    first = files[0].after if files else 0
    return Wanted(
        {one.name: one.upto <= reached for one in files},
        lambda name: not name[:12].isdigit() or int(name[:12]) <= first,
        files[-1].upto if files else 0,
    )


def _of_feeds(folder: Place) -> Wanted:
    newest = _newest(folder)
    return Wanted({newest.name: False} if newest else {}, lambda _: True, int(newest.stem) if newest else 0)


def _newest(folder: Place) -> Place | None:
    return next(reversed(places_in(folder, "[0-9]*.parquet")), None)


def _is_old(name: str, reached: int) -> bool:
    return name[:12].isdigit() and int(name[:12]) <= reached
