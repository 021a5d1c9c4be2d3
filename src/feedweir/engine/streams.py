"""What the matcher found for joins, written down by item tasks: the members of streams that no reader sees.

They are of use until their batch is published: what later batches need of them is in the history of windows.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from feedweir.engine.batches import Assignment, Manifest, attempt_name
from feedweir.engine.files import open_arrow, replace_arrow
from feedweir.engine.store import Run

Longs = NDArray[np.int64]


def shown_and_hidden(elements: pa.Table) -> tuple[pa.Table, pa.Table]:
    """Elements by feed cut in two: those of feeds, and those of streams, whose keys are negative."""
    first = int(np.searchsorted(elements.column("feed").to_numpy(), 0))
    return elements.slice(first), elements.slice(0, first)


class StreamLog:
    """Lies beside the witnesses, and is forgotten with them."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def write(self, assignment: Assignment, number: int, hidden: pa.Table) -> None:
        """A part of what a task found, under a name that only depends on the assignment and on which part it is."""
        task = f"{attempt_name(assignment)}-streams-{assignment.parts[0]:03d}"
        replace_arrow(self._directory / f"{task}-{number:06d}.arrow", hidden)

    def read(self, batch: Assignment | Manifest) -> Streams:
        """What all tasks of a batch found."""
        paths = sorted(self._directory.glob(f"{attempt_name(batch)}-streams-*.arrow"))
        return Streams(tuple(_columns(open_arrow(path)) for path in paths))


@dataclass(frozen=True, slots=True)
class Streams:
    """The members of a batch's streams in sorted runs that lie in files: only what is asked for is read."""

    runs: tuple[Run, ...]

    def members(self, keys: Iterable[int]) -> dict[int, Longs]:
        """Of these streams that have any: the numbers, each once, also when an attempt was cut otherwise."""
        asked = np.array(sorted(keys), np.int64)
        found: dict[int, list[Longs]] = {}
        for stream, seqs in self.runs:
            low, high = (np.searchsorted(stream, asked, side) for side in ("left", "right"))
            for place in np.flatnonzero(low < high).tolist():
                found.setdefault(int(asked[place]), []).append(seqs[low[place] : high[place]])
        return {
            key: parts[0] if len(parts) == 1 else np.unique(np.concatenate(parts))
            for key, parts in found.items()
        }


def _columns(table: pa.Table) -> Run:
    return table.column("feed").to_numpy(), table.column("seq").to_numpy()
