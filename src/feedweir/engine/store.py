"""The item log and the element log: what batches published, for those who run them and those who read them.

A batch exists when its manifest does. Manifests are named by the last landing segment they cover; one that lies inside
another (left behind by a compaction that was cut short) does not count.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from feedweir.engine.batches import Assignment, Manifest
from feedweir.engine.constructed import Construction
from feedweir.engine.files import open_arrow, replace_arrow, replace_json, replace_parquet
from feedweir.engine.stage import News
from feedweir.items.numbering import segment_of
from feedweir.items.schema import ITEM_SCHEMA

_I64 = npt.NDArray[np.int64]
Run: TypeAlias = tuple[_I64, _I64]
"""Feeds and sequence numbers of elements, sorted by both."""

Annotations: TypeAlias = dict[int, dict[str, tuple[int, ...]]]
"""By number of an element and join identifier the numbers of the partners."""

Made: TypeAlias = dict[int, tuple[Construction, ...]]
"""By number of an element the documents that it stands for."""

ELEMENT_SCHEMA = pa.schema([("feed", pa.int64()), ("seq", pa.int64())])
ANNOTATION_SCHEMA = pa.schema(
    [
        ("feed", pa.int64()),
        ("seq", pa.int64()),
        ("item", pa.int64()),
        ("join", pa.string()),
        ("partner", pa.int64()),
    ]
)
"""Of an element of a feed with joins: under which join it was joined with which item.

