"""The elements of a stream in a batch, as columns: which documents, and what each was joined with."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Longs = NDArray[np.int64]
Order = Callable[[Longs], Longs]
"""Documents, each once, in the order of the stream."""


def no_notes() -> Longs:
    return np.empty((0, 3), np.int64)


@dataclass(frozen=True, slots=True)
class Elements:
    """Documents by their rows in the batch, in the order of the stream."""

    rows: Longs
    notes: Longs = field(default_factory=no_notes)
    """(row, place of the join's identifier among all, number of the partner); may repeat."""

    def __len__(self) -> int:
        return len(self.rows)

    def only(self, is_kept: NDArray[np.bool_]) -> Elements:
        """Those of them, with what they were joined with."""
        rows = self.rows[is_kept]
        return Elements(rows, notes_of(self.notes, rows))

    def noted(self, notes: Longs) -> Elements:
        """With more partners."""
        return Elements(self.rows, np.concatenate([self.notes, notes])) if len(notes) else self


NOTHING = Elements(np.empty(0, np.int64))


def notes_of(notes: Longs, rows: Longs) -> Longs:
    """The notes of some documents."""
    return notes[np.isin(notes[:, 0], rows)] if len(notes) else notes


def merged(ways: Sequence[Elements], in_order: Order) -> Elements:
    """Each element once, in the order of the stream, with all partners that any way to it has found."""
    filled = [way for way in ways if len(way)]
    if len(filled) < 2:
        return filled[0] if filled else NOTHING
    rows = in_order(np.concatenate([way.rows for way in filled]))
    return Elements(rows, np.concatenate([way.notes for way in filled]))
