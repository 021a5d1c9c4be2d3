"""The item log and the element log: what batches published, for those who run them and those who read them.

A batch exists when its manifest does. Manifests are named by the last landing segment they cover; one that lies inside
another (left behind by a compaction that was cut short) does not count.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import IO, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from feedweir.engine.batches import Assignment, Manifest
from feedweir.engine.directory import NEWEST, latest_batch
from feedweir.engine.files import (
    again_if_gone,
    open_arrow,
    read_held_parquet,
    read_parquet,
    replace_arrow,
    replace_parquet,
    replace_sealed_json,
)
from feedweir.engine.joined_log import JoinedLog
from feedweir.engine.stage import News
from feedweir.errors import DamagedFileError
from feedweir.items.numbering import document_number, first_seq, segment_of
from feedweir.items.schema import ITEM_SCHEMA
from feedweir.join.features import item_keys
from feedweir.seals import INSPECTOR, read_json

_log = logging.getLogger(__name__)
T = TypeVar("T")

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
        self._directory = directory
        self._batches = directory / "batches"
        self._items = directory / "items"
        self._elements = directory / "elements"
        self.joined = JoinedLog(directory, self.manifests, self._identities, self.opened)
        """What joins found."""
        self._manifests: dict[tuple[str, int], Manifest] = {}
        self._spoilt: dict[Path, str] = {}
        """Manifests that cannot be read, or are missing."""
        self._found: dict[Path, str] = {}
        """Other files that were found damaged or missing when they were opened."""
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
        is_newest = manifest.upto > self.latest()
        replace_sealed_json(self._path(manifest.upto), manifest.to_json())
        if is_newest:
            self.name_newest(manifest.upto)

    def name_newest(self, upto: int) -> None:
        """Write down which batch is the newest: written after its manifest, at most behind."""
        replace_sealed_json(self._batches / NEWEST, {"upto": upto})

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
        try:
            return self._read(self._path(upto))
        except (FileNotFoundError, DamagedFileError):
            return None

    def latest(self) -> int:
        """The last landing segment whose documents were published; 0 before the first."""
        return latest_batch(self._batches)

    def damages(self) -> dict[Path, str]:
        """By path what is wrong with files of the log, as far as this process has noticed."""
        self.manifests()
        files = {path for manifest in self.manifests() for path in self.files_of(manifest)}
        self._found = {path: why for path, why in self._found.items() if path in files}
        missing = {path: "it is missing" for path in files if not path.exists()}
        return {**self._spoilt, **missing, **self._found}

    def files_of(self, manifest: Manifest) -> list[Path]:
        """The files that readers open of a batch."""
        folders = (self._items, self._elements, self._directory / "annotations", self._directory / "made")
        names = (
            manifest.item_files,
            manifest.element_files,
            manifest.annotation_files,
            manifest.made_files,
        )
        return [folder / name for folder, many in zip(folders, names, strict=True) for name in many]

    def check(self, manifest: Manifest) -> dict[Path, str]:
        """Every byte of a batch's files: by path what is wrong."""
        return {path: why for path in self.files_of(manifest) if (why := trouble_with(path))}

    def opened(self, path: Path, read: Callable[[Path], T], nothing: T) -> T:
        """What is read from a file. A damaged one is remembered and holds nothing: it must not take down the rest."""
        try:
            return read(path)
        except DamagedFileError as error:
            return self._noticed(path, error.reason, nothing)
        except FileNotFoundError:
            if any(path in self.files_of(manifest) for manifest in self.manifests()):
                return self._noticed(path, "it is missing", nothing)
            raise  # a compaction took it in

    def _noticed(self, path: Path, why: str, nothing: T) -> T:
        if path not in self._found:
            _log.error("%s is damaged and left out: %s", path, why)
        self._found[path] = why
        return nothing

    def manifests(self) -> list[Manifest]:
        """All batches, newest first."""
        found: list[Manifest] = []
        read: dict[tuple[str, int], Manifest] = {}
        spoilt: dict[Path, str] = {}
        expected = self.latest()
        for name, changed in sorted(self._listed(), reverse=True):
            try:
                manifest = self._manifests.get((name, changed)) or self._read(self._batches / name)
            except FileNotFoundError:
                continue
            except DamagedFileError as error:
                spoilt[error.path] = error.reason
                continue
            read[name, changed] = manifest
            if not found or manifest.upto <= found[-1].after:
                spoilt |= self._gap(manifest.upto, expected, spoilt)
                expected = manifest.after
                found.append(manifest)
        spoilt |= self._gap(0, expected, spoilt)
        self._manifests, self._spoilt = read, spoilt
        return found

    def was_merged(self, after: int, upto: int) -> bool:
        """Whether a batch whose manifest is lost had been compacted from several, as its files are called then."""
        name = f"{upto:012d}-since-{after:012d}*"
        return any(any(folder.glob(name)) for folder in (self._items, self._elements))

    def _gap(self, upto: int, expected: int, spoilt: Mapping[Path, str]) -> dict[Path, str]:
        """What is missing between two batches, unless a manifest that cannot be read is known to be it."""
        path = self._path(expected)
        if upto >= expected or path in spoilt:
            return {}
        return {path: f"it is missing: what landed in segments {upto + 1} to {expected} is not shown"}

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
        """The Parquet files of the item log that can be read, newest batch first."""
        paths = [self._items / name for manifest in self.manifests() for name in sorted(manifest.item_files)]
        return [path for path in paths if self.opened(path, _is_sound, nothing=False)]

    def element_table(self, manifests: Sequence[Manifest]) -> pa.Table:
        """All elements of some batches, sorted by feed, then by seq."""
        names = [name for manifest in manifests for name in manifest.element_files]
        nothing = ELEMENT_SCHEMA.empty_table()
        tables = [nothing, *(self.opened(self._elements / name, open_arrow, nothing) for name in names)]
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
        nothing = ITEM_SCHEMA.empty_table().select(wanted)
        read = partial(read_parquet, columns=wanted)
        tables = [nothing, *(self.opened(self._items / name, read, nothing) for name in names)]
        return pa.concat_tables(tables).sort_by("seq")

    def item_tables(self, manifests: Sequence[Manifest]) -> Iterator[pa.Table]:
        """The items of each of some batches, in the order of the stream.

        All files are opened before the first is read: the last one's turn may come late, and a compaction may have
        taken it in by then.
        """
        held = [
            [(path, self.opened(path, _held, None)) for path in map(self._items.joinpath, one.item_files)]
            for one in manifests
        ]
        return map(self._held_table, held)

    def _held_table(self, files: Sequence[tuple[Path, IO[bytes] | None]]) -> pa.Table:
        nothing = ITEM_SCHEMA.empty_table()
        reads = ((path, partial(read_held_parquet, file=file)) for path, file in files if file is not None)
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

    def _columns(self, name: str) -> Run:
        if name not in self._mapped:
            # Others compact, too: what no batch has any more need not stay mapped.
            known = {one for manifest in self._manifests.values() for one in manifest.element_files}
            self._mapped = {one: run for one, run in self._mapped.items() if one in known}
            table = self.opened(self._elements / name, open_arrow, ELEMENT_SCHEMA.empty_table())
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
        try:
            manifest = Manifest.from_json(read_json(path))
        except (TypeError, KeyError, ValueError, AttributeError) as error:
            raise DamagedFileError(path, f"it is not a manifest: {error}") from error
        return manifest

    def _path(self, upto: int) -> Path:
        return self._batches / f"{upto:012d}.json"


def trouble_with(path: Path) -> str:
    """Why a file is not as it was written; empty when it is."""
    try:
        _is_sound(path)
    except FileNotFoundError:
        return "it is missing"
    except DamagedFileError as error:
        return error.reason
    return ""


def _held(path: Path) -> IO[bytes] | None:
    return path.open("rb")


def _is_sound(path: Path) -> bool:
    INSPECTOR.check(path)
    try:
        pq.read_metadata(path) if path.suffix == ".parquet" else open_arrow(path)
    except FileNotFoundError:
        raise
    except (pa.ArrowException, OSError) as error:
        raise DamagedFileError(path, str(error)) from error
    return True


def task_name(assignment: Assignment) -> str:
    """What the files of a task are called: the same when it is run again."""
    return f"{assignment.upto:012d}-{assignment.parts[0]:03d}"


def _by_manifest(manifests: list[Manifest], seqs: list[int]) -> Iterator[tuple[Manifest, list[int]]]:
    for manifest in manifests:
        wanted = [seq for seq in seqs if manifest.after < segment_of(seq) <= manifest.upto]
        if wanted and manifest.item_files:
            yield manifest, wanted
