"""Joins in tasks: what item tasks write down for them, and one shard of feeds with joins over a batch."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from pathlib import Path
from secrets import token_hex

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from feedweir.items.model import Item
from feedweir.items.schema import ITEM_SCHEMA, items_of
from feedweir.join.batch_documents import JoinInput
from feedweir.join.clock import times_of
from feedweir.join.patterns.scope import ValueSlice
from feedweir.join.result_tables import Joined, JoinState
from feedweir.join.states import JoinStates
from feedweir.join.step import CompiledJoins, divided_matches, join_batch
from feedweir.join.stored.join_versions import open_joins
from feedweir.join.task_output import DividedJoins, StreamLog, Streams, WitnessLog, witnesses_in
from feedweir.join.windows.features import Compared
from feedweir.logs.batches import Assignment, Manifest
from feedweir.logs.directory import DataDirectory
from feedweir.logs.store import Store
from feedweir.match.trees import TreeSet, compile_trees
from feedweir.pipeline.observations import ObservationLog
from feedweir.pipeline.sets import joins_path
from feedweir.pipeline.task_log import log_elements
from feedweir.plan.predicates import TreePattern

_log = logging.getLogger(__name__)

Longs = NDArray[np.int64]


_OPEN = 16


@dataclass(frozen=True, slots=True)
class ShardTask:
    """One shard of a batch whose item tasks are done; `manifest` names its files."""

    shard: int
    manifest: Manifest
    attempt: str = ""
    """Told apart by it, two attempts never write the same file; a worker that is given none makes one up."""
    slices: tuple[str, ...] | None = None
    """What slices found of it, where it was divided."""


@dataclass(frozen=True, slots=True)
class SliceTask:
    """Of one shard of a batch what is divided by value, as far as it is one slice's."""

    shard: int
    manifest: Manifest
    part: ValueSlice


@dataclass(frozen=True, slots=True)
class SliceReceipt:
    """What a slice found, in the exchange; no name where the shard has to be evaluated as a whole."""

    shard: int
    name: str
    count: int = 0


@dataclass(frozen=True, slots=True)
class ShardReceipt:
    """What a shard wrote."""

    shard: int
    name: str
    element_count: int
    has_elements: bool
    has_annotations: bool
    has_made: bool
    runs: tuple[str, ...] = ()
    """The files of further runs of elements, and of the documents that they stand for."""
    failures: tuple[tuple[int, str], ...] = ()
    states: tuple[str, ...] = ()
    """The files of the state that it left for the next batch, below `joins/`."""
    doubts: tuple[str, ...] = ()
    """The files that it did without, because they were missing or damaged."""
    spent_s: float = 0.0


@lru_cache(maxsize=_OPEN)
def opened(directory: Path, shard: int) -> CompiledJoins:
    """A shard of a version, compiled: the join step opens nothing else."""
    return open_joins(directory).compiled(shard)


@dataclass(frozen=True, slots=True)
class _Wanted:
    """What item tasks look for on behalf of a shard."""

    trees: TreeSet
    streams: Longs


@lru_cache(maxsize=2)
def _wanted(directory: Path) -> dict[int, _Wanted]:
    """By shard what item tasks look for; item tasks open nothing else of joins."""
    return {
        shard: _Wanted(_trees(one.patterns), one.streams)
        for shard, one in open_joins(directory).witnessing().items()
        if one.patterns
    }


@lru_cache(maxsize=_OPEN)
def _trees(patterns: tuple[TreePattern, ...]) -> TreeSet:
    """Most versions ask for the patterns that the one before asked for."""
    return compile_trees(patterns)


