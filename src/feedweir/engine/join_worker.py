"""The join step in tasks: what an item task writes down for it, and one shard of feeds with joins over a batch."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from feedweir.engine.batches import Assignment, Manifest
from feedweir.engine.constructed import Construction
from feedweir.engine.directory import DataDirectory
from feedweir.engine.join_plans import JoinSet, load_joins, shards_in
from feedweir.engine.joining import Joined, JoinInput, join_batch
from feedweir.engine.patterns import LONG_AGO, PatternRounds, PatternState, times_of
from feedweir.engine.sets import joins_path
from feedweir.engine.store import Store
from feedweir.engine.windows import StoredHistory
from feedweir.engine.witnessing import WitnessLog, witnesses_in
from feedweir.errors import CompiledSetError
from feedweir.items.model import Item
from feedweir.items.schema import items_of
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
    shown_count: int
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

    def write(self, assignment: Assignment, items: pa.RecordBatch, elements: pa.Table) -> dict[str, str]:
        """Write down the witnesses of items; by source why an item of it takes no part in pattern joins."""
        refused: dict[int, str] = {}
        directory = joins_path(self._sets, assignment.version)
        for shard in shards_in(directory):
            joins, rounds = opened(directory, shard)
            if not rounds.patterns:
                continue
            wanted = pc.is_in(elements.column("feed"), pa.array(sorted(joins.witnessed()), pa.int64()))
            seqs = np.unique(elements.filter(wanted).column("seq").to_numpy())
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

    def __init__(self, manifest: Manifest, store: Store) -> None:
        self.manifest = manifest
        self._store = store

    @cached_property
    def elements(self) -> pa.Table:
        return self._store.element_table([self.manifest])

    @cached_property
    def times(self) -> pa.Table:
        return self._store.item_table([self.manifest], ("seq", "published", "arrived"))

    @cached_property
    def _items(self) -> pa.Table:
        return self._store.item_table([self.manifest])

    def items(self, seqs: Sequence[int]) -> Mapping[int, Item]:
        wanted = pc.is_in(self._items.column("seq"), pa.array(seqs, pa.int64()))
        return {item.seq: item for item in items_of(self._items.filter(wanted))}


class JoinWorker:
    """Runs shards over one data directory; keeps in memory what the next batch goes on from."""

    def __init__(self, directory: DataDirectory) -> None:
        self._directory = directory
        self._store = Store(directory.root)
        self._witnesses = WitnessLog(directory.witnesses)
        self._windows: dict[int, StoredHistory] = {}
        self._states: dict[int, tuple[int, PatternState]] = {}
        self._batch: _BatchFiles | None = None

    def run(self, task: ShardTask) -> ShardReceipt:
        """Do a shard of a batch: what it writes depends on the batch and on what was published before it."""
        manifest, shard = task.manifest, task.shard
        joins, rounds = opened(joins_path(self._directory.sets, manifest.version), shard)
        windows = self._windows.setdefault(shard, StoredHistory(self._store))
        windows.stand_at(manifest.after)
        state = self._state(shard, manifest.after)
        batch = self._input(joins, manifest, shard, state)
        joined = join_batch(joins, rounds, batch, windows, state)
        windows.learn(manifest.upto, joined.members)
        self._history(shard).save(
            manifest.upto, joined.state.levels, before=manifest.after, note=_note(joined.state)
        )
        self._states[shard] = (manifest.upto, joined.state)
        return self._written(f"{manifest.upto:012d}-joins-{shard}.arrow", shard, joined)

    def _state(self, shard: int, after: int) -> PatternState:
        at, state = self._states.get(shard, (-1, PatternState()))
        if at != after:
            try:
                levels, note = self._history(shard).load_noted(after + 1)
                state = PatternState(levels, *_noted(note))
            except CompiledSetError as error:
                # Better some pairs are missed than that nothing goes on.
                _log.error("pattern joins of shard %d begin anew: %s", shard, error)
                state = PatternState()
        return state

    def _history(self, shard: int) -> HistoryStore:
        return HistoryStore(self._directory.joins / str(shard))

    def _input(self, joins: JoinSet, manifest: Manifest, shard: int, state: PatternState) -> JoinInput:
        batch = self._opened(manifest)
        elements = batch.elements
        keys, seqs = elements.column("feed").to_numpy(), elements.column("seq").to_numpy()
        low, high = (np.searchsorted(keys, list(joins.found), side) for side in ("left", "right"))
        return JoinInput(
            number=manifest.upto,
            found={
                key: seqs[first:last].tolist()
                for key, first, last in zip(joins.found, low, high, strict=True)
            },
            times=times_of(batch.times, state.clock),
            witnesses=self._witnesses.read(manifest.upto, manifest.version, shard),
            items=batch.items,
        )

    def _opened(self, manifest: Manifest) -> _BatchFiles:
        """The files of a batch, which all its shards read."""
        if self._batch is None or self._batch.manifest != manifest:
            self._batch = _BatchFiles(manifest, self._store)
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
            pc.sum(pc.greater_equal(joined.elements.column("feed"), 0)).as_py() or 0,
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
