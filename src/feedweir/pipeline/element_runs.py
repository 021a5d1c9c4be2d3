"""Elements as sorted runs: however many there are, a task and a compaction hold only some of them at a time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from feedweir.join.task_output import StreamLog, shown_and_hidden
from feedweir.logs.batches import Assignment
from feedweir.logs.sorted_files import Run, SortedRun
from feedweir.logs.store import ELEMENT_SCHEMA, Store
from feedweir.match import Matches
from feedweir.match.matching.answer_parts import PAIRS_AT_ONCE, joined
from feedweir.pipeline.stage import elements_of
from feedweir.pipeline.task_log import log_elements

_I64: TypeAlias = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Written:
    """What elements were written: the files, and how many in all."""

    files: tuple[str, ...] = ()
    count: int = 0
    held: int = 0
    """The most pairs that were in memory at a time."""

    def with_run(self, name: str, count: int) -> Written:
        return Written((*self.files, name), self.count + count, self.held)

    def with_held(self, held: int) -> Written:
        return Written(self.files, self.count, max(self.held, held))


class ElementWriter:
    """Writes the pairs that a matcher gives in parts as one sorted file, or as several when they are many.

    Which they are follows from the pairs and the limit alone, so that a repeated task writes the same. Those of
    streams, which only the joins of this batch read, are not for the log.
    """

    def __init__(
        self,
        store: Store,
        streams: StreamLog,
        assignment: Assignment,
        items: pa.RecordBatch,
        limit: int = PAIRS_AT_ONCE,
    ) -> None:
        self._store = store
        self._streams = streams
        self._assignment = assignment
        self._items = items
        self._limit = limit
        self._waiting: list[Matches] = []
        self._written = Written()
        self._hidden = 0

    def add(self, part: Matches) -> None:
        held = sum(map(len, self._waiting)) + max(len(part), part.work.held)
        self._waiting.append(part)
        self._written = self._written.with_held(held)
        if sum(map(len, self._waiting)) >= self._limit:
            self._write()

    def finish(self) -> Written:
        """What was written in all."""
        self._write()
        return self._written

    def _write(self) -> None:
        pairs = joined(self._waiting)
        self._waiting = []
        if not len(pairs):
            return
        shown, hidden = shown_and_hidden(elements_of(self._items, pairs))
        if shown.num_rows:
            name = run_name(self._assignment.name, len(self._written.files))
            self._store.write_elements(name, shown)
            log_elements("matched", self._assignment.upto, shown)
            self._written = self._written.with_run(name, shown.num_rows)
        if hidden.num_rows:
            self._streams.write(self._assignment, self._hidden, hidden)
            self._hidden += 1


def run_name(name: str, number: int) -> str:
    """What the runs of a task, or of a compaction, are called."""
    return f"{name}.parquet" if number == 0 else f"{name}-{number:06d}.parquet"


class JoinInputs:
    """The rows of a batch that belong to streams which joins read, by group of streams; collected part by part."""

    def __init__(self, streams: Mapping[int, _I64], n_rows: int) -> None:
        self._streams = streams
        self._rows = {group: np.zeros(n_rows, np.bool_) for group in streams}

    def note(self, part: Matches) -> None:
        if not self._streams:
            return
        hidden = np.flatnonzero(part.keys < 0)
        for group, keys in self._streams.items():
            is_in = np.isin(part.keys[hidden], keys)
            self._rows[group][part.rows[hidden[is_in]]] = True

    def seqs(self, items: pa.RecordBatch) -> dict[int, _I64]:
        numbers = items.column("seq").to_numpy()
        return {group: numbers[rows] for group, rows in self._rows.items()}


def write_merged(
    store: Store, name: str, runs: Sequence[SortedRun], limit: int = PAIRS_AT_ONCE
) -> tuple[str, ...]:
    """Write sorted runs as one sorted file, or as several that follow each other; their names."""
    names: list[str] = []
    waiting: list[pa.Table] = []

    def write() -> None:
        if waiting:
            names.append(run_name(name, len(names)))
            store.write_elements(names[-1], pa.concat_tables(waiting))
            waiting.clear()

    for table in merged_runs(runs, limit):
        waiting.append(table)
        if sum(each.num_rows for each in waiting) >= limit:
            write()
    write()
    return tuple(names)


def merged_runs(runs: Sequence[SortedRun], limit: int = PAIRS_AT_ONCE) -> Iterator[pa.Table]:
    """Sorted runs as one, in tables of up to `limit` rows that follow each other."""
    places = [0] * len(runs)
    width = max(1, limit // max(1, len(runs)))
    while any(place < len(run) for place, run in zip(places, runs, strict=True)):
        ahead = [
            (*run.part(place, place + width), place + width >= len(run))
            for place, run in zip(places, runs, strict=True)
        ]
        # what lies behind these windows comes after the first of their ends
        ends = [(int(feeds[-1]), int(seqs[-1])) for feeds, seqs, is_last in ahead if not is_last]
        counts = [_up_to(feeds, seqs, min(ends)) if ends else len(feeds) for feeds, seqs, _ in ahead]
        yield _sorted(
            [(feeds[:n], seqs[:n]) for (feeds, seqs, _), n in zip(ahead, counts, strict=True)],
        )
        places = [place + count for place, count in zip(places, counts, strict=True)]


def _up_to(feeds: _I64, seqs: _I64, end: tuple[int, int]) -> int:
    """How many of a run's elements lie at or before one."""
    first, last = (int(np.searchsorted(feeds, end[0], side)) for side in ("left", "right"))
    return first + int(np.searchsorted(seqs[first:last], end[1], "right"))


def _sorted(parts: list[Run]) -> pa.Table:
    feeds, seqs = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    order = np.lexsort((seqs, feeds))
    return pa.table([pa.array(feeds[order]), pa.array(seqs[order])], schema=ELEMENT_SCHEMA)
