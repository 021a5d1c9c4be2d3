"""Rows that no manifest names, in files that say by their names what they cover: `UPTO-since-AFTER.parquet`.

Which files count follows from the names alone: those that lie in no other. So appending and merging are one file each,
complete or absent, and whoever repeats either finds it done.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise

import pyarrow as pa
import pyarrow.parquet as pq

from feedweir.storage import Place, listed, local, put_absent

_NAME = re.compile(r"(\d{12,})-since-(\d{12,})\.parquet")
_FAN_IN = 16
_MOST_BYTES = 64 << 20
"""Larger files are not merged."""


@dataclass(frozen=True, slots=True)
class RangeFile:
    """A file with the rows of the numbers `after < number <= upto`."""

    name: str
    after: int
    upto: int
    size: int
    changed: datetime


class RangeLog:
    """One folder of such files, written by one process at a time; a second one does no harm."""

    def __init__(self, folder: Place) -> None:
        self._folder = folder

    def files(self) -> list[RangeFile]:
        """The files that count, in order."""
        return _counting(self._found())

    def end(self) -> int:
        """The last number whose rows are there."""
        files = self.files()
        return files[-1].upto if files else 0

    def read(self, file: RangeFile) -> pa.Table:
        return pq.read_table(local(self._folder / file.name))

    def append(self, upto: int, rows: pa.Table) -> None:
        """Add the rows of the numbers up to this one."""
        self._put(self.end(), upto, rows)

    def merge(self) -> None:
        """Make one of many small files."""
        while run := _run(self.files()):
            rows = pa.concat_tables(map(self.read, run), promote_options="default")
            self._put(run[0].after, run[-1].upto, rows)

    def remove_merged(self, before: datetime) -> None:
        """Delete what is in a file that was made before then: nobody can be reading the parts any more."""
        found = self._found()
        kept = _counting(found)
        for one in found:
            is_in = (other for other in kept if other.after <= one.after and one.upto <= other.upto)
            if one not in kept and all(other.changed < before for other in is_in):
                (self._folder / one.name).unlink(missing_ok=True)

    def forget(self, upto: int) -> None:
        """Leave out whole files of numbers up to this one, but not the newest."""
        for one in self.files()[:-1]:
            if one.upto <= upto:
                (self._folder / one.name).unlink(missing_ok=True)

    def _found(self) -> list[RangeFile]:
        named = (
            (state, _NAME.fullmatch(path.name)) for path, state in listed(self._folder, "[0-9]*.parquet")
        )
        return [
            RangeFile(
                one[0], int(one[2]), int(one[1]), state.st_size, datetime.fromtimestamp(state.st_mtime, UTC)
            )
            for state, one in named
            if one
        ]

    def _put(self, after: int, upto: int, rows: pa.Table) -> None:
        sink = pa.BufferOutputStream()
        pq.write_table(rows, sink, compression="zstd", compression_level=3)
        name = f"{upto:012d}-since-{after:012d}.parquet"
        put_absent(self._folder / name, sink.getvalue().to_pybytes())


def _counting(found: Sequence[RangeFile]) -> list[RangeFile]:
    """Those that lie in no other, in order."""
    kept: list[RangeFile] = []
    for file in sorted(found, key=lambda one: (one.after, -one.upto)):
        if not kept or file.upto > kept[-1].upto:
            kept.append(file)
    return kept


def _run(files: Sequence[RangeFile]) -> Sequence[RangeFile]:
    """Neighbours of one size."""
    small = [one for one in files if one.size < _MOST_BYTES]
    for first in range(len(small) - _FAN_IN + 1):
        run = small[first : first + _FAN_IN]
        total = sum(one.size for one in run)
        is_even = all(one.size * 2 <= total for one in run)
        if is_even and all(one.upto == two.after for one, two in pairwise(run)):
            return run
    return ()
