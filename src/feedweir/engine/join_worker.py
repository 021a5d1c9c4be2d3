"""The join step in tasks: what an item task writes down for it, and one shard of feeds with joins over a batch."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from feedweir.engine.annotating import AnnotationStages
from feedweir.engine.batches import Assignment, Manifest
from feedweir.engine.comparing import Compared
from feedweir.engine.constructed import Construction
from feedweir.engine.directory import DataDirectory
from feedweir.engine.documents import JoinInput
from feedweir.engine.join_plans import JoinSet, load_joins, shards_in
from feedweir.engine.joined import Joined, JoinState
from feedweir.engine.joining import join_batch
from feedweir.engine.patterns import LONG_AGO, PatternRounds, PatternState, times_of
from feedweir.engine.sets import joins_path
from feedweir.engine.store import Store
from feedweir.engine.streams import StreamLog
from feedweir.engine.witnessing import WitnessLog, witnesses_in
from feedweir.errors import CompiledSetError
from feedweir.items.model import Item
from feedweir.items.schema import ITEM_SCHEMA, items_of
from feedweir.join.annotation_state import WindowState
from feedweir.join.annotation_store import WindowStore
from feedweir.join.state import HistoryStore

_log = logging.getLogger(__name__)
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


class _BatchFiles:
    """What the files of a batch hold, read when it is first asked for."""

    def __init__(self, manifest: Manifest, store: Store, streams: StreamLog) -> None:
        self.manifest = manifest
        self._store = store
        self._streams = streams
        self._tables: dict[tuple[str, ...], pa.Table] = {}

    @cached_property
    def elements(self) -> pa.Table:
        """Of streams."""
        return self._streams.read(self.manifest.upto, self.manifest.version)

    @property
    def times(self) -> pa.Table:
        return self._table(("seq", "published", "arrived"))

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


class JoinWorker:
    """Runs shards over one data directory; keeps in memory what the next batch goes on from."""

    def __init__(self, directory: DataDirectory) -> None:
        self._directory = directory
        self._store = Store(directory.root)
        self._witnesses = WitnessLog(directory.witnesses)
        self._streams = StreamLog(directory.witnesses)
        self._stages: dict[int, tuple[JoinSet, AnnotationStages]] = {}
        self._states: dict[int, tuple[int, JoinState]] = {}
        self._batch: _BatchFiles | None = None

    def run(self, task: ShardTask) -> ShardReceipt:
        """Do a shard of a batch: what it writes depends on the batch and on what was published before it."""
        manifest, shard = task.manifest, task.shard
        joins, rounds = opened(joins_path(self._directory.sets, manifest.version), shard)
        stages = self._annotating(shard, joins)
        state = self._known(shard, stages, self._state(shard, manifest.after), manifest.after)
        batch = self._input(joins, manifest, shard, state)
        joined = join_batch(joins, rounds, stages, batch, state)
        self._states[shard] = (manifest.upto, self._saved(shard, manifest, rounds, stages, joined.state))
        return self._written(f"{manifest.upto:012d}-joins-{shard}.arrow", shard, joined)

    def _annotating(self, shard: int, joins: JoinSet) -> AnnotationStages:
        """The annotation joins of a shard; another version with the same ones goes on with what is at hand."""
        known, stages = self._stages.get(shard, (None, None))
        if known is not joins or stages is None:
            stages = AnnotationStages(joins).going_on_from(stages)
            self._stages[shard] = (joins, stages)
        return stages

    def _saved(
        self,
        shard: int,
        manifest: Manifest,
        rounds: PatternRounds,
        stages: AnnotationStages,
        state: JoinState,
    ) -> JoinState:
        """The state as it will be found when it is read again."""
        patterns, windows = state.patterns, state.windows
        levels = self._history(shard).save(
            manifest.upto, patterns.levels, before=manifest.after, note=_note(patterns)
        )
        rounds.saved(patterns.levels, levels)
        if stages.queries:
            windows = self._windows(shard).save(manifest.upto, state.windows, before=manifest.after)
            stages.logic.saved(state.windows, windows)
        return JoinState(replace(patterns, levels=levels), windows)

    def _state(self, shard: int, after: int) -> JoinState:
        at, state = self._states.get(shard, (-1, JoinState(PatternState(), WindowState())))
        if at != after:
            state = JoinState(self._patterns_after(shard, after), self._windows_after(shard, after))
        return state

    def _patterns_after(self, shard: int, batch: int) -> PatternState:
        try:
            levels, note = self._history(shard).load_noted(batch + 1)
            return PatternState(levels, *_noted(note))
        except CompiledSetError as error:
            # Better some pairs are missed than that nothing goes on.
            _log.error("pattern joins of shard %d begin anew: %s", shard, error)
            return PatternState()

    def _windows_after(self, shard: int, batch: int) -> WindowState:
        try:
            return self._windows(shard).load(batch + 1)
        except CompiledSetError as error:
            _log.error("windows of shard %d begin anew: %s", shard, error)
            return WindowState()

    def _known(self, shard: int, stages: AnnotationStages, state: JoinState, after: int) -> JoinState:
        """The state with what other shards know of streams that have come under windows here: an edited feed may have
        come from another shard."""
        wanted = stages.logic.joins.horizons
        if {*wanted} <= {*state.windows.streams}:
            return state
        others = (int(path.parent.name) for path in sorted(self._directory.joins.glob("*/windows")))
        found = (self._windows_of(other, after) for other in others if other != shard)
        return JoinState(state.patterns, state.windows.knowing(found, wanted))

    def _windows_of(self, shard: int, batch: int) -> WindowState:
        try:
            return self._windows(shard).load_after(batch) or WindowState()
        except CompiledSetError as error:
            _log.error("windows of shard %d are not known to others: %s", shard, error)
            return WindowState()

    def _history(self, shard: int) -> HistoryStore:
        return HistoryStore(self._directory.joins / str(shard))

    def _windows(self, shard: int) -> WindowStore:
        return WindowStore(self._directory.joins / str(shard) / "windows")

    def _input(self, joins: JoinSet, manifest: Manifest, shard: int, state: JoinState) -> JoinInput:
        batch = self._opened(manifest)
        elements = batch.elements
        keys, seqs = elements.column("feed").to_numpy(), elements.column("seq").to_numpy()
        low, high = (np.searchsorted(keys, list(joins.found), side) for side in ("left", "right"))
        return JoinInput(
            number=manifest.upto,
            found={
                key: seqs[first:last]
                for key, first, last in zip(joins.found, low.tolist(), high.tolist(), strict=True)
                if first < last
            },
            times=times_of(batch.times, max(state.patterns.clock, state.windows.clock)),
            witnesses=self._witnesses.read(manifest.upto, manifest.version, shard),
            items=batch.items,
            compared=batch.compared,
            older=lambda seqs: {item.seq: item for item in items_of(self._store.items(seqs))},
            older_columns=lambda seqs, names: self._store.items(seqs).select(list(names)),
        )

    def _opened(self, manifest: Manifest) -> _BatchFiles:
        """The files of a batch, which all its shards read."""
        if self._batch is None or self._batch.manifest != manifest:
            self._batch = _BatchFiles(manifest, self._store, self._streams)
        return self._batch

    def _written(self, name: str, shard: int, joined: Joined) -> ShardReceipt:
        """Files are named by the batch and the shard alone."""
        if joined.elements.num_rows:
            self._store.write_elements(name, joined.elements)
        if joined.annotations.num_rows:
            self._store.write_annotations(name, joined.annotations)
        if joined.made.num_rows:
            self._store.write_made(name, joined.made)
        return ShardReceipt(
            shard,
            name,
            joined.elements.num_rows,
            bool(joined.elements.num_rows),
            bool(joined.annotations.num_rows),
            bool(joined.made.num_rows),
            joined.failures,
        )


def _note(state: PatternState) -> dict[str, Any]:
    parts = [[id_, list(one.made_of), one.xml, one.is_selected] for id_, one in sorted(state.parts.items())]
    return {"clock": state.clock, "parts": parts}


def _noted(note: Any) -> tuple[dict[int, Construction], int]:
    if not note:
        return {}, LONG_AGO
    parts = {
        id_: Construction(tuple(made_of), xml, is_selected)
        for id_, made_of, xml, is_selected in note["parts"]
    }
    return parts, note["clock"]