`item` is a key of the item that the element is a wording of (`join.features.IDENTITY`): the same for all its wordings.
"""
MADE_SCHEMA = pa.schema(
    [
        ("feed", pa.int64()),
        ("seq", pa.int64()),
        ("made_of", pa.list_(pa.int64())),
        ("xml", pa.string()),
        ("is_selected", pa.bool_()),
    ]
)
"""Documents that an element of a feed stands for; nothing to be made of says that the item itself is there, too."""
ROWS_PER_GROUP = 1_000
_REPEATING = (
    "source",
    "language",
    "authors.list.element",
    "categories.list.element",
    "enclosures.list.element.type",
    "extensions.list.element.name",
)
_PATIENCE = 3

T = TypeVar("T")


class Store:
    """The published batches of a data directory."""

    def __init__(self, directory: Path) -> None:
        self._batches = directory / "batches"
        self._items = directory / "items"
        self._elements = directory / "elements"
        self._annotations = directory / "annotations"
        self._made = directory / "made"
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

    def write_annotations(self, name: str, annotations: pa.Table) -> None:
        replace_arrow(self._annotations / name, annotations)

    def write_made(self, name: str, made: pa.Table) -> None:
        replace_arrow(self._made / name, made)

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
        for name in manifest.annotation_files:
            (self._annotations / name).unlink(missing_ok=True)
        for name in manifest.made_files:
            (self._made / name).unlink(missing_ok=True)

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
        return _again_if_compacted(lambda: self._newest(feed, limit))

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
        return _again_if_compacted(lambda: self._counted(np.asarray(feeds, np.int64)))

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

    def items(self, seqs: Sequence[int], *, arrived_after: datetime | None = None) -> pa.Table:
        """The items with these numbers (those of them that arrived after a moment), in the order of the stream."""
        return _again_if_compacted(lambda: self._items_numbered(seqs, arrived_after))

    def _items_numbered(self, seqs: Sequence[int], arrived_after: datetime | None) -> pa.Table:
        tables = [
            self._items_of(manifest, wanted, arrived_after)
            for manifest, wanted in _by_manifest(self.manifests(), sorted(set(seqs)))
        ]
        if not tables:
            return ITEM_SCHEMA.empty_table()
        return pa.concat_tables(tables).sort_by("seq")

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

    def annotations(self, feed: int, seqs: Sequence[int]) -> Annotations:
        """Of the elements with these numbers that have any: by join identifier the numbers of the partners."""
        return _again_if_compacted(lambda: self._annotated(feed, seqs))

    def _annotated(self, feed: int, seqs: Sequence[int]) -> Annotations:
        found: Annotations = {}
        for row in self._noted(feed, "seq", seqs).to_pylist():
            joined = found.setdefault(row["seq"], {})
            joined[row["join"]] = (*joined.get(row["join"], ()), row["partner"])
        return found

    def notes(self, feed: int, items: Sequence[int]) -> pa.Table:
        """What all wordings of items, by their keys, were joined with in a feed, in the order of the stream."""
        return _again_if_compacted(lambda: self._noted(feed, "item", items))

    def _noted(self, feed: int, column: str, values: Sequence[int]) -> pa.Table:
        """The annotations of a feed that have one of these values. Of any batch: a story goes on, and what tells it
        again is noted in the batch that brought it."""
        wanted = pa.array(sorted(set(values)), pa.int64())
        names = [name for manifest in self.manifests() for name in manifest.annotation_files]
        found = [ANNOTATION_SCHEMA.empty_table()]
        for name in names if len(wanted) else ():
            table = open_arrow(self._annotations / name)
            low, high = np.searchsorted(table["feed"].to_numpy(), [feed, feed + 1]).tolist()
            of_feed = table.slice(low, high - low)
            found.append(of_feed.filter(pc.is_in(of_feed[column], wanted)))
        return pa.concat_tables(found).sort_by([(name, "ascending") for name in ANNOTATION_SCHEMA.names])

    def annotation_table(self, manifests: Sequence[Manifest]) -> pa.Table:
        """All annotations of some batches, sorted by all of their columns."""
        names = [name for manifest in manifests for name in manifest.annotation_files]
        tables = [ANNOTATION_SCHEMA.empty_table(), *(open_arrow(self._annotations / name) for name in names)]
        return pa.concat_tables(tables).sort_by([(name, "ascending") for name in ANNOTATION_SCHEMA.names])

    def made(self, feed: int, seqs: Sequence[int]) -> Made:
        """Of the elements with these numbers that stand for constructed documents: those, in order."""
        return _again_if_compacted(lambda: self._made_by(feed, seqs))

    def _made_by(self, feed: int, seqs: Sequence[int]) -> Made:
        found: Made = {}
        for manifest, wanted in _by_manifest(self.manifests(), sorted(set(seqs))):
            if not manifest.made_files:
                continue
            table = self.made_table([manifest])
            chosen = pc.and_(
                pc.equal(table["feed"], feed), pc.is_in(table["seq"], pa.array(wanted, pa.int64()))
            )
            found |= made_in(table.filter(chosen))
        return found

    def made_table(self, manifests: Sequence[Manifest]) -> pa.Table:
        """All constructed documents of some batches, sorted by feed and seq."""
        names = [name for manifest in manifests for name in manifest.made_files]
        tables = [MADE_SCHEMA.empty_table(), *(open_arrow(self._made / name) for name in names)]
        return pa.concat_tables(tables).sort_by([("feed", "ascending"), ("seq", "ascending")])

    def _items_of(self, manifest: Manifest, seqs: list[int], arrived_after: datetime | None) -> pa.Table:
        paths = [self._items / name for name in manifest.item_files]
        wanted = pc.field("seq").isin(seqs)
        if arrived_after is not None:
            wanted &= pc.field("arrived") > pa.scalar(arrived_after, ITEM_SCHEMA.field("arrived").type)
        tables = [pq.read_table(path, filters=wanted) for path in paths]
        return pa.concat_tables(tables)

    def _columns(self, name: str) -> Run:
        if name not in self._mapped:
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


def made_in(table: pa.Table) -> Made:
    """The constructed documents of one feed, in order."""
    found: Made = {}
    for row in table.to_pylist():
        one = Construction(tuple(row["made_of"]), row["xml"], row["is_selected"])
        found[row["seq"]] = (*found.get(row["seq"], ()), one)
    # A stream that two shards want is made by both.
    return {seq: tuple(sorted(set(many), key=lambda one: one.place)) for seq, many in found.items()}


def task_name(assignment: Assignment) -> str:
    """What the files of a task are called: the same when it is run again."""
    return f"{assignment.upto:012d}-{assignment.parts[0]:03d}"


def _again_if_compacted(read: Callable[[], T]) -> T:
    """A compaction may take a file away between the look at its manifest and the look at it: the next look is good."""
    for _ in range(_PATIENCE):
        try:
            return read()
        except FileNotFoundError:
            continue
    return read()


def _by_manifest(manifests: list[Manifest], seqs: list[int]) -> Iterator[tuple[Manifest, list[int]]]:
    for manifest in manifests:
        wanted = [seq for seq in seqs if manifest.after < segment_of(seq) <= manifest.upto]
        if wanted and manifest.item_files:
            yield manifest, wanted
