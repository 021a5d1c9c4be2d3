"""The view cache: slices of R_L by string value, held in memory, least recently used out first.

A value is *present* when all its history is here; a present value is kept up to date by appending the rows of each
batch, so history is read from the store only for values that were never asked for or that were dropped.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from feedweir.join.patterns import arena_kernels as kernels
from feedweir.join.patterns.arena_kernels import EMPTY, Arena, Slices, Table, View
from feedweir.join.patterns.binding_rows import BindingRows
from feedweir.join.ragged import ranges

Longs = NDArray[np.int64]
History = Callable[[Longs], BindingRows]
"""The rows of history with one of these (sorted, distinct) values."""

PRESENT = -1
"""The variable under which a value's presence is noted; its slice stays empty."""


def _table(size: int) -> Table:
    return Table(np.zeros(size, np.int64), np.zeros(size, np.int64), np.full(size, EMPTY, np.int64))


def _slices(size: int) -> Slices:
    return Slices(*(np.zeros(size, np.int64) for _ in range(3)))


def _arena(size: int, width: int) -> Arena:
    return Arena(
        np.zeros(size, np.int64),
        np.zeros(size, np.int64),
        np.zeros(size, np.int64),
        np.zeros((size, width), np.int32),
    )


@dataclass(slots=True)
class ViewCache:
    """A cache: it holds only what the store holds, and dropping it changes no answer."""

    max_rows: int = 5_000_000
    """About 40 bytes each, and as much again while it grows."""
    width: int = 1
    """Path columns."""
    table: Table = field(default_factory=lambda: _table(1024))
    slices: Slices = field(default_factory=lambda: _slices(512))
    arena: Arena = field(default_factory=lambda: _arena(1024, 1))
    used_slots: int = 0
    used_rows: int = 0
    last_use: Longs = field(default_factory=lambda: np.zeros(512, np.int64))
    """By slot, for those that note presence: the last batch that asked for the value."""
    batch: int = 0
    hits: int = 0
    misses: int = 0

    @property
    def arrays(self) -> View:
        """What kernels read; valid until the next change."""
        return View(self.table, self.slices, self.arena)

    def prepare(self, values: Longs, history: History) -> None:
        """Make these (sorted, distinct) values present."""
        self.batch += 1
        marks = np.full(len(values), PRESENT, np.int64)
        slots = kernels.find_all(self.table, values, marks)
        absent = values[slots == EMPTY]
        self.hits += len(values) - len(absent)
        self.misses += len(absent)
        self.last_use[slots[slots != EMPTY]] = self.batch
        if len(absent):
            fresh = self._enter(absent, marks[: len(absent)])
            self.last_use[fresh] = self.batch
            self.append(history(absent))

    def append(self, rows: BindingRows) -> None:
        """Rows of present values, sorted, with documents after those already here."""
        if not len(rows):
            return
        self._widen(rows.path.shape[1])
        slots = self._enter(rows.value, rows.variable)
        order = np.argsort(slots, kind="stable")
        slots = slots[order]
        rows = rows.take(order).widened(self.width)
        needed = self.used_rows + kernels.room_needed(slots, self.slices)
        if needed > len(self.arena.document):
            self._grow_arena(needed)
        self.used_rows = kernels.append(
            slots, self.slices, self.arena, self.used_rows, rows.document, rows.time, rows.check, rows.path
        )

    def trim(self, oldest: int) -> None:
        """Over the limit, drop documents before `oldest`, then the values used longest ago."""
        if self.used_rows <= self.max_rows:
            return
        values, marks = self._present()
        order = np.argsort(-self.last_use[marks], kind="stable")
        latest_first = values[order]
        rows = self._rows(oldest)
        sizes = np.zeros(len(latest_first), np.int64)
        by_value = np.argsort(latest_first, kind="stable")
        place = by_value[np.searchsorted(latest_first[by_value], rows.value)]
        np.add.at(sizes, place, 1)
        # Half of the limit stays free, so that not every batch must trim again.
        enough = int(np.searchsorted(np.cumsum(sizes), self.max_rows // 2, "right"))
        recent = np.sort(latest_first[:enough])
        uses = self.last_use[marks][order][:enough][np.argsort(latest_first[:enough], kind="stable")]
        # Slices that outgrew their room left gaps behind them: everything is entered anew.
        self._clear()
        if len(recent):
            slots = self._enter(recent, np.full(len(recent), PRESENT, np.int64))
            self.last_use[slots] = uses
        self.append(rows.take(np.isin(rows.value, recent)).sorted())

    def _present(self) -> tuple[Longs, Longs]:
        marks = (self.table.slot != EMPTY) & (self.table.variable == PRESENT)
        return self.table.value[marks], self.table.slot[marks]

    def _rows(self, oldest: int) -> BindingRows:
        """Everything held, of documents from `oldest` on."""
        taken = np.flatnonzero((self.table.slot != EMPTY) & (self.table.variable != PRESENT))
        slots = self.table.slot[taken]
        sizes = self.slices.size[slots]
        places = ranges(self.slices.start[slots], self.slices.start[slots] + sizes)
        rows = BindingRows(
            np.repeat(self.table.value[taken], sizes),
            self.arena.check[places],
            np.repeat(self.table.variable[taken], sizes),
            self.arena.document[places],
            self.arena.time[places],
            self.arena.path[places],
        )
        return rows.take(rows.document >= oldest)

    def _clear(self) -> None:
        self.table, self.slices, self.arena = _table(1024), _slices(512), _arena(1024, self.width)
        self.last_use = np.zeros(512, np.int64)
        self.used_slots = self.used_rows = 0

    def _enter(self, values: Longs, variables: Longs) -> Longs:
        needed = self.used_slots + len(values)
        if 2 * needed > len(self.table.slot):
            self._grow_table(needed)
        slots, self.used_slots = kernels.enter(self.table, values, variables, self.used_slots)
        return np.asarray(slots)

    def _grow_table(self, needed: int) -> None:
        size = 1 << int(4 * needed - 1).bit_length()
        old, taken = self.table, np.flatnonzero(self.table.slot != EMPTY)
        taken = taken[np.argsort(old.slot[taken])]
        self.table = _table(size)
        kernels.enter(self.table, old.value[taken], old.variable[taken], 0)
        self.slices = Slices(
            *(np.concatenate([one, np.zeros(size - len(one), np.int64)]) for one in self.slices)
        )
        self.last_use = np.concatenate([self.last_use, np.zeros(size - len(self.last_use), np.int64)])

    def _grow_arena(self, needed: int) -> None:
        more = 2 * needed - len(self.arena.document)
        self.arena = Arena(
            *(np.concatenate([one, np.zeros((more, *one.shape[1:]), one.dtype)]) for one in self.arena)
        )

    def _widen(self, width: int) -> None:
        if width > self.width:
            extra = np.full((len(self.arena.path), width - self.width), -1, np.int32)
            self.arena = self.arena._replace(path=np.ascontiguousarray(np.hstack([self.arena.path, extra])))
            self.width = width
