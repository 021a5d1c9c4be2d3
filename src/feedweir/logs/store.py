"""The item log and the element log: what batches published.

A batch exists when its manifest does. No manifest is ever replaced: that of a batch is named by the last landing
segment it covers, and what becomes of it later (several merged into one, emptied) has a name of its own. One that lies
inside another is ignored: a compaction that was cut short left it behind, or a process wrote it that slept meanwhile.
"""

from __future__ import annotations

import logging
import os
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from functools import lru_cache, partial
from pathlib import Path
from typing import IO, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from feedweir.errors import DamagedFileError
from feedweir.items.model import Item
from feedweir.items.numbering import document_number, first_seq, segment_of
from feedweir.items.schema import ITEM_SCHEMA, items_of
from feedweir.items.string_keys import item_keys
from feedweir.logs.batches import Assignment, Manifest, SourceReport
from feedweir.logs.directory import NEWEST, latest_batch, newest_of
from feedweir.logs.files import (
    put_absent_sealed_json,
    read_held_parquet,
    read_parquet,
    replace_parquet,
    replace_sealed_json,
    retry_when_compacted,
)
from feedweir.logs.joined_log import JoinedLog
from feedweir.logs.seals import INSPECTOR, opened_arrow, read_json
from feedweir.logs.sorted_files import Run, SortedFile, no_rows, open_sorted, replace_sorted
from feedweir.logs.source_reports import REPEATING, REPORT_SCHEMA, SourceReports, report_table
from feedweir.storage import ObjectPath, Place, listed, local

_log = logging.getLogger(__name__)
T = TypeVar("T")

