"""What joins remember after each batch, in a directory: `state-BATCH.json`, and the Arrow files that it names.

```
state-000000000007.json ──┐         the state that the newest batch began with
state-000000000009.json ──┼─▶ FOLDER/NAME.….arrow      shared by both as far as nothing changed
                          └─▶ FOLDER/NAME.….arrow
```

Of all states two are kept: that of the newest batch, and the one which it began with, since the batch may have to be
repeated. What neither of them names is removed.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, TypeVar

import pyarrow as pa

from feedweir.errors import CompiledSetError, DamagedFileError
from feedweir.logs import seals
from feedweir.logs.files import replace_sealed_json
from feedweir.storage import Place, places_in

State = Mapping[str, Any]
T = TypeVar("T")

_UNREADABLE = (OSError, KeyError, ValueError, TypeError, pa.ArrowException, DamagedFileError)


class StateFiles:
    """The states in a directory; `files_of` gives the Arrow files that one names, below the directory."""

    def __init__(self, directory: Place, format: int, files_of: Callable[[State], Iterable[str]]) -> None:
        self.directory = directory
        self._format = format
        self._files_of = files_of

    def write(self, batch: int, state: State, *, before: int) -> None:
        """Keep the state after a batch which began with that after batch `before`; what lies between them was left
        behind by an attempt that was cut otherwise. Whoever slept while later batches ran removes nothing."""
        replace_sealed_json(self._path(batch), {"format": self._format, **state})
        numbers = self.batches()
        if max(numbers) > batch:
            return
        began_with = max((number for number in numbers if number <= before), default=batch)
        self.keep({began_with, batch})

    def read(self, batch: int, decoded: Callable[[State], T]) -> T:
        """A state, decoded; `CompiledSetError` when it, or a file that it names, is missing or damaged."""
        own = self._path(batch)
        try:
            state = seals.read_json(own)
            if state["format"] != self._format:
                raise CompiledSetError(f"{own.name} is of format {state['format']}, not {self._format}")
            there = {str(path) for path in self.directory.glob("*/*.arrow")}
            for path in (self.directory / name for name in self._files_of(state)):
                if str(path) not in there:
                    raise DamagedFileError(path, "it is missing")
            return decoded(state)
        except _UNREADABLE as error:
            raise CompiledSetError(
                f"{own.name} is damaged: {error}", hint="restore it, or go on without what it remembered"
            ) from error

    def batches(self) -> list[int]:
        """The batches after which there is a state."""
        return sorted(int(path.stem.removeprefix("state-")) for path in self.directory.glob("state-*.json"))

    def last_before(self, batch: int) -> int | None:
        return max((number for number in self.batches() if number < batch), default=None)

    def missing(self) -> list[Place]:
        """The files that states name and that are not there."""
        absent: dict[Place, Place] = {
            path: self._path(number)
            for number in self.batches()
            for name in self._named(number)
            if not (path := self.directory / name).exists()
        }
        # A later batch may have swept the state away meanwhile, and its files with it.
        return sorted((path for path, state in absent.items() if state.exists()), key=str)

    def keep(self, batches: Collection[int]) -> None:
        """Remove all other states, and the files that none of these names."""
        for number in self.batches():
            if number not in batches:
                self._path(number).unlink(missing_ok=True)
        used = {_stem(name) for number in batches for name in self._named(number)}
        for path in places_in(self.directory, "*/*.arrow"):
            if _stem(f"{path.parent.name}/{path.name}") not in used:
                path.unlink(missing_ok=True)

    def _named(self, batch: int) -> list[str]:
        """The files that a state names; none if it cannot be read, which `read` reports to whoever needs it."""
        try:
            return list(self._files_of(seals.read_json(self._path(batch))))
        except _UNREADABLE:
            return []

    def _path(self, batch: int) -> Place:
        return self.directory / f"state-{batch:012d}.json"


def _stem(name: str) -> str:
    """Files of one segment differ in what follows the first point."""
    folder, _, file = name.rpartition("/")
    return f"{folder}/{file.split('.')[0]}"