class WitnessWriter:
    """Matches the tree patterns of pattern joins in item tasks, and writes down what they bind."""

    def __init__(self, directory: DataDirectory) -> None:
        self._sets = directory.sets
        self._log = WitnessLog(directory.witnesses)

    def streams(self, version: int) -> dict[int, NDArray[np.int64]]:
        """By shard the streams whose items must be matched."""
        return {shard: one.streams for shard, one in _wanted(joins_path(self._sets, version)).items()}

    def write(
        self, assignment: Assignment, items: pa.RecordBatch, wanted: Mapping[int, NDArray[np.int64]]
    ) -> dict[str, str]:
        """Write down the witnesses of the wanted items of each shard; by source, why an item of it takes no part."""
        refused: dict[int, str] = {}
        known = _wanted(joins_path(self._sets, assignment.version))
        for shard, seqs in wanted.items():
            found = witnesses_in(known[shard].trees, items, seqs)
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
    """Runs shards over one data directory; keeps in memory what the next batch begins with."""

    def __init__(self, directory: DataDirectory) -> None:
        self._directory = directory
        self._store = Store(directory.root)
        self._witnesses = WitnessLog(directory.witnesses)
        self._streams = StreamLog(directory.witnesses)
        self._compiled: dict[int, CompiledJoins] = {}
        self._states = JoinStates(directory.joins)
        self._observations = ObservationLog(directory.observations)
        self._exchange = DividedJoins(directory.exchange)
        self._batch: BatchFiles | None = None

    def run(self, task: ShardTask | SliceTask) -> ShardReceipt | SliceReceipt:
        """Run a task of a batch; what it writes depends on the batch and on what was published before it."""
        return self.run_slice(task) if isinstance(task, SliceTask) else self.run_shard(task)

    def run_slice(self, task: SliceTask) -> SliceReceipt:
        """Find what is divided by value; history is only read, and stays mapped for the next batch."""
        manifest, shard = task.manifest, task.shard
        compiled = self._opened_shard(manifest.version, shard)
        if not compiled.stored.parts:
            return SliceReceipt(shard, self._exchange.write(manifest.upto, shard, ()))
        state = self._states.state_after(manifest.after, shard, compiled, self._older_columns)
        try:
            given = self._input(compiled, manifest, shard, state)
            found = divided_matches(compiled, given, state, task.part)
        except Exception:
            _log.exception("a slice of the joins of shard %d failed; they are evaluated as a whole", shard)
            found = None
        if found is None:
            return SliceReceipt(shard, "")
        name = self._exchange.write(manifest.upto, shard, found)
        return SliceReceipt(shard, name, sum(one.shape[1] for one in found))

    def run_shard(self, task: ShardTask) -> ShardReceipt:
        """Run a shard, with what its slices found if it was divided, and leave its state for the next batch."""
        begun = time.perf_counter()
        manifest, shard = task.manifest, task.shard
        compiled = self._opened_shard(manifest.version, shard)
        state = self._states.state_after(manifest.after, shard, compiled, self._older_columns)
        doubts = self._states.doubts(shard, self._left_by(manifest.after))
        runs = _Runs(self._store, f"{manifest.upto:012d}-joins-{shard}-{task.attempt or token_hex(4)}")
        given = replace(
            self._input(compiled, manifest, shard, state),
            emit=runs.write,
            divided=None if task.slices is None else self._exchange.read(task.slices),
        )
        joined = join_batch(compiled, given, state)
        self._states.save(shard, manifest, compiled, joined.state)
        self._observations.write_joins(manifest.upto, shard, joined.observed)
        receipt = self._written(manifest.upto, shard, joined, runs)
        states, spent_s = self._states.names(shard, manifest.upto), time.perf_counter() - begun
        return replace(receipt, states=states, doubts=doubts, spent_s=spent_s)

    def _left_by(self, batch: int) -> tuple[str, ...]:
        """The files of states that the joins of a batch left for the next."""
        manifest = self._store.published(batch)
        return manifest.states if manifest else ()

    def _opened_shard(self, version: int, shard: int) -> CompiledJoins:
        """A shard of a version; where its annotation joins are those of the version before, it takes their indexes."""
        compiled = opened(joins_path(self._directory.sets, version), shard)
        before = self._compiled.get(shard, compiled)
        if before is not compiled:
            compiled.windows.take_over(before.windows)
        self._compiled[shard] = compiled
        return compiled

    def _input(self, joins: CompiledJoins, manifest: Manifest, shard: int, state: JoinState) -> JoinInput:
        batch = self._opened(manifest)
        return JoinInput(
            number=manifest.upto,
            found=batch.streams.members(joins.matched),
            times=times_of(batch.times, state.patterns.clock),
            witnesses=self._witnesses.read(manifest, shard),
            items=batch.items,
            compared=batch.compared,
            older=lambda seqs: {item.seq: item for item in items_of(self._store.items(seqs))},
            older_columns=self._older_columns,
            is_in=self._store.is_in,
            annotations=self._store.joined.annotations,
            firsts=batch.firsts,
        )

    def _older_columns(self, seqs: Sequence[int], names: Sequence[str]) -> pa.Table:
        return self._store.items(seqs).select(list(names))

    def _opened(self, manifest: Manifest) -> BatchFiles:
        """The files of a batch, which all its shards read."""
        if self._batch is None or self._batch.manifest != manifest:
            self._batch = BatchFiles(manifest, self._store, self._streams)
        return self._batch

    def _written(self, batch: int, shard: int, joined: Joined, runs: _Runs) -> ShardReceipt:
        """Write the last tables of a shard."""
        name, count = f"{runs.stem}.parquet", joined.elements.num_rows
        if count:
            self._store.write_elements(name, joined.elements)
            log_elements("joined", batch, joined.elements)
        if joined.annotations.num_rows:
            self._store.joined.write_annotations(name, joined.annotations, batch)
        if joined.made.num_rows:
            self._store.joined.write_made(name, joined.made)
        return ShardReceipt(
            shard,
            name,
            count + runs.count,
            bool(count),
            bool(joined.annotations.num_rows),
            bool(joined.made.num_rows),
            tuple(runs.names),
            joined.failures,
        )


