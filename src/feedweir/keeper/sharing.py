"""Statements read by several processes: shares of them are taken one by one by whoever is free.

Each process is a program of its own, which inherits nothing of this one. What it reads it writes down in columns; what
it claimed and did not finish, because it died, is read here.
"""

from __future__ import annotations

import gc
import logging
import os
import pickle
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from feedweir.items.uncollected import uncollected
from feedweir.keeper.names import Defined, DefinedNames, Stated
from feedweir.keeper.reading import Reading, read

Progress: TypeAlias = Callable[[int, int], None]
SHARE = 4096
"""Definitions that are read in one go: little beside all, so that the last to finish is not waited for long."""
PARALLEL_FROM = 10 * SHARE
"""Definitions from which on starting processes takes less than they save."""
_MOST_PROCESSES = 16
_LOOK_EVERY_S = 0.2
_SCHEMA = pa.schema(
    [("id", pa.int64()), ("name", pa.string()), ("kind", pa.string()), ("statement", pa.string())]
)
_log = logging.getLogger(__name__)


def processes_for(n_definitions: int) -> int:
    """How many processes read so many definitions."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(cores, _MOST_PROCESSES, n_definitions // SHARE) if n_definitions >= PARALLEL_FROM else 1


def read_all(
    definitions: Sequence[Defined],
    wanted: Sequence[int],
    progress: Progress,
    n_processes: int,
    share: int = SHARE,
) -> list[Reading]:
    """The wanted definitions, by place, share by share and in order; they may name any of the others."""
    names = DefinedNames(definitions)
    shares = _Shares(np.array(wanted, np.int64), share, progress)

    def read_here(number: int) -> Reading:
        return read([definitions[place] for place in shares.places(number)], names)

    with uncollected():
        if n_processes > 1:
            with TemporaryDirectory(prefix="feedweir-") as scratch:
                if _is_handed_out(Path(scratch), definitions, shares):
                    return _read_together(Path(scratch), shares, read_here, n_processes - 1)
        found = []
        for number in range(len(shares)):
            shares.tell(number)
            found.append(read_here(number))
        return found


@dataclass(frozen=True, slots=True)
class _Shares:
    """The wanted definitions cut into shares, and who hears how many of these have been read."""

    wanted: np.ndarray[tuple[int], np.dtype[np.int64]]
    size: int
    progress: Progress

    def __len__(self) -> int:
        return -(-len(self.wanted) // self.size)

    def places(self, number: int) -> list[int]:
        found: list[int] = self.wanted[number * self.size : (number + 1) * self.size].tolist()
        return found

    def tell(self, n_read: int) -> None:
        self.progress(min(n_read * self.size, len(self.wanted)), len(self.wanted))


# Handing out


def _is_handed_out(directory: Path, definitions: Sequence[Defined], shares: _Shares) -> bool:
    """Write everything down that other processes need; False when that cannot be done."""
    try:
        columns = [pa.array([getattr(one, name) for one in definitions], type_) for name, type_ in _FIELDS]
        with pa.OSFile(str(directory / "given"), "wb") as file, pa.ipc.new_file(file, _SCHEMA) as writer:
            writer.write_table(pa.table(columns, schema=_SCHEMA))
        np.save(directory / "wanted.npy", shares.wanted)
    except (OSError, UnicodeError, pa.ArrowException) as error:
        _log.warning("statements are not shared out: %s", error)
        return False
    return True


_FIELDS = [(one.name, one.type) for one in _SCHEMA]


def _read_together(
    directory: Path, shares: _Shares, read_here: Callable[[int], Reading], n_others: int
) -> list[Reading]:
    others = [_started(directory, shares.size) for _ in range(n_others)]
    found: dict[int, Reading] = {}

    def tell() -> None:
        shares.tell(len(found) + sum(1 for _ in directory.glob("*.read")))

    try:
        for number in _claimed(directory, len(shares)):
            tell()
            found[number] = read_here(number)
        for other in others:
            _wait_for(other, tell)
    finally:
        for other in others:
            if other.poll() is None:
                other.kill()
                other.wait()
    for number in range(len(shares)):
        if number not in found:
            found[number] = _taken_in(directory, number) or read_here(number)
    return [found[number] for number in range(len(shares))]


def _started(directory: Path, share: int) -> subprocess.Popen[bytes]:
    code = "import sys; from feedweir.keeper.sharing import read_shares; read_shares(*sys.argv[1:])"
    return subprocess.Popen(
        [sys.executable, "-c", code, str(directory), str(share), str(os.getpid())],
        stdin=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )


def _wait_for(other: subprocess.Popen[bytes], tell: Callable[[], None]) -> None:
    while True:
        tell()
        try:
            status = other.wait(_LOOK_EVERY_S)
            break
        except subprocess.TimeoutExpired:
            continue
    if status:
        _log.warning("a process that read statements ended with %d: what it left is read here", status)


def _claimed(directory: Path, n_shares: int) -> Iterator[int]:
    """The shares that nobody else has claimed, one by one."""
    for number in range(n_shares):
        try:
            os.close(os.open(directory / f"{number}.claim", os.O_CREAT | os.O_EXCL | os.O_WRONLY))
        except FileExistsError:
            continue
        yield number


def _taken_in(directory: Path, number: int) -> Reading | None:
    """What another process read; None when it did not come to that."""
    try:
        reading: Reading = pickle.loads((directory / f"{number}.read").read_bytes())
    except FileNotFoundError:
        return None
    return reading


# In the other process


def read_shares(path: str, share: str, parent: str) -> None:
    """Read one share after the other, as long as there are any and somebody waits for them."""
    gc.disable()
    directory = Path(path)
    given = _Given(pa.ipc.open_file(pa.memory_map(str(directory / "given"))).read_all())
    shares = _Shares(np.load(directory / "wanted.npy", mmap_mode="r"), int(share), lambda done, total: None)
    for number in _claimed(directory, len(shares)):
        if os.getppid() != int(parent):
            return
        reading = read(given.rows(shares.places(number)), given)
        draft = directory / f"{number}.draft"
        draft.write_bytes(pickle.dumps(reading, pickle.HIGHEST_PROTOCOL))
        draft.rename(directory / f"{number}.read")


class _Row(NamedTuple):
    id: int
    name: str
    kind: Literal["source", "virtual"]
    statement: str


class _Given(DefinedNames):
    """All definitions in a file that the processes share; those that are asked for are looked up there."""

    def __init__(self, table: pa.Table) -> None:
        super().__init__()
        self._table = table

    def rows(self, places: Sequence[int]) -> Iterator[_Row]:
        columns = self._table.take(pa.array(places, pa.int64())).to_pydict()
        return map(_Row, *columns.values())

    def find(self, name: str) -> Stated | None:
        known = super().find(name)
        if known is None:
            place = self._sources.get(name)
            place = self._places.get(name) if place is None else place
            if place is not None:
                (known,) = self.rows([place])
                self.put(known)
        return known

    def all_names(self) -> Iterable[str]:
        return self._places

    @cached_property
    def _sources(self) -> dict[str, int]:
        """Where sources are: nearly all that statements name, and far fewer than all definitions."""
        places = np.flatnonzero(np.asarray(pc.equal(self._table.column("kind"), "source")))
        return dict(zip(self._table.column("name").take(places).to_pylist(), places.tolist(), strict=True))

    @cached_property
    def _places(self) -> dict[str, int]:
        return dict(zip(self._table.column("name").to_pylist(), range(len(self._table)), strict=True))