_I64 = npt.NDArray[np.int64]
ELEMENT_SCHEMA = pa.schema([("feed", pa.int64()), ("seq", pa.int64())])
_NO_ELEMENTS = no_rows(ELEMENT_SCHEMA)
ROWS_PER_GROUP = 1_000
_PATIENCE = 10
"""Several merges may follow each other."""
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

    def __init__(self, directory: Place) -> None:
        self._directory = directory
        self._batches = directory / "batches"
        self._items = directory / "items"
        self._elements = directory / "elements"
        self._reports = directory / "reports"
        self._folders = (
            self._items,
            self._elements,
            directory / "annotations",
            directory / "made",
            self._reports,
        )
        self.joined = JoinedLog(directory, self.manifests, self._identities, self.opened)
        """The results of joins."""
        self._manifests: dict[tuple[str, int], Manifest] = {}
        self._spoilt: dict[Place, str] = {}
        """Manifests that cannot be read, or are missing."""
        self._found: dict[Place, str] = {}
        """Other files that were found damaged or missing when they were opened."""
        self._inside: list[Place] = []
        """Manifests that lie inside others."""

    # Writing

    def write_new_items(self, assignment: Assignment, items: pa.RecordBatch) -> None:
        """Store the items that an attempt of a task found."""
        if items.num_rows:
            self.write_items(f"{assignment.name}.parquet", pa.Table.from_batches([items]))

    def write_items(self, name: str, items: pa.Table) -> None:
        replace_parquet(self._items / name, items, row_group_size=ROWS_PER_GROUP, repeating=_REPEATING)

    def write_elements(self, name: str, elements: pa.Table) -> None:
        replace_sorted(self._elements / name, elements)

    def write_reports(self, name: str, reports: Mapping[str, SourceReport]) -> None:
        replace_parquet(
            self._reports / name, report_table(reports), row_group_size=1 << 16, repeating=REPEATING
        )

    def publish(self, manifest: Manifest) -> Manifest:
        """Write the manifest of a batch: from now on it is published. If one of its name was, that one stands."""
        path = self._batches / manifest_name(manifest)
        if put_absent_sealed_json(path, manifest.to_json()):
            self.name_newest(self.latest())
            return manifest
        published = self.published(manifest.upto)
        if published is None:  # what is there cannot be read
            replace_sealed_json(path, manifest.to_json())
        return published or manifest

    def rewrite(self, older: Manifest, manifest: Manifest) -> None:
        """Replace a manifest that an older version wrote by one that says the same of files of today."""
        replace_sealed_json(self.path_of(older), manifest.to_json())

    def name_newest(self, upto: int) -> None:
        """Record which batch is the newest. This follows its manifest, so it may lag, but is never ahead."""
        replace_sealed_json(self._batches / NEWEST, {"upto": upto}, is_synced=False)

    def empty(self, manifest: Manifest, *, with_items: bool) -> None:
        """Leave out the elements of a batch, or its items as well: elements without items are useless. Their files are
        deleted by `remove_leftovers`."""
        emptied = replace(
            manifest,
            element_files=(),
            annotation_files=(),
            made_files=(),
            elements_removed=manifest.element_count,
            item_files=() if with_items else manifest.item_files,
            items_removed=manifest.item_count if with_items else manifest.items_removed,
        )
        if emptied != manifest:
            # From now on they do not exist.
            self.publish(emptied)

    def drop_replaced(self) -> None:
        """Delete the manifests that lie inside others."""
        self.manifests()
        for path in self._inside:
            path.unlink(missing_ok=True)

    def remove_leftovers(self, before: datetime) -> None:
        """Delete what no batch names any more, and what attempts that do not count have left, if it is so old."""
        latest = self.latest()  # asked first: what is published meanwhile has greater numbers
        if self.damages():
            return
        self.drop_replaced()
        manifests = self.manifests()
        named = {path for manifest in manifests for path in self.files_of(manifest)}
        # A manifest is written once: since then what it does not name has not been needed.
        written = {path: state.st_mtime for path, state in listed(self._batches, "[0-9]*.json")}
        since = {manifest.upto: written.get(self.path_of(manifest), 0.0) for manifest in manifests}
        ends = sorted(since)
        for folder in self._folders:
            for path, state in list(listed(folder, "[0-9]*")):
                number = int(path.name[:12])
                if number <= latest and path not in named:
                    holder = ends[min(bisect_left(ends, number), len(ends) - 1)]
                    if max(state.st_mtime, since[holder]) < before.timestamp():
                        path.unlink(missing_ok=True)

    # Reading

    def newest_arrival(self, manifest: Manifest) -> datetime | None:
        """When the newest item of a batch arrived; None if it has none."""
        paths = [self._items / name for name in manifest.item_files]
        found = (self.opened(path, _last_arrival, None) for path in paths)
        return max((arrival for arrival in found if arrival), default=None)

    def reports(self, manifest: Manifest) -> SourceReports:
        """What a batch learned of its sources."""
        nothing = REPORT_SCHEMA.empty_table()
        paths = [self._reports / name for name in manifest.source_files]
        return SourceReports(
            tuple(self.opened(path, read_parquet, nothing) for path in paths), manifest.sources
        )

    def is_removed(self, seq: int) -> bool:
        """Whether the item of this number would be in a batch whose items have been deleted."""
        segment = segment_of(seq)
        return any(one.items_removed and one.after < segment <= one.upto for one in self.manifests())

    def size_of(self, manifest: Manifest) -> tuple[int, int]:
        """The bytes of a batch's items, and of its elements."""
        sizes = {path: _size(path) for path in self.files_of(manifest)}
        items = sum(size for path, size in sizes.items() if path.parent == self._items)
        return items, sum(sizes.values()) - items

    def published(self, upto: int) -> Manifest | None:
        """The batch of that name, if it was published."""
        found: list[Manifest] = []
        for path in self._batches.glob(f"{upto:012d}*.json"):
            with suppress(FileNotFoundError, DamagedFileError):
                found.append(self._read(path))
        return min(found, key=_widest_first, default=None)

    def path_of(self, manifest: Manifest) -> Place:
        """Where the manifest is: older versions gave one that was merged or emptied the name of its last batch."""
        path = self._batches / manifest_name(manifest)
        return path if path.exists() else self._batches / f"{manifest.upto:012d}.json"

    def latest(self) -> int:
        """The last landing segment whose documents were published; 0 before the first."""
        return latest_batch(self._batches)

    def damages(self) -> dict[Place, str]:
        """By path, what is wrong with files of the log, as far as this process has noticed."""
        self.manifests()
        files = {path for manifest in self.manifests() for path in self.files_of(manifest)}
        self._found = {path: why for path, why in self._found.items() if path in files}
        there = {path for folder in self._folders for path in folder.glob("[0-9]*")}
        missing = dict.fromkeys(files - there, "it is missing")
        return {**self._spoilt, **missing, **self._found}

    def files_of(self, manifest: Manifest) -> list[Place]:
        """The files that readers open of a batch."""
        names = (
            manifest.item_files,
            manifest.element_files,
            manifest.annotation_files,
            manifest.made_files,
            manifest.source_files,
        )
        return [folder / name for folder, many in zip(self._folders, names, strict=True) for name in many]

    def names_there(self) -> list[str]:
        """The names of all files that are there, whether a manifest names them or not."""
        folders = (*self._folders, self._directory / "seen")
        return sorted(path.name for folder in folders for path in folder.glob("[0-9]*"))

    def check(self, manifest: Manifest) -> dict[Place, str]:
        """By path, what is wrong with the files of a batch; every byte is read."""
        return {path: why for path in self.files_of(manifest) if (why := trouble_with(path))}

    def opened(self, path: Place, read: Callable[[Place], T], nothing: T) -> T:
        """Read a file. One that is damaged is recorded and counts as empty, so that the rest can be read."""
        try:
            return read(path)
        except DamagedFileError as error:
            return self._noticed(path, error.reason, nothing)
        except FileNotFoundError:
            if any(path in self.files_of(manifest) for manifest in self.manifests()):
                return self._noticed(path, "it is missing", nothing)
            raise  # a compaction took it in

    def _noticed(self, path: Place, why: str, nothing: T) -> T:
        if path not in self._found:
            _log.error("%s is damaged and left out: %s", path, why)
        self._found[path] = why
        return nothing

    def manifests(self) -> list[Manifest]:
        """All batches, newest first."""
        listed = self._listed()
        found = self._found_in(listed)
        for _ in range(_PATIENCE):
            if not self._spoilt or (again := self._listed()) == listed:
                break
            # A merge has taken manifests away after they were listed, or while they were: its own is there now.
            listed = again
            found = self._found_in(listed)
        return found

    def _found_in(self, listed: Sequence[tuple[str, int]]) -> list[Manifest]:
        read: dict[tuple[str, int], Manifest] = {}
        spoilt: dict[Place, str] = {}
        expected = newest_of(self._batches, (name for name, _ in listed if name.endswith(".json")))
        for name, changed in listed:
            try:
                read[name, changed] = self._manifests.get((name, changed)) or self._read(self._batches / name)
            except FileNotFoundError:
                continue
            except DamagedFileError as error:
                spoilt[error.path] = error.reason
        found: list[Manifest] = []
        inside: list[Place] = []
        for (name, _), manifest in sorted(read.items(), key=lambda one: _widest_first(one[1])):
            if found and manifest.upto > found[-1].after:
                inside.append(self._batches / name)
                continue
            spoilt |= self._gap(manifest.upto, expected, spoilt)
            expected = manifest.after
            found.append(manifest)
        spoilt |= self._gap(0, expected, spoilt)
        self._manifests, self._spoilt, self._inside = read, spoilt, inside
        return found

    def was_merged(self, after: int, upto: int) -> bool:
        """Whether a batch whose manifest is lost was compacted from several: the names of its files say so."""
        name = f"{upto:012d}-since-{after:012d}*"
        return any(any(folder.glob(name)) for folder in (self._items, self._elements))

    def _gap(self, upto: int, expected: int, spoilt: Mapping[Place, str]) -> dict[Place, str]:
        """What is missing between two batches, unless a manifest that cannot be read explains it."""
        number = f"{expected:012d}"
        if upto >= expected or any(path.name.startswith(number) for path in spoilt):
            return {}
        path = self._batches / (
            _merged_name(upto, expected) if self.was_merged(upto, expected) else f"{number}.json"
        )
        return {path: f"it is missing: what landed in segments {upto + 1} to {expected} is not shown"}

    def seqs(self, feed: int, limit: int | None = None, *, before: int | None = None) -> _I64:
        """The sequence numbers of a feed's elements, newest first; with `before`, only smaller numbers."""
        return retry_when_compacted(lambda: self._newest(feed, limit, before))

    def _newest(self, feed: int, limit: int | None, before: int | None) -> _I64:
        chunks: list[_I64] = []
        missing = limit
        for manifest in self.manifests():
            if before is not None and manifest.after >= segment_of(before):
                continue
            own = self.seqs_in(manifest, feed)
            found = own[: None if before is None else np.searchsorted(own, before)][::-1][:missing]
            chunks.append(found)
            if missing is not None:
                missing -= len(found)
                if not missing:
                    break
        return np.concatenate(chunks) if chunks else np.empty(0, np.int64)

    def figures(self, feeds: Sequence[int]) -> tuple[_I64, _I64]:
        """The number of elements of each feed, and the sequence number of its newest; 0 if it has none."""
        return retry_when_compacted(lambda: self._counted(np.asarray(feeds, np.int64)))

    def _counted(self, feeds: _I64) -> tuple[_I64, _I64]:
        counts, newest = np.zeros(len(feeds), np.int64), np.zeros(len(feeds), np.int64)
        for manifest in self.manifests():
            for keys, seqs in self._near(manifest, np.unique(feeds)):
                first, last = np.searchsorted(keys, feeds, "left"), np.searchsorted(keys, feeds, "right")
                has_any = last > first
                counts += last - first
                newest[has_any] = np.maximum(newest[has_any], seqs[last[has_any] - 1])
        return counts, newest

    def is_in(self, feeds: _I64, seqs: _I64) -> npt.NDArray[np.bool_]:
        """Which of these pairs are elements."""
        return retry_when_compacted(lambda: self._held(feeds, seqs))

    def _held(self, feeds: _I64, seqs: _I64) -> npt.NDArray[np.bool_]:
        found = np.zeros(len(feeds), np.bool_)
        for manifest in self.manifests() if len(feeds) else ():
            first, end = (first_seq(document_number(one + 1, 0)) for one in (manifest.after, manifest.upto))
            asked = np.flatnonzero((first <= seqs) & (seqs < end))
            for keys, numbers in self._near(manifest, np.unique(feeds[asked])):
                low, high = (np.searchsorted(keys, feeds[asked], side) for side in ("left", "right"))
                for place in np.flatnonzero(low < high).tolist():
                    own, seq = numbers[low[place] : high[place]], seqs[asked[place]]
                    found[asked[place]] |= own[min(int(np.searchsorted(own, seq)), len(own) - 1)] == seq
        return found

    def items(self, seqs: Sequence[int], *, arrived_after: datetime | None = None) -> pa.Table:
        """The items with these numbers (those of them that arrived after a moment), in the order of the stream."""
        return retry_when_compacted(lambda: self._items_numbered(seqs, arrived_after))

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

    def versions_at(self, seqs: Sequence[int]) -> dict[int, int]:
        """By number the version of the definitions that an item was matched against; 0 when that is not known."""
        found = dict.fromkeys(seqs, 0)
        for manifest, some in _by_manifest(self.manifests(), sorted(found)):
            if manifest.batches == 1 or manifest.versions:
                found |= {
                    seq: next(version for upto, version in manifest.steps if segment_of(seq) <= upto)
                    for seq in some
                }
        return found

    def revisions(self, source: str, identity: str) -> list[Item]:
        """All stored revisions of an item, in the order of the stream."""
        wanted = (pc.field("source") == source) & (pc.field("identity") == identity)
        nothing = ITEM_SCHEMA.empty_table()
        found = (
            item
            for path in self.item_paths()
            for item in items_of(self.opened(path, lambda one: read_parquet(one, filters=wanted), nothing))
        )
        return sorted(found, key=lambda item: item.seq)

    def item_paths(self) -> list[Place]:
        """The readable Parquet files of the item log, newest batch first."""
        paths = [self._items / name for manifest in self.manifests() for name in sorted(manifest.item_files)]
        return [path for path in paths if self.opened(path, _is_sound, nothing=False)]

    def element_table(self, manifests: Sequence[Manifest]) -> pa.Table:
        """All elements of some batches, sorted by feed, then by seq."""
        names = [name for manifest in manifests for name in manifest.element_files]
        nothing = ELEMENT_SCHEMA.empty_table()
        tables = [nothing, *(self._element_file(name).table() for name in names)]
        return pa.concat_tables(tables).sort_by([("feed", "ascending"), ("seq", "ascending")])

    def element_runs(self, manifests: Sequence[Manifest]) -> list[SortedFile]:
        """The elements of some batches, of which parts can be read."""
        return [self._element_file(name) for manifest in manifests for name in manifest.element_files]

    def element_parts(self, manifests: Sequence[Manifest]) -> Iterator[Run]:
        """The elements of some batches, some at a time."""
        return (part for run in self.element_runs(manifests) for part in run.parts())

    def _near(self, manifest: Manifest, feeds: _I64) -> Iterator[Run]:
        names = manifest.element_files if len(feeds) else ()
        return (run for name in names for run in self._element_file(name).near(feeds))

    def seqs_in(self, manifest: Manifest, feed: int) -> _I64:
        """The elements of a feed in a batch, oldest first."""
        found = [self._element_file(name).seqs_of(feed) for name in manifest.element_files]
        return np.unique(np.concatenate([np.empty(0, np.int64), *found]))

    def item_table(self, manifests: Sequence[Manifest], columns: Sequence[str] | None = None) -> pa.Table:
        """All items of some batches, in the order of the stream."""
        names = [name for manifest in manifests for name in manifest.item_files]
        wanted = list(columns or ITEM_SCHEMA.names)
        nothing = ITEM_SCHEMA.empty_table().select(wanted)
        read = partial(read_parquet, columns=wanted)
        tables = [nothing, *(self.opened(self._items / name, read, nothing) for name in names)]
        return pa.concat_tables(tables).sort_by("seq")

    def item_tables(self, manifests: Sequence[Manifest], after: int | None = None) -> Iterator[pa.Table]:
        """The items of each of some batches, or only those after a number, in the order of the stream.

        All files are opened before the first is read: the last one's turn may come late, and a compaction may have
        taken it in by then.
        """
        held = [
            [
                (path, self.opened(path, _held, None))
                for path in (self._items / name for name in one.item_files)
            ]
            for one in manifests
        ]
        wanted = None if after is None else pc.field("seq") > after
        return (self._held_table(files, wanted) for files in held)

    def _held_table(
        self, files: Sequence[tuple[Place, IO[bytes] | None]], wanted: pc.Expression | None
    ) -> pa.Table:
        nothing, read = ITEM_SCHEMA.empty_table(), partial(read_held_parquet, filters=wanted)
        reads = ((path, partial(read, file=file)) for path, file in files if file is not None)
        tables = [nothing, *(self.opened(path, read, nothing) for path, read in reads)]
        return pa.concat_tables(tables).sort_by("seq")

    def _items_of(self, manifest: Manifest, seqs: list[int], arrived_after: datetime | None) -> pa.Table:
        paths = [self._items / name for name in manifest.item_files]
        wanted = pc.field("seq").isin(seqs)
        if arrived_after is not None:
            wanted &= pc.field("arrived") > pa.scalar(arrived_after, ITEM_SCHEMA.field("arrived").type)
        nothing, read = ITEM_SCHEMA.empty_table(), partial(read_parquet, filters=wanted)
        tables = [self.opened(path, read, nothing) for path in paths]
        return pa.concat_tables(tables)

    def _element_file(self, name: str) -> SortedFile:
        return self.opened(self._elements / name, open_sorted, _NO_ELEMENTS)

    def _listed(self) -> list[tuple[str, int]]:
        if not isinstance(self._batches, ObjectPath):
            return _scanned(self._batches)
        return sorted((path.name, state.st_mtime_ns) for path, state in self._batches.listed("[0-9]*"))

    def _read(self, path: Place) -> Manifest:
        try:
            manifest = Manifest.from_json(read_json(path))
        except (TypeError, KeyError, ValueError, AttributeError) as error:
            raise DamagedFileError(path, f"it is not a manifest: {error}") from error
        return manifest


