"""The paths of a data directory, and its progress: what planning a batch needs.

Nothing large is imported here: Spark plans in separate processes, which are started for each query.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from pathlib import Path

from feedweir.errors import DamagedFileError
from feedweir.logs.seals import read_json

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class DataDirectory:
    """The paths of one installation."""

    root: Path

    @property
    def landing(self) -> Path:
        return self.root / "landing"

    @property
    def seen(self) -> Path:
        return self.root / "seen"

    @property
    def batches(self) -> Path:
        return self.root / "batches"

    @property
    def sets(self) -> Path:
        return self.root / "sets"

    @property
    def plans(self) -> Path:
        return self.root / "plans"

    @property
    def observations(self) -> Path:
        return self.root / "observations"

    @property
    def witnesses(self) -> Path:
        return self.root / "witnesses"

    @property
    def pins(self) -> Path:
        return self.root / "pins"

    @property
    def phases(self) -> Path:
        return self.root / "phases"

    @property
    def exchange(self) -> Path:
        return self.root / "exchange"

    @property
    def joins(self) -> Path:
        return self.root / "joins"

    @property
    def quarantine(self) -> Path:
        return self.root / "quarantine"

    @property
    def checkpoint(self) -> Path:
        return self.root / "checkpoint"

    @property
    def scratch(self) -> Path:
        return self.root / "scratch"


NEWEST = "NEWEST"
"""The name of the newest batch, so that a missing manifest is noticed."""


def latest_batch(batches: Path) -> int:
    """The last landing segment whose documents were published; 0 before the first."""
    listed = max((int(path.name[:12]) for path in batches.glob("[0-9]*.json")), default=0)
    try:
        return max(listed, int(read_json(batches / NEWEST)["upto"]))
    except (OSError, DamagedFileError, KeyError, ValueError, TypeError):
        return listed


def current_version(sets: Path) -> int | None:
    """The version that the next batch is matched against; None before the first set, or if its name is damaged."""
    try:
        return int((sets / "CURRENT").read_text())
    except FileNotFoundError:
        return None
    except ValueError as error:  # if none is in force, one is compiled
        _log.warning("the name of the compiled set in force cannot be read: %s", error)
        return None
