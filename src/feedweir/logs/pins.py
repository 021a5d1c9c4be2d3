"""What the next batch consists of, written down before its first task runs: its segments, its set, how it is cut.

`pins/AFTER.json` says which batch follows the one that ends with segment AFTER. It is put if absent: whoever runs the
batch, and however often, runs the same one. So nothing depends on what an engine remembers of its own progress. A pin
need not outlast a loss of power, which ends all that could have run its batch: no batch waits for the disk here.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass

from feedweir.errors import DamagedFileError
from feedweir.logs.files import put_absent_sealed_json, replace_sealed_json
from feedweir.logs.seals import read_json
from feedweir.storage import Place, places_in

_KEPT = 64
"""The newest pins: a process that stood still for a while must find its place taken."""


@dataclass(frozen=True, slots=True)
class Pin:
    """A batch that is to be run: the documents of segments `after < segment <= upto` against a version of the set."""

    after: int
    upto: int
    version: int
    tasks: int = 1
    """Into how many it is divided."""


class PinLog:
    """The pins of a data directory."""

    def __init__(self, directory: Place) -> None:
        self._directory = directory

    def after(self, segment: int) -> Pin | None:
        """The batch that follows this segment, if it was pinned."""
        try:
            return Pin(**read_json(self._path(segment)))
        except (FileNotFoundError, DamagedFileError, TypeError):
            return None

    def put(self, pin: Pin) -> Pin:
        """Pin a batch, unless its place was taken; the one that is pinned there."""
        if put_absent_sealed_json(self._path(pin.after), asdict(pin), is_synced=False):
            return pin
        taken = self.after(pin.after)
        if taken is None:  # what is there cannot be read
            replace_sealed_json(self._path(pin.after), asdict(pin), is_synced=False)
        return taken or pin

    def forget(self) -> None:
        """Delete all but the newest."""
        for path in places_in(self._directory, "[0-9]*.json")[:-_KEPT]:
            path.unlink(missing_ok=True)

    def _path(self, after: int) -> Place:
        return self._directory / f"{after:012d}.json"
