"""What tasks counted on samples of their items: small files, until the statistics have taken them in.

A task that is repeated writes the same file again. Nothing is synced: what a crash takes away is a sample less.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import astuple, dataclass
from typing import IO, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from feedweir.join.result_tables import JoinObservation
from feedweir.logs.batches import Assignment
from feedweir.match import CompiledSet, Counters
from feedweir.match.index.filter_forest import Observed
from feedweir.storage import Place, local, places_in, replacing

COSTS_OF_ONE_IN = 256
"""Of how many items one is matched once more to count the candidates, which takes a little longer."""
COUNTED_WHOLE = 64
"""Items up to which all of a task are: so few cost nothing, and a small installation gets figures, too."""
MOST_OF_A_SOURCE = 128
MOST_OF_A_TASK = 512
"""Items of a task that are sampled."""

Costs: TypeAlias = npt.NDArray[np.int64]
"""A row of feeds, or streams of joins, and a row of how often each was a candidate."""
_NO_COSTS: Costs = np.empty((2, 0), np.int64)


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


def costs_of(compiled: CompiledSet, items: pa.RecordBatch, one_in: int | None = None) -> Costs:
    """How often each feed was a candidate: among one of so many items, chosen by their numbers, times so many."""
    one_in = one_in or (1 if items.num_rows <= COUNTED_WHOLE else COSTS_OF_ONE_IN)
    is_counted = _is_counted(items.column("seq"), one_in)
    if not is_counted.any():
        return _NO_COSTS
    counters = Counters()
    for _ in compiled.match_in_parts(items.filter(pa.array(is_counted)), counters=counters):
        pass  # it is counted when the last part was given
    tally = counters.tally()
    is_spent = tally.costs > 0
    return np.stack([tally.keys[is_spent], tally.costs[is_spent] * one_in])


def _is_counted(seqs: pa.Array, one_in: int) -> npt.NDArray[np.bool_]:
    # From the middle of a product: numbers of documents with one entry each end in zeros.
    mixed = seqs.to_numpy(zero_copy_only=False).astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    counted: npt.NDArray[np.bool_] = (mixed >> np.uint64(40)) % np.uint64(one_in) == 0
    return counted


class ObservationLog:
    """The files of one data directory."""

    def __init__(self, directory: Place) -> None:
        self._directory = directory

    def write(self, assignment: Assignment, items: pa.RecordBatch, observed: Sequence[Observed]) -> None:
        """Store the counts of a task, if it has any."""
        if not observed:
            return
        counts = {one["values"]: one["counts"] for one in items.column("source").value_counts().to_pylist()}
        rows = [
            [counts[one.source], one.source, one.plan, one.sampled, one.atoms, one.pairs, one.nodes]
            for one in observed
        ]
        with self._replacing(assignment, "json") as file:
            file.write(json.dumps(rows).encode())

    def write_costs(self, assignment: Assignment, costs: Costs) -> None:
        """Store what feeds cost a task, if anything."""
        if costs.size:
            with self._replacing(assignment, "npy") as file:
                np.save(file, costs, allow_pickle=False)

    def _replacing(self, assignment: Assignment, ending: str) -> AbstractContextManager[IO[bytes]]:
        return self._draft(assignment.upto, assignment.task, ending)

    @contextmanager
    def _draft(self, upto: int, part: int, ending: str) -> Iterator[IO[bytes]]:
        path = self._directory / f"{upto:012d}-{part:03d}.{ending}"
        with replacing(path, is_synced=False) as file:
            yield file

    def write_joins(self, upto: int, shard: int, observed: Sequence[JoinObservation]) -> None:
        """Store what a shard counted of its joins, if anything."""
        if observed:
            with self._draft(upto, shard, "joins") as file:
                file.write(json.dumps([astuple(one) for one in observed]).encode())

    def read_joins(self, after: int, upto: int) -> list[JoinObservation]:
        """What the shards of the batches `after < batch <= upto` counted of joins."""
        return [
            JoinObservation(*row)
            for batch, path in self._files("joins")
            if after < batch <= upto
            for row in json.loads(path.read_bytes())
        ]

    def read(self, after: int, upto: int) -> list[Observation]:
        """What the tasks of the batches `after < batch <= upto` counted."""
        return [
            Observation(batch, items, Observed(*counted[:3], *(_pairs(each) for each in counted[3:])))
            for batch, path in self._files("json")
            if after < batch <= upto
            for items, *counted in json.loads(path.read_bytes())
        ]

    def read_costs(self, after: int, upto: int) -> dict[int, int]:
        """What feeds cost the tasks of the batches `after < batch <= upto`."""
        parts = [_loaded(path) for batch, path in self._files("npy") if after < batch <= upto]
        feeds, costs = np.concatenate([_NO_COSTS, *parts], axis=1)
        known, places = np.unique(feeds, return_inverse=True)
        sums = np.zeros(len(known), np.int64)
        np.add.at(sums, places, costs)
        return dict(zip(known.tolist(), sums.tolist(), strict=True))

    def forget(self, upto: int) -> None:
        """Delete files whose counts were taken over."""
        for batch, path in [*self._files("json"), *self._files("npy"), *self._files("joins")]:
            if batch <= upto:
                path.unlink(missing_ok=True)

    def _files(self, ending: str) -> list[tuple[int, Place]]:
        return [(int(path.name[:12]), path) for path in places_in(self._directory, f"[0-9]*.{ending}")]


def _loaded(path: Place) -> Costs:
    try:
        costs: Costs = np.load(local(path), allow_pickle=False)
    except (OSError, ValueError, EOFError):
        return _NO_COSTS  # a crash took it away
    return costs


def _pairs(lists: list[list[int]]) -> tuple[tuple[int, int], ...]:
    return tuple((place, count) for place, count in lists)
