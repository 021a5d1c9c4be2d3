"""The history of windows in a directory: segments as Arrow files, and of which of them each batch left its state."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path

import pyarrow as pa

from feedweir import seals
from feedweir.errors import CompiledSetError, DamagedFileError
from feedweir.join.annotation_state import WindowSegment, WindowState
from feedweir.join.segments import replaced, write_sealed

FORMAT = 1


class WindowStore:
    """`state-BATCH.json` is the state after a batch, `segments/NAME.arrow` what it consists of.

    `save` is idempotent. `load(batch)` gives the state before that batch, whatever later attempts left behind.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._segments = directory / "segments"

    def save(self, batch: int, state: WindowState, *, before: int) -> WindowState:
        """Keep the state after a batch that began with the one after batch `before`; the same, read from the files."""
        self._segments.mkdir(parents=True, exist_ok=True)
        for segment in state.segments:
            path = self._path(segment.name)
            if not path.exists():
                replaced(path, partial(write_sealed, segment.table, seals.name_of(path)))
        value = {
            "format": FORMAT,
            "clock": state.clock,
            "streams": list(state.streams),
            "segments": [segment.name for segment in state.segments],
        }
        target = self._state(batch)
        replaced(target, partial(_write, seals.sealed_json(value, seals.name_of(target))))
        self._sweep(batch, before)
        segments = tuple(self._opened(segment.name) for segment in state.segments)
        return WindowState(segments, state.clock, state.streams)

    def load(self, before: int) -> WindowState:
        """The state after the last batch before this one; an empty one when there is none."""
        usable = [number for number in self._batches() if number < before]
        return self._loaded(usable[-1]) if usable else WindowState()

    def load_after(self, batch: int) -> WindowState | None:
        """The state after exactly this batch, if it is there."""
        return self._loaded(batch) if batch in self._batches() else None

    def missing(self) -> list[Path]:
        """The files that the states here are made of and that are not there."""
        absent = {
            path: self._state(number)
            for number in self._batches()
            for name in self._named(number)
            if not (path := self._path(name)).exists()
        }
        return sorted(
            path for path, state in absent.items() if state.exists()
        )  # no later batch swept it away

    def forget(self, *, before: int) -> None:
        """Remove the states after batches before this one, and what only they consist of."""
        numbers = self._batches()
        if any(number < before for number in numbers):
            self._keep({number for number in numbers if number >= before})

    def _loaded(self, batch: int) -> WindowState:
        path = self._state(batch)
        try:
            value = seals.read_json(path)
            if value["format"] != FORMAT:
                raise CompiledSetError(f"windows {path.name} are of format {value['format']}, not {FORMAT}")
            segments = tuple(self._opened(name) for name in value["segments"])
            return WindowState(segments, value["clock"], tuple(value["streams"]))
        except (OSError, KeyError, TypeError, ValueError, pa.ArrowException, DamagedFileError) as error:
            raise CompiledSetError(
                f"windows {path.name} are damaged: {error}", hint="restore them, or go on without"
            ) from error

    def _opened(self, name: str) -> WindowSegment:
        """A segment whose columns are mapped from its file: pages are read when they are touched."""
        return WindowSegment(seals.opened_arrow(self._path(name)))

    def _sweep(self, batch: int, before: int) -> None:
        """Keep this state and the one it came from: the batch may have to be repeated."""
        numbers = self._batches()
        came_from = max((number for number in numbers if number <= before), default=batch)
        self._keep({came_from, batch})

    def _keep(self, kept: set[int]) -> None:
        for number in self._batches():
            if number not in kept:
                self._state(number).unlink(missing_ok=True)
        used = {name for number in kept for name in self._named(number)}
        for path in sorted(self._segments.glob("*.arrow")):
            if path.stem not in used:
                path.unlink(missing_ok=True)

    def _named(self, batch: int) -> list[str]:
        """The segments of a state; none of one that cannot be read."""
        try:
            return list(seals.read_json(self._state(batch))["segments"])
        except (OSError, ValueError, KeyError, TypeError, DamagedFileError):
            return []

    def _batches(self) -> list[int]:
        return sorted(int(path.stem.removeprefix("state-")) for path in self._directory.glob("state-*.json"))

    def _state(self, batch: int) -> Path:
        return self._directory / f"state-{batch:012d}.json"

    def _path(self, name: str) -> Path:
        return self._segments / f"{name}.arrow"


def _write(data: bytes, path: Path) -> None:
    with path.open("wb") as sink:
        sink.write(data)
        sink.flush()
        os.fsync(sink.fileno())
