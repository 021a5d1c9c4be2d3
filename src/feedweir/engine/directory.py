"""Where everything is that is not in the catalog, and how far it has come: what planning a batch needs, and no more.

Nothing heavy is imported here: Spark plans in processes of its own, which are started for a query and for nothing else.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from pathlib import Path

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
    def checkpoint(self) -> Path:
        return self.root / "checkpoint"

    @property
    def scratch(self) -> Path:
        return self.root / "scratch"


def latest_batch(batches: Path) -> int:
    """The last landing segment whose documents were published; 0 before the first."""
    return max((int(path.stem) for path in batches.glob("[0-9]*.json")), default=0)


def current_version(sets: Path) -> int | None:
    """The version that the next batch is matched against; None before the first set, or when its name is lost."""
    try:
        return int((sets / "CURRENT").read_text())
    except FileNotFoundError:
        return None
    except ValueError as error:  # whoever finds none in force compiles one
        _log.warning("which compiled set is in force cannot be read: %s", error)
        return None
