"""Parsing statements in several processes, which take shares of them one by one.

Each process is a separate program that inherits nothing from this one; a thread here waits for it. (Processes of
`ProcessPoolExecutor` would run the main module of our caller again.) If a process dies, its share is parsed here.
"""

from __future__ import annotations

import gc
import logging
import os
import pickle
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext, suppress
from functools import cached_property, partial
from pathlib import Path
from subprocess import PIPE, Popen
from tempfile import TemporaryDirectory
from typing import IO, Literal, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from feedweir.compile.compiled_plans import CompiledFeeds, read
from feedweir.items.gc_pause import gc_paused
from feedweir.language.defined_names import Defined, DefinedNames, Stated
from feedweir.plan.vocabularies import VOCABULARY

Progress: TypeAlias = Callable[[int, int], None]
ReadShare: TypeAlias = Callable[[Sequence[int]], CompiledFeeds]
Take: TypeAlias = Callable[[ReadShare], Iterator[None]]
"""Parse shares that no other process has begun, one by one."""
SHARE = 4096
"""Definitions in one share: few compared with all, so that the last share does not take long."""
PARALLEL_FROM = 10 * SHARE
"""The number of definitions from which on processes save more time than starting them takes."""
_MOST_PROCESSES = 16
_SCHEMA = pa.schema(
    [("id", pa.int64()), ("name", pa.string()), ("kind", pa.string()), ("statement", pa.string())]
)
_log = logging.getLogger(__name__)


def processes_for(n_definitions: int) -> int:
    """The number of processes for so many definitions."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(cores, _MOST_PROCESSES, n_definitions // SHARE) if n_definitions >= PARALLEL_FROM else 1


def read_all(
    definitions: Sequence[Defined],
    wanted: Sequence[int],
    progress: Progress,
    n_processes: int,
    share: int = SHARE,
) -> list[CompiledFeeds]:
    """The wanted definitions, by place, share by share and in order; they may name any of the others."""
    names = DefinedNames(definitions)
    shares = [wanted[first : first + share] for first in range(0, len(wanted), share)]

    def read_here(places: Sequence[int]) -> CompiledFeeds:
        return read([definitions[place] for place in places], names)

    def tell(n_read: int) -> None:
        progress(min(n_read * share, len(wanted)), len(wanted))

    with (
        gc_paused(),
        TemporaryDirectory(prefix="feedweir-") if n_processes > 1 else nullcontext() as scratch,
    ):
        others = []
        if scratch and _is_handed_out(given := Path(scratch) / "given", definitions):
            others = [partial(_read_elsewhere, given)] * (n_processes - 1)
        return _read_together(shares, read_here, tell, others)


# Handing out


def _is_handed_out(given: Path, definitions: Sequence[Defined]) -> bool:
    """Write what other processes need to a file; False if that fails."""
    try:
        columns = [
            pa.array([getattr(one, field.name) for one in definitions], field.type) for field in _SCHEMA
        ]
        with pa.OSFile(str(given), "wb") as file, pa.ipc.new_file(file, _SCHEMA) as writer:
            writer.write_table(pa.table(columns, schema=_SCHEMA))
    except (OSError, UnicodeError, pa.ArrowException) as error:
        _log.warning("statements are parsed in this process only: %s", error)
        return False
    return True


def _read_together(
    shares: Sequence[Sequence[int]],
    read_here: ReadShare,
    tell: Callable[[int], None],
    others: Sequence[Callable[[Take], None]],
) -> list[CompiledFeeds]:
    """Parse every share once, in this thread or in one that waits for another process."""
    numbers = iter(range(len(shares)))
    found: dict[int, CompiledFeeds] = {}

    def take(read_share: ReadShare) -> Iterator[None]:
        for number in numbers:
            found[number] = read_share(shares[number])
            yield

    with ThreadPoolExecutor(max(len(others), 1)) as pool:
        waiting = [pool.submit(other, take) for other in others]
        try:
            tell(0)
            for _ in take(read_here):
                tell(len(found))
        finally:
            deque(numbers, 0)  # whatever happened, the other threads begin no further share
        for one in waiting:
            one.result()
    left = [number for number in range(len(shares)) if number not in found]
    found |= {number: read_here(shares[number]) for number in left}
    tell(len(found))
    return [found[number] for number in range(len(shares))]


def _read_elsewhere(given: Path, take: Take) -> None:
    """Have another process parse shares; if it dies, its share is left."""
    try:
        with _started(given) as other:
            assert other.stdin is not None
            assert other.stdout is not None
            deque(take(partial(_asked, other.stdin, other.stdout)), 0)
    except (OSError, EOFError, pickle.UnpicklingError) as error:
        _log.warning("a process that parsed statements ended; the rest is parsed here: %r", error)


def _started(given: Path) -> Popen[bytes]:
    code = "import sys; from feedweir.compile.statement_shares import read_shares; read_shares(sys.argv[1])"
    paths = os.pathsep.join(filter(None, sys.path))
    return Popen(
        [sys.executable, "-c", code, str(given)],
        stdin=PIPE,
        stdout=PIPE,
        env={**os.environ, "PYTHONPATH": paths},
    )


def _asked(questions: IO[bytes], answers: IO[bytes], places: Sequence[int]) -> CompiledFeeds:
    pickle.dump(list(places), questions)
    questions.flush()
    reading: CompiledFeeds = pickle.load(answers)
    return reading


# In the other process


def read_shares(path: str) -> None:
    """Parse shares as they are requested, until standard input ends."""
    gc.disable()
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # nothing that is printed may get among the answers
    given = _Given(pa.ipc.open_file(pa.memory_map(path)).read_all())
    with suppress(EOFError):
        while True:
            pickle.dump(
                read(given.rows(pickle.load(sys.stdin.buffer)), given), answers, pickle.HIGHEST_PROTOCOL
            )
            answers.flush()


class _Row(NamedTuple):
    id: int
    name: str
    kind: Literal["source", "virtual"]
    statement: str


class _Given(DefinedNames):
    """All definitions, in a file that the processes share; they are looked up as needed."""

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

    def _vocabularies(self) -> Iterable[Stated]:
        statements = pc.starts_with(self._table.column("statement"), VOCABULARY)
        return self.rows(np.flatnonzero(np.asarray(statements)).tolist())

    @cached_property
    def _sources(self) -> dict[str, int]:
        """The places of sources: statements name little else, and they are far fewer than all definitions."""
        places = np.flatnonzero(np.asarray(pc.equal(self._table.column("kind"), "source")))
        return dict(zip(self._table.column("name").take(places).to_pylist(), places.tolist(), strict=True))

    @cached_property
    def _places(self) -> dict[str, int]:
        return dict(zip(self._table.column("name").to_pylist(), range(len(self._table)), strict=True))
