"""What the matcher found for joins, written down by item tasks: the members of streams that no reader sees.

They are of use until their batch is published: what later batches need of them is in the history of windows.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa

from feedweir.engine.batches import Assignment
from feedweir.engine.files import open_arrow, replace_arrow
from feedweir.engine.store import ELEMENT_SCHEMA


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
        task = f"{assignment.upto:012d}-{assignment.version}-streams-{assignment.parts[0]:03d}"
        replace_arrow(self._directory / f"{task}-{number:06d}.arrow", hidden)

    def read(self, batch: int, version: int) -> pa.Table:
        """What all tasks of a batch found, by stream and number; each once, also when an attempt was cut otherwise."""
        paths = sorted(self._directory.glob(f"{batch:012d}-{version}-streams-*.arrow"))
        rows = pa.concat_tables([ELEMENT_SCHEMA.empty_table(), *map(open_arrow, paths)])
        distinct = rows.group_by(["feed", "seq"], use_threads=False).aggregate([])
        return distinct.sort_by([("feed", "ascending"), ("seq", "ascending")])
