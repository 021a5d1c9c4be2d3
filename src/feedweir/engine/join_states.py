"""What the joins of shards remember between batches, at hand and in `joins/SHARD/`."""

from __future__ import annotations

import logging
import shutil
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from feedweir.engine.annotating import AnnotationStages
from feedweir.engine.batches import Manifest
from feedweir.engine.comparing import ReadTable
from feedweir.engine.constructed import Construction
from feedweir.engine.joined import JoinState
from feedweir.engine.patterns import PatternRounds, PatternState
from feedweir.engine.recalling import with_recalled
from feedweir.errors import CompiledSetError
from feedweir.join.annotation_state import WindowState
from feedweir.join.annotation_store import WindowStore
from feedweir.join.clock import Clock
from feedweir.join.state import HistoryStore

_log = logging.getLogger(__name__)


class JoinStates:
    """The states of shards. What is at hand is only used for the batch after it; for any other the files are read.

    Only the state after the very batch before is gone on from: one that is older has not seen what came since.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._held: dict[int, tuple[int, JoinState]] = {}
        self._spoilt: dict[int, list[str]] = {}
        """By shard what could not be read for the batch that is being run."""

    def after(
        self, batch: int, shard: int, rounds: PatternRounds, stages: AnnotationStages, read: ReadTable
    ) -> JoinState:
        """The state with which the batch after this one begins; `read` reads items of the log."""
        self._spoilt[shard] = []
        at, state = self._held.get(shard, (-1, JoinState(PatternState(), WindowState())))
        if at != batch:
            state = JoinState(self._patterns_after(shard, batch), self._windows_after(shard, batch))
        state = self._knowing(shard, stages, state, batch)
        others = partial(self._other_patterns, shard, batch)
        return replace(state, patterns=with_recalled(rounds, state.patterns, others, read, batch))

    def doubts(self, shard: int, left: Sequence[str]) -> tuple[str, ...]:
        """What the shard's last call of `after` did without, although an earlier batch left it."""
        missing = [name for name in left if _is_of(name, shard) and not (self._directory / name).exists()]
        return tuple(sorted({f"joins/{name}" for name in (*self._spoilt.get(shard, ()), *missing)}))

    def names(self, shard: int, batch: int) -> tuple[str, ...]:
        """What a shard keeps of the state after a batch, below the directory."""
        folder = self._directory / str(shard)
        paths = (folder / f"state-{batch:012d}.json", folder / "windows" / f"state-{batch:012d}.json")
        return tuple(str(path.relative_to(self._directory)) for path in paths if path.exists())

    def save(
        self,
        shard: int,
        manifest: Manifest,
        rounds: PatternRounds,
        stages: AnnotationStages,
        state: JoinState,
    ) -> None:
        """Keep the state after a batch; it is gone on from as it will be found when it is read again."""
        patterns, windows = state.patterns, state.windows
        levels = self._history(shard).save(
            manifest.upto, patterns.levels, before=manifest.after, note=_note(patterns)
        )
        rounds.saved(patterns.levels, levels)
        if stages.queries:
            windows = self._windows(shard).save(manifest.upto, state.windows, before=manifest.after)
            stages.logic.saved(state.windows, windows)
        else:
            # Other shards may be taking over, in this very batch, what was known before it.
            self._windows(shard).forget(before=manifest.after)
            windows = WindowState()
        self._held[shard] = manifest.upto, JoinState(replace(patterns, levels=levels), windows)

    def _knowing(self, shard: int, stages: AnnotationStages, state: JoinState, after: int) -> JoinState:
        """The state with what other shards know of streams that have come under windows here: an edited feed may have
        come from another shard."""
        wanted = stages.logic.joins.horizons
        if {*wanted} <= {*state.windows.streams}:
            return state
        others = (int(path.parent.name) for path in sorted(self._directory.glob("*/windows")))
        found = (self._windows_of(other, after) for other in others if other != shard)
        return JoinState(state.patterns, state.windows.knowing(found, wanted))

    def _patterns_after(self, shard: int, batch: int) -> PatternState:
        try:
            levels, note = self._history(shard).load_after(batch)
            return PatternState(levels, *_noted(note))
        except CompiledSetError as error:
            # Better some pairs are missed than that nothing goes on.
            _log.error("pattern joins of shard %d begin anew: %s", shard, error)
            self._spoilt.setdefault(shard, []).append(f"{shard}/state-{batch:012d}.json")
            return PatternState()

    def _other_patterns(self, shard: int, batch: int) -> list[PatternState]:
        """What other shards remember: an edited feed may have come from one of them."""
        others = sorted({int(path.parent.name) for path in self._directory.glob("*/state-*.json")} - {shard})
        return [self._patterns_after(other, batch) for other in others]

    def _windows_after(self, shard: int, batch: int) -> WindowState:
        try:
            return self._windows(shard).load_after(batch) or WindowState()
        except CompiledSetError as error:
            _log.error("windows of shard %d begin anew: %s", shard, error)
            self._spoilt.setdefault(shard, []).append(f"{shard}/windows/state-{batch:012d}.json")
            return WindowState()

    def _windows_of(self, shard: int, batch: int) -> WindowState:
        try:
            return self._windows(shard).load_after(batch) or WindowState()
        except CompiledSetError as error:
            _log.error("windows of shard %d are not known to others: %s", shard, error)
            return WindowState()

    def _history(self, shard: int) -> HistoryStore:
        return HistoryStore(self._directory / str(shard))

    def _windows(self, shard: int) -> WindowStore:
        return WindowStore(self._directory / str(shard) / "windows")


def _is_of(name: str, shard: int) -> bool:
    return name.split("/", 1)[0] == str(shard)


def forget_shards(directory: Path, living: Sequence[int]) -> None:
    """Remove what is remembered for shards that have no feeds any more: nobody will go on from there."""
    for path in sorted(directory.glob("[0-9]*")):
        if int(path.name) not in living:
            shutil.rmtree(path, ignore_errors=True)


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
