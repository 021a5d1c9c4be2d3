"""The history of windows in a directory: segments as Arrow files, and of which of them each batch left its state."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pyarrow as pa

from feedweir.errors import CompiledSetError
from feedweir.join.annotation_state import WindowSegment, WindowState

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
                _replace(path, partial(_write, segment.table))
        value = {
            "format": FORMAT,
            "clock": state.clock,
            "streams": list(state.streams),
            "segments": [segment.name for segment in state.segments],
        }
        text = json.dumps(value, sort_keys=True)
        _replace(self._state(batch), partial(_write_text, text))
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

    def forget(self, *, before: int) -> None:
        """Remove the states after batches before this one, and what only they consist of."""
        numbers = self._batches()
        if any(number < before for number in numbers):
            self._keep({number for number in numbers if number >= before})

    def _loaded(self, batch: int) -> WindowState:
        path = self._state(batch)
        try:
            value = json.loads(path.read_text())
            if value["format"] != FORMAT:
                raise CompiledSetError(f"windows {path.name} are of format {value['format']}, not {FORMAT}")
            segments = tuple(self._opened(name) for name in value["segments"])
            return WindowState(segments, value["clock"], tuple(value["streams"]))
        except (OSError, KeyError, TypeError, ValueError, pa.ArrowException) as error:
            raise CompiledSetError(
                f"windows {path.name} are damaged: {error}", hint="restore them, or go on without"
            ) from error

    def _opened(self, name: str) -> WindowSegment:
        """A segment whose columns are mapped from its file: pages are read when they are touched."""
        with pa.memory_map(str(self._path(name))) as source:
            return WindowSegment(pa.ipc.open_file(source).read_all())

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
            return list(json.loads(self._state(batch).read_text())["segments"])
        except (OSError, ValueError, KeyError, TypeError):
            return []

    def _batches(self) -> list[int]:
        return sorted(int(path.stem.removeprefix("state-")) for path in self._directory.glob("state-*.json"))

    def _state(self, batch: int) -> Path:
        return self._directory / f"state-{batch:012d}.json"

    def _path(self, name: str) -> Path:
        return self._segments / f"{name}.arrow"


def _replace(target: Path, write: Callable[[Path], None]) -> None:
    draft = target.with_name(f".{target.name}.{os.getpid()}")
    write(draft)
    os.replace(draft, target)


def _write_text(text: str, path: Path) -> None:
    with path.open("w") as sink:
        sink.write(text)
        sink.flush()
        os.fsync(sink.fileno())


def _write(table: pa.Table, path: Path) -> None:
    with path.open("wb") as sink:
        with pa.ipc.new_file(sink, table.schema) as writer:
            writer.write_table(table.combine_chunks())
        sink.flush()
        os.fsync(sink.fileno())
