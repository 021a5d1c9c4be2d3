"""What tasks counted on samples of their items: small files, until the statistics have taken them in.

A task that is repeated writes the same file again. Nothing is synced: what a crash takes away is a sample less.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from feedweir.engine.batches import Assignment
from feedweir.match.factored import Observed

MOST_OF_A_SOURCE = 32
MOST_OF_A_TASK = 512
"""Items of a task that are looked at more closely."""


@dataclass(frozen=True, slots=True)
class Observation:
    """What one task counted, of a source that published `items` new ones."""

    upto: int
    """The batch."""
    items: int
    counted: Observed


def sample_of(sources: pa.Array) -> npt.NDArray[np.uint8]:
    """Which items to look at more closely, a byte each: of every source some, evenly spread over the batch."""
    encoded = sources.dictionary_encode()
    codes = encoded.indices.to_numpy(zero_copy_only=False)
    counts = np.bincount(codes, minlength=len(encoded.dictionary))
    wanted = min(MOST_OF_A_SOURCE, max(1, MOST_OF_A_TASK // max(len(counts), 1)))
    order = np.argsort(codes, kind="stable")
    place = np.empty(len(codes), np.int64)
    place[order] = np.arange(len(codes)) - np.repeat(np.cumsum(counts) - counts, counts)
    totals = counts[codes]
    is_taken = (totals <= wanted) | ((place * wanted) % np.maximum(totals, 1) < wanted)
    taken: npt.NDArray[np.uint8] = is_taken.astype(np.uint8)
    return taken


class ObservationLog:
    """The files of one data directory."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def write(self, assignment: Assignment, items: pa.RecordBatch, observed: Sequence[Observed]) -> None:
        """Keep what a task counted, if it counted anything."""
        if not observed:
            return
        counts = {one["values"]: one["counts"] for one in items.column("source").value_counts().to_pylist()}
        rows = [
            [counts[one.source], one.source, one.plan, one.sampled, one.atoms, one.pairs, one.nodes]
            for one in observed
        ]
        self._directory.mkdir(parents=True, exist_ok=True)
        path = self._directory / f"{assignment.upto:012d}-{assignment.parts[0]:03d}.json"
        draft = path.with_name(f".{path.name}.{os.getpid()}")
        draft.write_text(json.dumps(rows), encoding="utf-8")
        draft.replace(path)

    def read(self, after: int, upto: int) -> list[Observation]:
        """What the tasks of the batches `after < batch <= upto` counted."""
        return [
            Observation(batch, items, Observed(*counted[:3], *(_pairs(each) for each in counted[3:])))
            for batch, path in self._files()
            if after < batch <= upto
            for items, *counted in json.loads(path.read_bytes())
        ]

    def forget(self, upto: int) -> None:
        """Remove what was taken in."""
        for batch, path in self._files():
            if batch <= upto:
                path.unlink(missing_ok=True)

    def _files(self) -> list[tuple[int, Path]]:
        return [(int(path.name[:12]), path) for path in sorted(self._directory.glob("[0-9]*.json"))]


def _pairs(lists: list[list[int]]) -> tuple[tuple[int, int], ...]:
    return tuple((place, count) for place, count in lists)
