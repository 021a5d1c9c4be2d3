"""Dry-run joins over batches of items; nothing is written. For back-tests, previews and what would come next."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from feedweir.items.model import Item
from feedweir.items.schema import ITEM_SCHEMA, items_of
from feedweir.join.batch_documents import JoinInput
from feedweir.join.clock import times_of
from feedweir.join.patterns.rounds import PatternState
from feedweir.join.result_tables import Joined, JoinState
from feedweir.join.step import CompiledJoins, join_batch
from feedweir.join.streams import JoinSet
from feedweir.join.task_output import witnesses_in
from feedweir.join.windows.features import Compared
from feedweir.join.windows.window_state import WindowState
from feedweir.logs.joined_log import ANNOTATION_SCHEMA, Annotations, annotations_in
from feedweir.logs.store import Store

Longs = NDArray[np.int64]


class Replay:
    """Feeds with joins over one batch after another, from a stored state or from nothing."""

    def __init__(self, joins: JoinSet | CompiledJoins, store: Store | None = None) -> None:
        self.compiled = joins if isinstance(joins, CompiledJoins) else CompiledJoins(joins)
        self.state = JoinState(PatternState(), WindowState())
        self._store = store
        self._seen: list[pa.Table] = []
        self._found = _Found()

    def resume(self, state: JoinState) -> None:
        """Begin with this state; its items are in the store."""
        self.state = state

    def step(self, batch: pa.RecordBatch, found: Mapping[int, Longs]) -> Joined:
        """What joins find in a batch; `found` has the numbers of its items by stream."""
        joined = self.join(self.given(batch, found), self.state)
        self.state = joined.state
        self._found.add(joined)
        return joined

    def join(self, given: JoinInput, state: JoinState) -> Joined:
        return join_batch(self.compiled, given, state)

    def given(self, batch: pa.RecordBatch, found: Mapping[int, Longs]) -> JoinInput:
        """A batch as the join step is given it."""
        table = pa.Table.from_batches([batch])
        self._seen.append(table.filter(pc.is_in(table.column("seq"), _each_once(found.values()))))
        witnessed = _each_once(found.get(key, ()) for key in self.compiled.witness_streams)
        return JoinInput(
            number=len(self._seen),
            found=found,
            times=times_of(batch, self.state.patterns.clock),
            witnesses=witnesses_in(self.compiled.patterns.trees, batch, witnessed.to_numpy()),
            items=self._items,
            compared=Compared(np.sort(batch.column("seq").to_numpy()), self.columns),
            older=self._items,
            older_columns=self.columns,
            is_in=self._store.is_in if self._store else self._found.is_in,
            annotations=self._store.joined.annotations if self._store else self._found.annotations,
        )

    def _items(self, seqs: Sequence[int]) -> dict[int, Item]:
        return {item.seq: item for item in items_of(self.columns(seqs, ITEM_SCHEMA.names))}

    def columns(self, seqs: Sequence[int], names: Sequence[str]) -> pa.Table:
        """Columns of items of these batches or of the store, in the order of the stream."""
        wanted = pa.array(seqs, pa.int64())
        found = [table.filter(pc.is_in(table.column("seq"), wanted)) for table in reversed(self._seen)]
        if self._store is not None:
            missing = set(seqs).difference(*(table.column("seq").to_pylist() for table in found))
            found.append(self._store.items(sorted(missing)))
        return pa.concat_tables(found).sort_by("seq").select(list(names))


class _Found:
    """What earlier batches put into feeds."""

    def __init__(self) -> None:
        self._elements: set[tuple[int, int]] = set()
        self._annotations = ANNOTATION_SCHEMA.empty_table()

    def add(self, joined: Joined) -> None:
        self._elements.update(zip(*(column.to_pylist() for column in joined.elements.columns), strict=True))
        self._annotations = pa.concat_tables([self._annotations, joined.annotations])

    def is_in(self, feeds: Longs, seqs: Longs) -> NDArray[np.bool_]:
        pairs = zip(feeds.tolist(), seqs.tolist(), strict=True)
        return np.array([pair in self._elements for pair in pairs], np.bool_)

    def annotations(self, feed: int, seqs: Sequence[int]) -> Annotations:
        """By number and join identifier the numbers of the partners."""
        rows = self._annotations
        asked = pc.and_(pc.equal(rows["feed"], feed), pc.is_in(rows["seq"], pa.array(seqs, pa.int64())))
        return annotations_in(rows.filter(asked))


def _each_once(parts: Iterable[Longs | Sequence[int]]) -> pa.Array:
    return pa.array(np.unique(np.concatenate([np.empty(0, np.int64), *parts])).astype(np.int64), pa.int64())
