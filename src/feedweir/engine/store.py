"""The item log and the element log: what batches published, for those who run them and those who read them.

A batch exists when its manifest does. Manifests are named by the last landing segment they cover; one that lies inside
another (left behind by a compaction that was cut short) does not count.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from feedweir.engine.batches import Assignment, Manifest
from feedweir.engine.files import again_if_gone, open_arrow, replace_arrow, replace_json, replace_parquet
from feedweir.engine.joined_log import JoinedLog
from feedweir.engine.stage import News
from feedweir.items.numbering import document_number, first_seq, segment_of
from feedweir.items.schema import ITEM_SCHEMA
from feedweir.join.features import item_keys

_I64 = npt.NDArray[np.int64]
Run: TypeAlias = tuple[_I64, _I64]
"""Feeds and sequence numbers of elements, sorted by both."""

ELEMENT_SCHEMA = pa.schema([("feed", pa.int64()), ("seq", pa.int64())])
ROWS_PER_GROUP = 1_000
_REPEATING = (
    "source",
    "language",
    "authors.list.element",
    "categories.list.element",
    "enclosures.list.element.type",
    "extensions.list.element.name",
)


class Store:
    """The published batches of a data directory."""

    def __init__(self, directory: Path) -> None:
        self._batches = directory / "batches"
        self._items = directory / "items"
        self._elements = directory / "elements"
        self.joined = JoinedLog(directory, self.manifests, self._identities)
        """What joins found."""
        self._manifests: dict[tuple[str, int], Manifest] = {}
        self._mapped: dict[str, Run] = {}

    # Writing

    def write_news(self, assignment: Assignment, news: News) -> None:
        """Keep the items that a task found, under a name that only depends on the assignment."""
        if news.items.num_rows:
            self.write_items(f"{task_name(assignment)}.parquet", pa.Table.from_batches([news.items]))

    def write_items(self, name: str, items: pa.Table) -> None:
        replace_parquet(self._items / name, items, row_group_size=ROWS_PER_GROUP, repeating=_REPEATING)

    def write_elements(self, name: str, elements: pa.Table) -> None:
        replace_arrow(self._elements / name, elements)

    def publish(self, manifest: Manifest) -> None:
        """Make a batch exist."""
        replace_json(self._path(manifest.upto), manifest.to_json())

    def forget(self, manifest: Manifest, *, with_manifest: bool) -> None:
        """Remove a batch that another one has taken in."""
        if with_manifest:
            self._path(manifest.upto).unlink(missing_ok=True)
        for name in manifest.item_files:
            (self._items / name).unlink(missing_ok=True)
        for name in manifest.element_files:
            (self._elements / name).unlink(missing_ok=True)
            self._mapped.pop(name, None)
        self.joined.forget(manifest)

    # Reading

    def published(self, upto: int) -> Manifest | None:
        """The batch of that name, if it was published."""
        path = self._path(upto)
        return self._read(path) if path.exists() else None

    def latest(self) -> int:
        """The last landing segment whose documents were published; 0 before the first."""
        return max((int(path.stem) for path in self._batches.glob("[0-9]*.json")), default=0)

    def manifests(self) -> list[Manifest]:
        """All batches, newest first."""
        found: list[Manifest] = []
        read: dict[tuple[str, int], Manifest] = {}
        for name, changed in sorted(self._listed(), reverse=True):
            try:
                manifest = self._manifests.get((name, changed)) or self._read(self._batches / name)
            except FileNotFoundError:
                continue
            read[name, changed] = manifest
            if not found or manifest.upto <= found[-1].after:
                found.append(manifest)
        self._manifests = read
        return found

    def seqs(self, feed: int, limit: int | None = None) -> _I64:
        """The sequence numbers of a feed's elements, newest first."""
        return again_if_gone(lambda: self._newest(feed, limit))

    def _newest(self, feed: int, limit: int | None) -> _I64:
        chunks: list[_I64] = []
        missing = limit
        for manifest in self.manifests():
            found = self.seqs_in(manifest, feed)[::-1][:missing]
            chunks.append(found)
            if missing is not None:
                missing -= len(found)
                if not missing:
                    break
        return np.concatenate(chunks) if chunks else np.empty(0, np.int64)

    def figures(self, feeds: Sequence[int]) -> tuple[_I64, _I64]:
        """How many elements each of these feeds has, and the number of its newest; 0 where it has none."""
        return again_if_gone(lambda: self._counted(np.asarray(feeds, np.int64)))

    def _counted(self, feeds: _I64) -> tuple[_I64, _I64]:
        counts, newest = np.zeros(len(feeds), np.int64), np.zeros(len(feeds), np.int64)
        for manifest in self.manifests():
            for name in manifest.element_files:
                keys, seqs = self._columns(name)
                first, last = np.searchsorted(keys, feeds, "left"), np.searchsorted(keys, feeds, "right")
                has_any = last > first
                counts += last - first
                newest[has_any] = np.maximum(newest[has_any], seqs[last[has_any] - 1])
        return counts, newest

    def is_in(self, feeds: _I64, seqs: _I64) -> npt.NDArray[np.bool_]:
        """Which of these pairs are elements."""
        return again_if_gone(lambda: self._held(feeds, seqs))

    def _held(self, feeds: _I64, seqs: _I64) -> npt.NDArray[np.bool_]:
        found = np.zeros(len(feeds), np.bool_)
        for manifest in self.manifests() if len(feeds) else ():
            first, end = (first_seq(document_number(one + 1, 0)) for one in (manifest.after, manifest.upto))
            asked = np.flatnonzero((first <= seqs) & (seqs < end))
            for name in manifest.element_files if len(asked) else ():
                keys, numbers = self._columns(name)
                low, high = (np.searchsorted(keys, feeds[asked], side) for side in ("left", "right"))
                for place in np.flatnonzero(low < high).tolist():
                    own, seq = numbers[low[place] : high[place]], seqs[asked[place]]
                    found[asked[place]] |= own[min(int(np.searchsorted(own, seq)), len(own) - 1)] == seq
        return found

    def items(self, seqs: Sequence[int], *, arrived_after: datetime | None = None) -> pa.Table:
        """The items with these numbers (those of them that arrived after a moment), in the order of the stream."""
        return again_if_gone(lambda: self._items_numbered(seqs, arrived_after))

    def _items_numbered(self, seqs: Sequence[int], arrived_after: datetime | None) -> pa.Table:
        tables = [
            self._items_of(manifest, wanted, arrived_after)
            for manifest, wanted in _by_manifest(self.manifests(), sorted(set(seqs)))
        ]
        if not tables:
            return ITEM_SCHEMA.empty_table()
        return pa.concat_tables(tables).sort_by("seq")

    def _identities(self, seqs: Sequence[int]) -> dict[int, int]:
        """The keys of items, by number, of those that are there."""
        table = self.items(seqs)
        seq, source, identity = (table.column(name).to_pylist() for name in ("seq", "source", "identity"))
        return dict(zip(seq, item_keys(zip(source, identity, strict=True)).tolist(), strict=True))

    def item_paths(self) -> list[Path]:
        """The Parquet files of the item log, newest batch first."""
        return [self._items / name for manifest in self.manifests() for name in sorted(manifest.item_files)]

    def element_table(self, manifests: Sequence[Manifest]) -> pa.Table:
        """All elements of some batches, sorted by feed, then by seq."""
        names = [name for manifest in manifests for name in manifest.element_files]
        tables = [ELEMENT_SCHEMA.empty_table(), *(open_arrow(self._elements / name) for name in names)]
        return pa.concat_tables(tables).sort_by([("feed", "ascending"), ("seq", "ascending")])

    def element_runs(self, manifests: Sequence[Manifest]) -> list[Run]:
        """The elements of some batches, mapped into memory."""
        return [self._columns(name) for manifest in manifests for name in manifest.element_files]

    def seqs_in(self, manifest: Manifest, feed: int) -> _I64:
        """What a batch put into a feed, oldest first."""
        found = [self._range(name, feed) for name in manifest.element_files]
        return np.unique(np.concatenate([np.empty(0, np.int64), *found]))

    def item_table(self, manifests: Sequence[Manifest], columns: Sequence[str] | None = None) -> pa.Table:
        """All items of some batches, in the order of the stream."""
        names = [name for manifest in manifests for name in manifest.item_files]
        wanted = list(columns or ITEM_SCHEMA.names)
        tables = [
            ITEM_SCHEMA.empty_table().select(wanted),
            *(pq.read_table(self._items / name, columns=wanted) for name in names),
        ]
        return pa.concat_tables(tables).sort_by("seq")

    def _items_of(self, manifest: Manifest, seqs: list[int], arrived_after: datetime | None) -> pa.Table:
        paths = [self._items / name for name in manifest.item_files]
        wanted = pc.field("seq").isin(seqs)
        if arrived_after is not None:
            wanted &= pc.field("arrived") > pa.scalar(arrived_after, ITEM_SCHEMA.field("arrived").type)
        tables = [pq.read_table(path, filters=wanted) for path in paths]
        return pa.concat_tables(tables)

    def _columns(self, name: str) -> Run:
        if name not in self._mapped:
            # Others compact, too: what no batch has any more need not stay mapped.
            known = {one for manifest in self._manifests.values() for one in manifest.element_files}
            self._mapped = {one: run for one, run in self._mapped.items() if one in known}
            table = open_arrow(self._elements / name)
            self._mapped[name] = (table.column("feed").to_numpy(), table.column("seq").to_numpy())
        return self._mapped[name]

    def _range(self, name: str, feed: int) -> _I64:
        feeds, seqs = self._columns(name)
        return seqs[np.searchsorted(feeds, feed, "left") : np.searchsorted(feeds, feed, "right")]

    def _listed(self) -> list[tuple[str, int]]:
        if not self._batches.is_dir():
            return []
        entries = (entry for entry in os.scandir(self._batches) if entry.name[0].isdigit())
        return [(entry.name, entry.stat().st_mtime_ns) for entry in entries]

    def _read(self, path: Path) -> Manifest:
        return Manifest.from_json(json.loads(path.read_bytes()))

    def _path(self, upto: int) -> Path:
        return self._batches / f"{upto:012d}.json"


def task_name(assignment: Assignment) -> str:
    """What the files of a task are called: the same when it is run again."""
    return f"{assignment.upto:012d}-{assignment.parts[0]:03d}"


def _by_manifest(manifests: list[Manifest], seqs: list[int]) -> Iterator[tuple[Manifest, list[int]]]:
    for manifest in manifests:
        wanted = [seq for seq in seqs if manifest.after < segment_of(seq) <= manifest.upto]
        if wanted and manifest.item_files:
            yield manifest, wanted