def _scanned(directory: Path) -> list[tuple[str, int]]:
    """The names in a directory that begin with a digit, with their times; it is asked for by every reader."""
    found: list[tuple[str, int]] = []
    with suppress(FileNotFoundError):
        for entry in os.scandir(directory):
            if entry.name[0].isdigit():
                with suppress(FileNotFoundError):
                    found.append((entry.name, entry.stat().st_mtime_ns))
    return sorted(found)


def manifest_name(manifest: Manifest) -> str:
    """What a manifest is called: never two different ones the same."""
    if manifest.batches == 1 and not any(manifest.is_emptied):
        return f"{manifest.upto:012d}.json"
    return _merged_name(manifest.after, manifest.upto, sum(manifest.is_emptied))


def _merged_name(after: int, upto: int, emptied: int = 0) -> str:
    return f"{upto:012d}-since-{after:012d}{f'-{emptied}' if emptied else ''}.json"


def _widest_first(manifest: Manifest) -> tuple[int, int, int]:
    """The newest first; of those that end at one segment the one that replaced the others."""
    return -manifest.upto, manifest.after, -sum(manifest.is_emptied)


def trouble_with(path: Place) -> str:
    """What is wrong with a file; empty if nothing is."""
    try:
        _is_sound(path)
    except FileNotFoundError:
        return "it is missing"
    except DamagedFileError as error:
        return error.reason
    return ""


