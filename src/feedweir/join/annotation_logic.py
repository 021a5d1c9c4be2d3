"""Annotation joins from batch to batch: what each stage finds, and what is remembered after it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from feedweir.join.annotation import AnnotationSet
from feedweir.join.annotation_batch import Columns, Documents, StageResults, stage_results
from feedweir.join.annotation_history import WindowHistory
from feedweir.join.annotation_stage import Stage
from feedweir.join.annotation_state import (
    WindowSegment,
    WindowState,
    in_order,
    merged,
    segment_of,
    swept,
)
from feedweir.join.features import Feature, Ragged

Longs = NDArray[np.int64]
Complete = Callable[[Longs, tuple[Feature, ...]], Columns]
"""Reads of items, by their numbers, what joins have come to compare since the items were remembered."""

_SWEPT_AFTER = 8


class AnnotationLogic:
    """The logic of a compiled set; its indexes reflect one state and are made anew for any other."""

    def __init__(self, joins: AnnotationSet) -> None:
        self.joins = joins
        self._state = WindowState()
        self._history = WindowHistory(joins)
        self._swept_at = 0

    def stand_on(self, state: WindowState, complete: Complete) -> None:
        """Go on from a state; of what it does not hold, because joins were edited, the items are read again."""
        if state is not self._state:
            segments = in_order([self._completed(segment, complete) for segment in state.segments])
            self._restore(WindowState(segments, state.clock, state.streams))
            self._state = state if segments == state.segments else self._state
            # Whoever wrote it may have had no time to sweep it, nor have it this time.
            self._swept_at = 0

    def stage(self, number: int, documents: Documents) -> StageResults:
        """What the joins of a stage find; `documents` has the members of every stream that they read."""
        if not len(documents) or not self.joins.stages[number]:
            return stage_results((), ())
        return Stage(number, self.joins, documents, self._history).results()

    def after(self, documents: Documents, clock: int) -> WindowState:
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
        """By stream that has more items than any window may reach: the time of the first that is reached."""
        return self._history.cut(self.joins.bounds.max_documents)

    def saved(self, before: WindowState, after: WindowState) -> None:
        """A state was written down: the same, as it is read from the files, is gone on from."""
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
        # Of a constructed document nothing but what was compared is remembered.
        rows = np.cumsum(~segment.is_made)
        places = np.where(segment.is_made, len(segment), rows - 1)
        known = {
            feature: columns[feature].take_known(places) if feature in columns else segment.column(feature)
            for feature in self.joins.features
        }
        return segment.with_columns(known)

    def _segment(self, documents: Documents) -> WindowSegment | None:
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
            documents.is_made[kept],
            Ragged(ptr, stream),
            columns,
        )
