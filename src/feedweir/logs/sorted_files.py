"""Parquet files whose rows are sorted by feed: who asks for one feed decodes the few row groups that hold it.

Elements are integers in order, which are packed as differences: two to four bytes a pair. A file is opened once in a
process and mapped, so that whoever reads it can go on when a compaction has deleted it. Files that an older version
wrote in Arrow's own format are mapped and read in the same way.
"""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Protocol, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from feedweir.errors import DamagedFileError
from feedweir.logs import seals
from feedweir.storage import Place, local, replacing

_I64 = npt.NDArray[np.int64]
Run: TypeAlias = tuple[_I64, _I64]
"""Feeds and sequence numbers of elements, sorted by both."""

KEY = "feed"
ROWS_PER_GROUP = 8_192
"""A tenth of a millisecond to decode."""
_AT_ONCE = 16
"""Row groups that are decoded together by who reads a whole file."""
_OPEN_FILES = 1_024
_HELD_GROUPS = 512
"""Some 64 MB of elements."""


class SortedRun(Protocol):
    """Elements, sorted, of which parts are read."""

    def __len__(self) -> int: ...

    def part(self, first: int, end: int) -> Run:
        """The elements from one place to another."""


class SortedFile:
    """A file of rows sorted by feed: row groups, and between which feeds each lies."""

    def __init__(
        self, size: int, offsets: _I64, lows: _I64, highs: _I64, read: _Read, names: list[str]
    ) -> None:
        self._size = size
        self._offsets = offsets
        """Where each row group begins, and where the last one ends."""
        self._lows, self._highs = lows, highs
        self._read = read
        self.names = names
        """The columns."""

    def __len__(self) -> int:
        return self._size

    def of_feed(self, feed: int) -> pa.Table:
        """The rows of one feed, with all columns."""
        groups = self._groups(feed, feed)
        if not len(groups):
            return self._read([], None)
        table = self._read(groups.tolist(), None)
        low, high = np.searchsorted(table.column(KEY).to_numpy(), [feed, feed + 1]).tolist()
        return table.slice(low, high - low)

    def seqs_of(self, feed: int) -> _I64:
        """The elements of one feed."""
        found = []
        for group in self._groups(feed, feed).tolist():
            feeds, seqs = _decoded(self, group)
            low, high = np.searchsorted(feeds, [feed, feed + 1])
            found.append(seqs[low:high])
        if len(found) == 1:
            return found[0]
        return np.concatenate([np.empty(0, np.int64), *found])

    def near(self, feeds: _I64) -> Iterator[Run]:
        """The elements of some feeds, given in ascending order, among others that lie beside them."""
        first = np.searchsorted(self._highs, feeds, "left")
        end = np.searchsorted(self._lows, feeds, "right")
        wanted = np.zeros(len(self._lows) + 1, np.int64)
        np.add.at(wanted, np.minimum(first, end), 1)
        np.add.at(wanted, end, -1)
        groups = np.flatnonzero(np.cumsum(wanted[:-1]) > 0)
        if len(groups) <= 2:  # as when one feed is asked for
            yield from (_decoded(self, group) for group in groups.tolist())
        else:
            yield from self._runs(groups)

    def parts(self) -> Iterator[Run]:
        """All elements, some at a time."""
        yield from self._runs(np.arange(len(self._lows)))

    def part(self, first: int, end: int) -> Run:
        """The elements from one place to another."""
        end = min(end, self._size)
        if first >= end:
            return np.empty(0, np.int64), np.empty(0, np.int64)
        low = int(np.searchsorted(self._offsets, first, "right")) - 1
        high = int(np.searchsorted(self._offsets, end, "left"))
        runs = [_decoded(self, group) for group in range(low, high)]
        feeds, seqs = (np.concatenate(columns) for columns in zip(*runs, strict=True))
        start = int(self._offsets[low])
        return feeds[first - start : end - start], seqs[first - start : end - start]

    def table(self) -> pa.Table:
        """Everything."""
        return self._read(list(range(len(self._lows))), None)

    def run(self, groups: list[int]) -> Run:
        """The elements of some row groups."""
        table = self._read(groups, ["feed", "seq"])
        return table.column("feed").to_numpy(), table.column("seq").to_numpy()

    def _runs(self, groups: npt.NDArray[np.intp]) -> Iterator[Run]:
        for place in range(0, len(groups), _AT_ONCE):
            yield self.run(groups[place : place + _AT_ONCE].tolist())

    def _groups(self, low: int, high: int) -> npt.NDArray[np.intp]:
        return np.flatnonzero((self._lows <= high) & (low <= self._highs))