def _held(path: Place) -> IO[bytes] | None:
    return local(path).open("rb")


def _is_sound(path: Place) -> bool:
    INSPECTOR.check(path)
    try:
        pq.read_metadata(local(path)) if path.suffix == ".parquet" else opened_arrow(path)
    except FileNotFoundError:
        raise
    except (pa.ArrowException, OSError) as error:
        raise DamagedFileError(path, str(error)) from error
    return True


def _by_manifest(manifests: list[Manifest], seqs: list[int]) -> Iterator[tuple[Manifest, list[int]]]:
    for manifest in manifests:
        wanted = [seq for seq in seqs if manifest.after < segment_of(seq) <= manifest.upto]
        if wanted and manifest.item_files:
            yield manifest, wanted


@lru_cache(maxsize=10_000)
def _last_arrival(path: Place) -> datetime | None:
    """When the newest item of a file arrived, by its column statistics; cached, since files never change."""
    try:
        about = pq.read_metadata(local(path))
    except FileNotFoundError:
        raise
    except (pa.ArrowException, OSError) as error:
        raise DamagedFileError(path, str(error)) from error
    column = about.schema.names.index("arrived")
    groups = (about.row_group(place).column(column).statistics for place in range(about.num_row_groups))
    return max((one.max for one in groups if one and one.has_min_max), default=None)


def _size(path: Place) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0