class _Runs:
    """Writes the runs of a shard's results that are too many to be held, under a name of the attempt's own."""

    def __init__(self, store: Store, stem: str) -> None:
        self._store = store
        self.stem = stem
        self.names: list[str] = []
        self.count = 0

    def write(self, elements: pa.Table, made: pa.Table) -> None:
        if not elements.num_rows:
            return
        self.names.append(f"{self.stem}-{len(self.names) + 1:06d}.parquet")
        self._store.write_elements(self.names[-1], elements)
        self._store.joined.write_made(self.names[-1], made)
        self.count += elements.num_rows


class BatchFiles:
    """The contents of a batch's files, read when they are first asked for."""

    def __init__(self, manifest: Manifest, store: Store, streams: StreamLog) -> None:
        self.manifest = manifest
        self._store = store
        self._streams = streams
        self._tables: dict[tuple[str, ...], pa.Table] = {}

    @cached_property
    def streams(self) -> Streams:
        return self._streams.read(self.manifest)

    @property
    def times(self) -> pa.Table:
        return self._table(("seq", "published", "arrived"))

    @cached_property
    def firsts(self) -> Longs:
        """The items of new sources: what a first document brings is history, not late."""
        newcomers = self._store.reports(self.manifest).newcomers()
        if not newcomers:
            return np.empty(0, np.int64)
        table = self._table(("seq", "source"))
        is_first = pc.is_in(table.column("source"), value_set=pa.array(newcomers, pa.string()))
        return np.asarray(table.filter(is_first).column("seq").to_numpy())

    @cached_property
    def compared(self) -> Compared:
        return Compared(self.times.column("seq").to_numpy(), self.columns)

    def items(self, seqs: Sequence[int]) -> Mapping[int, Item]:
        return {item.seq: item for item in items_of(self.columns(seqs, ITEM_SCHEMA.names))}

    def columns(self, seqs: Sequence[int], names: Sequence[str]) -> pa.Table:
        """Columns of items, in the order of the stream."""
        table = self._table(("seq", *(name for name in names if name != "seq")))
        places = np.searchsorted(table.column("seq").to_numpy(), np.sort(np.array(seqs, np.int64)))
        return table.take(pa.array(places)).select(list(names))

    def _table(self, names: tuple[str, ...]) -> pa.Table:
        if names not in self._tables:
            self._tables[names] = self._store.item_table([self.manifest], names).combine_chunks()
        return self._tables[names]
