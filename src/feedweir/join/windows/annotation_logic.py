"""Annotation joins from batch to batch: what each stage finds, and the state after it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from feedweir.join.ragged import Ragged
from feedweir.join.windows.annotation_batch import AnnotationBatch, Columns, StageResults, stage_results
from feedweir.join.windows.annotation_set import AnnotationSet
from feedweir.join.windows.annotation_step import Stage
from feedweir.join.windows.features import Feature
from feedweir.join.windows.window_history import WindowHistory
from feedweir.join.windows.window_state import WindowSegment, WindowState, in_order, merged, segment_of, swept

Longs = NDArray[np.int64]
Complete = Callable[[Longs, tuple[Feature, ...]], Columns]
"""Reads features of items by their numbers: those that joins newly compare."""

_SWEPT_AFTER = 8


class AnnotationLogic:
    """The logic of a compiled set; its indexes reflect one state and are made anew for any other."""

    def __init__(self, joins: AnnotationSet) -> None:
        self.joins = joins
        self._state = WindowState()
        self._history = WindowHistory(joins)
        self._swept_at = 0

    def resume(self, state: WindowState, complete: Complete) -> None:
        """Begin with a state. After an edit of joins, what they newly compare is read from the items again."""
        if state is not self._state:
            segments = in_order([self._completed(segment, complete) for segment in state.segments])
            self._restore(WindowState(segments, state.clock, state.streams))
            self._state = state if segments == state.segments else self._state
            # Each batch may be run by another process that stops before it sweeps: so sweep soon.
            self._swept_at = 0

    def stage(self, number: int, documents: AnnotationBatch) -> StageResults:
        """What the joins of a stage find; `documents` has the members of every stream that they read."""
        if not len(documents) or not self.joins.stages[number]:
            return stage_results((), ())
        return Stage(number, self.joins, documents, self._history).results()

    def after(self, documents: AnnotationBatch, clock: int) -> WindowState:
        """The state after a batch; `documents` has the members of all streams under windows."""
        segment = self._segment(documents)
        segments = self._state.segments
        if segment is not None:
            segments = merged((*segments, segment))
            self._history.append(segment)
        self._state = WindowState(segments, clock, tuple(self.joins.horizons))
        if len(self._history) > self._swept_at + max(_SWEPT_AFTER, self._swept_at // 4):
            self._sweep()
        return self._state

    def cut(self) -> dict[int, int]:
        """By stream with more items than a window may reach, the time of the first that is reached."""
        return self._history.cut(self.joins.bounds.max_documents)

    def saved(self, before: WindowState, after: WindowState) -> None:
        """A state was saved: the next batch begins with it as it is read from the files."""
        if before is self._state:
            self._state = after

    def _sweep(self) -> None:
        state = self._state
        segments = swept(state.segments, self._history.reach(state.clock))
        if segments != state.segments:
            self._restore(WindowState(segments, state.clock, state.streams))
        self._swept_at = len(self._history)

    def _restore(self, state: WindowState) -> None:
        self._state, self._history = state, WindowHistory(self.joins)
        for segment in state.segments:
            self._history.append(segment)
        self._swept_at = len(self._history)

    def _completed(self, segment: WindowSegment, complete: Complete) -> WindowSegment:
        if segment.has(self.joins.features):
            return segment
        named = segment.table.column_names
        missing = tuple(feature for feature in self.joins.features if feature.name not in named)
        columns = complete(segment.seq[~segment.is_made], missing) if missing else {}
        # Of a constructed document only the features that were compared are remembered.
        rows = np.cumsum(~segment.is_made)
        places = np.where(segment.is_made, len(segment), rows - 1)
        known = {
            feature: columns[feature].take_known(places) if feature in columns else segment.column(feature)
            for feature in self.joins.features
        }
        return segment.with_columns(known)

    def _segment(self, documents: AnnotationBatch) -> WindowSegment | None:
        """Those documents of a batch that are under windows."""
        keys = [key for key in self.joins.horizons if len(documents.members.get(key, ()))]
        if not keys:
            return None
        rows = np.concatenate([documents.members[key] for key in keys]).astype(np.int64)
        stream = np.repeat(np.array(keys, np.int64), [len(documents.members[key]) for key in keys])
        order = np.lexsort((stream, rows))
        rows, stream = rows[order], stream[order]
        kept = np.unique(rows)
        ptr = np.searchsorted(rows, np.append(kept, len(documents))).astype(np.int64)
        columns = {feature: documents.columns[feature].take(kept) for feature in self.joins.features}
        return segment_of(
            documents.seq[kept],
            documents.time_us[kept],
            documents.arrived_us[kept],
            documents.is_made[kept],
            Ragged(ptr, stream),
            columns,
        )
