"""The history of windows on disk: segments as Arrow files, and the states that name them."""

from __future__ import annotations

from feedweir.join.state_files import State, StateFiles
from feedweir.join.windows.window_state import WindowSegment, WindowState
from feedweir.logs.files import open_arrow, replace_arrow
from feedweir.storage import Place

FORMAT = 1


class WindowStore:
    """The states of annotation joins in a directory: `segments/NAME.arrow` and a state for each batch.

    `save` is idempotent. `load(batch)` gives the state before that batch, whatever later attempts left behind.
    """

    def __init__(self, directory: Place) -> None:
        self._segments = directory / "segments"
        self._states = StateFiles(directory, FORMAT, _files_of)

    def save(self, batch: int, state: WindowState, *, before: int) -> WindowState:
        """Keep the state after a batch that began with the one after batch `before`; the same, read from the files."""
        for segment in state.segments:
            path = self._path(segment.name)
            if not path.exists():
                replace_arrow(path, segment.table)
        value = {
            "clock": state.clock,
            "streams": list(state.streams),
            "segments": [segment.name for segment in state.segments],
        }
        self._states.write(batch, value, before=before)
        return self._decoded(value)

    def load(self, before: int) -> WindowState:
        """The state after the last batch before this one; an empty one when there is none."""
        last = self._states.last_before(before)
        return WindowState() if last is None else self._states.read(last, self._decoded)

    def load_after(self, batch: int) -> WindowState | None:
        """The state after exactly this batch, if it is there."""
        return self._states.read(batch, self._decoded) if batch in self._states.batches() else None

    def missing(self) -> list[Place]:
        """The files that states name and that are not there."""
        return self._states.missing()

    def forget(self, *, before: int) -> None:
        """Remove the states after batches before this one, and the segments that only they have."""
        numbers = self._states.batches()
        if any(number < before for number in numbers):
            self._states.keep([number for number in numbers if number >= before])

    def _decoded(self, state: State) -> WindowState:
        """Columns are mapped from their files: pages are read when they are touched."""
        segments = tuple(WindowSegment(open_arrow(self._path(name))) for name in state["segments"])
        return WindowState(segments, state["clock"], tuple(state["streams"]))

    def _path(self, name: str) -> Place:
        return self._segments / f"{name}.arrow"


def _files_of(state: State) -> list[str]:
    return [f"segments/{name}.arrow" for name in state["segments"]]
