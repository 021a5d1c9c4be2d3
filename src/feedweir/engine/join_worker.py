"""The join step in tasks: what an item task writes down for it, and one shard of feeds with joins over a batch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from feedweir.engine.annotating import AnnotationStages
from feedweir.engine.batch_files import BatchFiles
from feedweir.engine.batches import Assignment, Manifest
from feedweir.engine.directory import DataDirectory
from feedweir.engine.documents import JoinInput
from feedweir.engine.join_plans import JoinSet, load_joins, shards_in
from feedweir.engine.join_states import JoinStates
from feedweir.engine.joined import Joined, JoinState
from feedweir.engine.joining import join_batch
from feedweir.engine.patterns import PatternRounds, times_of
from feedweir.engine.sets import joins_path
from feedweir.engine.store import Store
from feedweir.engine.streams import StreamLog
from feedweir.engine.witnessing import WitnessLog, witnesses_in
from feedweir.items.schema import items_of

_OPEN = 16


@dataclass(frozen=True, slots=True)
class ShardTask:
    """One shard of a batch whose items are found: `manifest` tells its files."""

    shard: int
    manifest: Manifest


@dataclass(frozen=True, slots=True)
class ShardReceipt:
    """What a shard wrote."""

    shard: int
    name: str
    element_count: int
    has_elements: bool
    has_annotations: bool
    has_made: bool
    failures: tuple[tuple[int, str], ...] = ()
    states: tuple[str, ...] = ()
    """What the shard left for the next batch, below `joins/`."""
    doubts: tuple[str, ...] = ()
    """What it did without, because it was missing or damaged."""


@lru_cache(maxsize=_OPEN)
def opened(directory: Path, shard: int) -> tuple[JoinSet, PatternRounds]:
    """A shard of a version, compiled: item tasks and the join step of a process share it."""
    joins = load_joins(directory, shard)
    return joins, PatternRounds(joins)


class Witnesser:
    """Matches the tree patterns of pattern joins in item tasks, and writes down how they lie."""

    def __init__(self, directory: DataDirectory) -> None:
        self._sets = directory.sets
        self._log = WitnessLog(directory.witnesses)

    def streams(self, version: int) -> dict[int, NDArray[np.int64]]:
        """By shard the streams whose items are to be looked at."""
        directory = joins_path(self._sets, version)
        known = {shard: opened(directory, shard) for shard in shards_in(directory)}
        return {
            shard: np.array(sorted(joins.witnessed()), np.int64)
            for shard, (joins, rounds) in known.items()
            if rounds.patterns
        }

    def write(
        self, assignment: Assignment, items: pa.RecordBatch, wanted: Mapping[int, NDArray[np.int64]]
    ) -> dict[str, str]:
        """Write down the witnesses of items, by shard their numbers; by source why an item of it takes no part."""
        refused: dict[int, str] = {}
        directory = joins_path(self._sets, assignment.version)
        for shard, seqs in wanted.items():
            _, rounds = opened(directory, shard)
            found = witnesses_in(rounds.trees, items, seqs)
            self._log.write(assignment, shard, found)
            refused.update(found.refused)
        if not refused:
            return {}
        rows = zip(*(items.column(name).to_pylist() for name in ("seq", "source", "identity")), strict=True)
        return {
            source: f"item {identity} takes no part in joins: {refused[seq]}"
            for seq, source, identity in rows
            if seq in refused
        }


class JoinWorker:
    """Runs shards over one data directory; keeps in memory what the next batch goes on from."""

    def __init__(self, directory: DataDirectory) -> None:
        self._directory = directory
        self._store = Store(directory.root)
        self._witnesses = WitnessLog(directory.witnesses)
        self._streams = StreamLog(directory.witnesses)
        self._stages: dict[int, tuple[JoinSet, AnnotationStages]] = {}
        self._states = JoinStates(directory.joins)
        self._batch: BatchFiles | None = None

    def run(self, task: ShardTask) -> ShardReceipt:
        """Do a shard of a batch: what it writes depends on the batch and on what was published before it."""
        manifest, shard = task.manifest, task.shard
        joins, rounds = opened(joins_path(self._directory.sets, manifest.version), shard)
        stages = self._annotating(shard, joins)
        state = self._states.after(manifest.after, shard, rounds, stages, self._older_columns)
        doubts = self._states.doubts(shard, self._left_by(manifest.after))
        batch = self._input(joins, manifest, shard, state)
        joined = join_batch(joins, rounds, stages, batch, state)
        self._states.save(shard, manifest, rounds, stages, joined.state)
        receipt = self._written(f"{manifest.upto:012d}-joins-{shard}.arrow", shard, joined)
        return replace(receipt, states=self._states.names(shard, manifest.upto), doubts=doubts)

    def _left_by(self, batch: int) -> tuple[str, ...]:
        """What the joins of a batch left for the next."""
        manifest = self._store.published(batch)
        return manifest.states if manifest else ()

    def _annotating(self, shard: int, joins: JoinSet) -> AnnotationStages:
        """The annotation joins of a shard; another version with the same ones goes on with what is at hand."""
        known, stages = self._stages.get(shard, (None, None))
        if known is not joins or stages is None:
            stages = AnnotationStages(joins).going_on_from(stages)
            self._stages[shard] = (joins, stages)
        return stages

    def _input(self, joins: JoinSet, manifest: Manifest, shard: int, state: JoinState) -> JoinInput:
        batch = self._opened(manifest)
        return JoinInput(
            number=manifest.upto,
            found=batch.streams.members(joins.found),
            times=times_of(batch.times, state.patterns.clock),
            witnesses=self._witnesses.read(manifest, shard),
            items=batch.items,
            compared=batch.compared,
            older=lambda seqs: {item.seq: item for item in items_of(self._store.items(seqs))},
            older_columns=self._older_columns,
            is_in=self._store.is_in,
            annotations=self._store.joined.annotations,
        )

    def _older_columns(self, seqs: Sequence[int], names: Sequence[str]) -> pa.Table:
        return self._store.items(seqs).select(list(names))

    def _opened(self, manifest: Manifest) -> BatchFiles:
        """The files of a batch, which all its shards read."""
        if self._batch is None or self._batch.manifest != manifest:
            self._batch = BatchFiles(manifest, self._store, self._streams)
        return self._batch

    def _written(self, name: str, shard: int, joined: Joined) -> ShardReceipt:
        """Files are named by the batch and the shard alone."""
        if joined.elements.num_rows:
            self._store.write_elements(name, joined.elements)
        if joined.annotations.num_rows:
            self._store.joined.write_annotations(name, joined.annotations)
        if joined.made.num_rows:
            self._store.joined.write_made(name, joined.made)
        return ShardReceipt(
            shard,
            name,
            joined.elements.num_rows,
            bool(joined.elements.num_rows),
            bool(joined.annotations.num_rows),
            bool(joined.made.num_rows),
            joined.failures,
        )
