"""What flows through an installation, as `status` and `/metrics` tell it: what waits, what the last batch took, what is
kept."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime

from feedweir.errors import DamagedFileError
from feedweir.logs.batches import Manifest, Phase
from feedweir.logs.directory import DataDirectory
from feedweir.logs.files import replace_sealed_json
from feedweir.logs.landing import LandingLog
from feedweir.logs.seals import read_json
from feedweir.logs.store import Store
from feedweir.storage import ObjectPath, Place, places_in

_KEPT = 64
"""The newest batches whose times are kept."""

_KINDS = (
    "landing",
    "items",
    "elements",
    "seen",
    "reports",
    "annotations",
    "made",
    "joins",
    "batches",
    "sets",
)


class PhaseLog:
    """What the newest batches took, a file each: not in their manifests, which are made again to the same bytes."""

    def __init__(self, directory: Place) -> None:
        self._directory = directory

    def write(self, batch: int, phases: Sequence[Phase]) -> None:
        """Keep what a batch took; what a loss of power takes away is not missed."""
        value = {"phases": [asdict(one) for one in phases]}
        replace_sealed_json(self._path(batch), value, is_synced=False)
        for path in places_in(self._directory, "[0-9]*.json")[:-_KEPT]:
            path.unlink(missing_ok=True)

    def read(self, batch: int) -> tuple[Phase, ...]:
        """What a batch took; nothing if that is not known any more."""
        try:
            return tuple(Phase(**one) for one in read_json(self._path(batch))["phases"])
        except (FileNotFoundError, DamagedFileError, KeyError, TypeError):
            return ()

    def _path(self, batch: int) -> Place:
        return self._directory / f"{batch:012d}.json"


@dataclass(frozen=True, slots=True)
class Flow:
    """How far behind publishing is, and the batch that was published last."""

    documents_waiting: int
    behind_s: float
    """How long the oldest of them has waited."""
    last: Manifest | None
    phases: tuple[Phase, ...]
    written_bytes: int
    """By the last batch."""

    def sentence(self) -> str | None:
        """The last batch in one line."""
        if self.last is None:
            return None
        phases = ", ".join(
            f"{one.name} {one.seconds:.2f} s ({one.tasks} task{'s' * (one.tasks != 1)}, skew {one.skew:.2f})"
            for one in self.phases
        )
        sizes = f"{self.last.landed_bytes:,} bytes read, {self.written_bytes:,} written"
        return (
            f"{self.last.item_count:,} items, {self.last.element_count:,} elements, {sizes}; {phases}".rstrip(
                "; "
            )
        )


def flow_of(
    directory: DataDirectory, log: LandingLog, store: Store, waiting_since: datetime | None, now: datetime
) -> Flow:
    """What flows now."""
    last = store.published(store.latest())
    return Flow(
        documents_waiting=log.documents_in(store.latest(), log.latest()),
        behind_s=max(0.0, (now - waiting_since).total_seconds()) if waiting_since else 0.0,
        last=last,
        phases=PhaseLog(directory.phases).read(last.upto) if last else (),
        written_bytes=sum(store.size_of(last)) if last else 0,
    )


def state_bytes(directory: DataDirectory) -> dict[str, int]:
    """The bytes that are kept, by kind."""
    return {kind: _size(directory.root / kind) for kind in _KINDS if (directory.root / kind).is_dir()}


def _size(folder: Place) -> int:
    if isinstance(folder, ObjectPath):
        return folder.size_of_all()
    total = 0
    for parent, _, names in os.walk(folder):
        for name in names:
            try:
                total += os.stat(os.path.join(parent, name)).st_size
            except FileNotFoundError:  # it was merged meanwhile
                continue
    return total
