"""What the joins of shards remember between batches, in memory and in `joins/SHARD/`, and how far back it reaches."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from feedweir.errors import CompiledSetError
from feedweir.join.clock import Clock
from feedweir.join.patterns.history_store import HistoryStore
from feedweir.join.patterns.rounds import PatternState, with_recalled
from feedweir.join.result_bounds import ResultCounts
from feedweir.join.result_tables import JoinState
from feedweir.join.step import CompiledJoins
from feedweir.join.windows.annotation_stages import AnnotationStages
from feedweir.join.windows.features import ReadTable
from feedweir.join.windows.window_state import WindowState
from feedweir.join.windows.window_store import WindowStore
from feedweir.logs.batches import Manifest
from feedweir.logs.joined_log import Construction
from feedweir.storage import Place, below, places_in, remove_tree

_log = logging.getLogger(__name__)


class JoinStates:
    """The states of shards. The one in memory serves only the batch right after it; for any other, files are read.

    A batch begins with the state after the very batch before it: an older one has not seen what came since.
    """

    def __init__(self, directory: Place) -> None:
        self._directory = directory
        self._held: dict[int, tuple[int, JoinState]] = {}
        self._spoilt: dict[int, list[str]] = {}
        """By shard what could not be read for the current batch."""

    def state_after(self, batch: int, shard: int, compiled: CompiledJoins, read: ReadTable) -> JoinState:
        """The state after a batch, with which the next one begins; `read` reads items of the log."""
        self._spoilt[shard] = []
        at, state = self._held.get(shard, (-1, JoinState(PatternState(), WindowState())))
        if at != batch:
            state = JoinState(self._patterns_after(shard, batch), self._windows_after(shard, batch))
        state = self._with_windows_of_others(shard, compiled.windows, state, batch)
        others = partial(self._other_patterns, shard, batch)
        return replace(state, patterns=with_recalled(compiled.patterns, state.patterns, others, read, batch))

    def doubts(self, shard: int, left: Sequence[str]) -> tuple[str, ...]:
        """The files that `state_after` did without for a shard, although an earlier batch wrote them."""
        missing = [name for name in left if _is_of(name, shard) and not (self._directory / name).exists()]
        return tuple(sorted({f"joins/{name}" for name in (*self._spoilt.get(shard, ()), *missing)}))

    def names(self, shard: int, batch: int) -> tuple[str, ...]:
        """The files of a shard's state after a batch, below the directory."""
        folder = self._directory / str(shard)
        paths = (folder / f"state-{batch:012d}.json", folder / "windows" / f"state-{batch:012d}.json")
        return tuple(below(self._directory, path) for path in paths if path.exists())

    def save(self, shard: int, manifest: Manifest, compiled: CompiledJoins, state: JoinState) -> None:
        """Keep the state after a batch. The next one begins with it as it is read from disk."""
        patterns, windows = state.patterns, state.windows
        levels = self._history(shard).save(
            manifest.upto,
            patterns.levels,
            before=manifest.after,
            note=_note(patterns),
            beside=patterns.counts.table(),
        )
        compiled.patterns.saved(patterns.levels, levels)
        if compiled.windows.queries:
            windows = self._windows(shard).save(manifest.upto, state.windows, before=manifest.after)
            compiled.windows.logic.saved(state.windows, windows)
        else:
            # In this very batch, other shards may be adopting what was known before it.
            self._windows(shard).forget(before=manifest.after)
            windows = WindowState()
        self._held[shard] = manifest.upto, JoinState(replace(patterns, levels=levels), windows)

    def _with_windows_of_others(
        self, shard: int, stages: AnnotationStages, state: JoinState, after: int
    ) -> JoinState:
        """The state with what other shards know of streams that are newly under windows here: an edit may move a feed
        from another shard."""
        wanted = stages.logic.joins.horizons
        if {*wanted} <= {*state.windows.streams}:
            return state
        others = (int(path.parent.name) for path in places_in(self._directory, "*/windows"))
        found = (self._windows_of(other, after) for other in others if other != shard)
        return JoinState(state.patterns, state.windows.adopting(found, wanted))

    def _patterns_after(self, shard: int, batch: int) -> PatternState:
        try:
            levels, note, counts = self._history(shard).load_after(batch)
            known = ResultCounts() if counts is None else ResultCounts.of(counts)
            return PatternState(levels, *_noted(note), known)
        except CompiledSetError as error:
            # Better to miss some pairs than to stop.
            _log.error("pattern joins of shard %d start from nothing: %s", shard, error)
            self._spoilt.setdefault(shard, []).append(f"{shard}/state-{batch:012d}.json")
            return PatternState()

    def _other_patterns(self, shard: int, batch: int) -> list[PatternState]:
        """What other shards remember: an edit may move a feed from one of them."""
        others = sorted({int(path.parent.name) for path in self._directory.glob("*/state-*.json")} - {shard})
        return [self._patterns_after(other, batch) for other in others]

    def _windows_after(self, shard: int, batch: int) -> WindowState:
        try:
            return self._windows(shard).load_after(batch) or WindowState()
        except CompiledSetError as error:
            _log.error("windows of shard %d start from nothing: %s", shard, error)
            self._spoilt.setdefault(shard, []).append(f"{shard}/windows/state-{batch:012d}.json")
            return WindowState()

    def _windows_of(self, shard: int, batch: int) -> WindowState:
        try:
            return self._windows(shard).load_after(batch) or WindowState()
        except CompiledSetError as error:
            _log.error("windows of shard %d cannot be read for other shards: %s", shard, error)
            return WindowState()

    def _history(self, shard: int) -> HistoryStore:
        return HistoryStore(self._directory / str(shard))

    def _windows(self, shard: int) -> WindowStore:
        return WindowStore(self._directory / str(shard) / "windows")


def _is_of(name: str, shard: int) -> bool:
    return name.split("/", 1)[0] == str(shard)


def forget_shards(directory: Place, living: Sequence[int]) -> None:
    """Remove the states of shards that no longer have feeds."""
    for path in places_in(directory, "[0-9]*"):
        if int(path.name) not in living:
            remove_tree(path)


def _note(state: PatternState) -> dict[str, Any]:
    parts = [[id_, list(one.made_of), one.xml, one.is_selected] for id_, one in sorted(state.parts.items())]
    return {"clock": state.clock.to_json(), "parts": parts}


def _noted(note: Any) -> tuple[dict[int, Construction], Clock]:
    if not note:
        return {}, Clock()
    parts = {
        id_: Construction(tuple(made_of), xml, is_selected)
        for id_, made_of, xml, is_selected in note["parts"]
    }
    return parts, Clock.from_json(note["clock"])