_Read: TypeAlias = Callable[[list[int], "Sequence[str] | None"], pa.Table]


def no_rows(schema: pa.Schema) -> SortedFile:
    """What is read in the place of a file that is damaged."""
    nothing = np.empty(0, np.int64)

    def read(groups: list[int], columns: Sequence[str] | None) -> pa.Table:
        return _from_memory(schema.empty_table())(groups, columns)  # made when asked for: it imports pandas

    return SortedFile(0, np.zeros(1, np.int64), nothing, nothing, read, schema.names)


def _from_memory(table: pa.Table) -> _Read:
    def read(groups: list[int], columns: Sequence[str] | None) -> pa.Table:
        some = table if groups else table.slice(0, 0)
        return some.select(list(columns)) if columns else some

    return read


@lru_cache(maxsize=_HELD_GROUPS)
def _decoded(file: SortedFile, group: int) -> Run:
    return file.run([group])


def replace_sorted(path: Place, table: pa.Table) -> None:
    """Write a file of rows that are sorted by feed, sealed; integers are packed as differences."""
    packed = [field.name for field in table.schema if pa.types.is_integer(field.type)]
    with replacing(path) as file:
        with pq.ParquetWriter(
            file,
            table.schema,
            compression="zstd",
            compression_level=1,
            use_dictionary=[field.name for field in table.schema if pa.types.is_string(field.type)],
            column_encoding=dict.fromkeys(packed, "DELTA_BINARY_PACKED"),
        ) as writer:
            writer.write_table(table, row_group_size=ROWS_PER_GROUP)
            writer.add_key_value_metadata(seals.METADATA)
        seals.seal(file, seals.name_of(path))


_OPENED: OrderedDict[tuple[Path, int, int], SortedFile] = OrderedDict()


def open_sorted(place: Place) -> SortedFile:
    """A file of rows that are sorted by feed. `DamagedFileError` when it is damaged."""
    seals.INSPECTOR.check(place)
    path = local(place)
    state = os.stat(path)
    key = (path, state.st_ino, state.st_mtime_ns)
    known = _OPENED.get(key)
    if known is None:
        known = _of_parquet(path) if path.suffix == ".parquet" else _of_arrow(path)
        _OPENED[key] = known
        while len(_OPENED) > _OPEN_FILES:
            _OPENED.popitem(last=False)
    return known


def _of_parquet(path: Path) -> SortedFile:
    try:
        with pa.memory_map(str(path)) as mapped:
            data = mapped.read_buffer()  # it stays mapped as long as somebody holds it
        about = pq.read_metadata(pa.BufferReader(data))
    except FileNotFoundError:
        raise
    except (pa.ArrowException, OSError) as error:
        raise DamagedFileError(path, str(error)) from error
    counts, lows, highs = _groups_in(about)
    schema = about.schema.to_arrow_schema()

    def read(groups: list[int], columns: Sequence[str] | None) -> pa.Table:
        try:
            file = pq.ParquetFile(pa.BufferReader(data), metadata=about)
            return file.read_row_groups(groups, columns=columns, use_threads=False).combine_chunks()
        except (pa.ArrowException, OSError) as error:
            raise DamagedFileError(path, str(error)) from error

    offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    return SortedFile(about.num_rows, offsets, lows, highs, read, schema.names)


def _groups_in(about: pq.FileMetaData) -> tuple[_I64, _I64, _I64]:
    """How many rows each row group has, its first feed and its last."""
    at = about.schema.to_arrow_schema().names.index(KEY)  # no column before it is nested
    groups = [about.row_group(place) for place in range(about.num_row_groups)]
    groups = [group for group in groups if group.num_rows]
    told = [group.column(at).statistics for group in groups]
    rows = [(group.num_rows, one.min, one.max) for group, one in zip(groups, told, strict=True)]
    counts, lows, highs = np.array(rows, np.int64).reshape(-1, 3).T
    return counts, lows, highs


def _of_arrow(path: Path) -> SortedFile:
    table = seals.opened_arrow(path).combine_chunks()
    feeds = table.column(KEY).to_numpy()
    ends = feeds[[0, -1]] if len(feeds) else np.empty(0, np.int64)

    offsets = np.array([0, len(feeds)][: 1 + (len(feeds) > 0)], np.int64)
    return SortedFile(len(feeds), offsets, ends[:1], ends[1:], _from_memory(table), table.column_names)
