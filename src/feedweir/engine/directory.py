"""Where everything is that is not in the catalog, and how far it has come: what planning a batch needs, and no more.

Nothing heavy is imported here: Spark plans in processes of its own, which are started for a query and for nothing else.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from pathlib import Path

from feedweir.errors import DamagedFileError
from feedweir.seals import read_json

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
"""Names the newest batch, so that its manifest cannot go missing unnoticed."""


def latest_batch(batches: Path) -> int:
    """The last landing segment whose documents were published; 0 before the first."""
    listed = max((int(path.stem) for path in batches.glob("[0-9]*.json")), default=0)
    try:
        return max(listed, int(read_json(batches / NEWEST)["upto"]))
    except (OSError, DamagedFileError, KeyError, ValueError, TypeError):
        return listed


def current_version(sets: Path) -> int | None:
    """The version that the next batch is matched against; None before the first set, or when its name is lost."""
    try:
        return int((sets / "CURRENT").read_text())
    except FileNotFoundError:
        return None
    except ValueError as error:  # whoever finds none in force compiles one
        _log.warning("which compiled set is in force cannot be read: %s", error)
        return None


def version_of_batch(batches: Path, upto: int) -> int:
    """The version of the set that a published batch was matched against; 0 when its manifest cannot be read."""
    try:
        return int(read_json(batches / f"{upto:012d}.json")["version"])
    except (OSError, DamagedFileError, KeyError, ValueError):
        return 0
