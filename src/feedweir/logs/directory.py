"""The paths of a data directory, and its progress: what planning a batch needs.

Nothing large is imported here: Spark plans in separate processes, which are started for each query.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from feedweir.errors import DamagedFileError
from feedweir.logs.seals import read_json
from feedweir.storage import Place, own_place

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class DataDirectory:
    """The paths of one installation."""

    root: Place

    @property
    def own(self) -> Path:
        """Where this machine keeps what no other needs."""
        return own_place(self.root)

    @property
    def landing(self) -> Place:
        return self.root / "landing"

    @property
    def seen(self) -> Place:
        return self.root / "seen"

    @property
    def batches(self) -> Place:
        return self.root / "batches"

    @property
    def sets(self) -> Place:
        return self.root / "sets"

    @property
    def plans(self) -> Path:
        return self.own / "plans"

    @property
    def observations(self) -> Place:
        return self.root / "observations"

    @property
    def witnesses(self) -> Place:
        return self.root / "witnesses"

    @property
    def pins(self) -> Place:
        return self.root / "pins"

    @property
    def phases(self) -> Place:
        return self.root / "phases"

    @property
    def exchange(self) -> Place:
        return self.root / "exchange"

    @property
    def joins(self) -> Place:
        return self.root / "joins"

    @property
    def quarantine(self) -> Place:
        return self.root / "quarantine"

    @property
    def checkpoint(self) -> Path:
        return self.own / "checkpoint"

    @property
    def scratch(self) -> Path:
        return self.own / "scratch"


NEWEST = "NEWEST"
"""The name of the newest batch, so that a missing manifest is noticed."""


def latest_batch(batches: Place) -> int:
    """The last landing segment whose documents were published; 0 before the first."""
    return newest_of(batches, (path.name for path in batches.glob("[0-9]*.json")))


def newest_of(batches: Place, names: Iterable[str]) -> int:
    """The same, of manifests that were listed."""
    listed = max((int(name[:12]) for name in names), default=0)
    try:
        return max(listed, int(read_json(batches / NEWEST)["upto"]))
    except (OSError, DamagedFileError, KeyError, ValueError, TypeError):
        return listed


def current_version(sets: Place) -> int | None:
    """The version that the next batch is matched against; None before the first set, or if its name is damaged."""
    try:
        return int((sets / "CURRENT").read_text())
    except FileNotFoundError:
        return None
    except ValueError as error:  # if none is in force, one is compiled
        _log.warning("the name of the compiled set in force cannot be read: %s", error)
        return None
