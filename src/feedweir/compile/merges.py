"""Merging segments of the set in the background; the next change of the set uses a merge that is ready."""

from __future__ import annotations

import logging
import threading
from pathlib import Path

from feedweir.compile.recent_frequencies import RecentFrequencies
from feedweir.match import PreparedMerge, forget_merge, is_worth_merging, open_version, prepare_merge
from feedweir.pipeline.sets import Plan

_log = logging.getLogger(__name__)


class Merges:
    """At most one merge at a time, in a thread of its own."""

    def __init__(self) -> None:
        self._thread: threading.Thread | None = None
        self._prepared: PreparedMerge | None = None

    def begin(self, sets: Path, version: int, plan: Plan, recent: RecentFrequencies | None = None) -> bool:
        """Begin to merge the segments of a version if that pays and no merge is running; returns whether it began."""
        if self._thread is not None or not is_worth_merging(open_version(sets, version).segments):
            return False
        self._thread = threading.Thread(
            target=self._merge, args=(sets, version, plan, recent), name="merge", daemon=True
        )
        self._thread.start()
        return True

    def take(self) -> PreparedMerge | None:
        """A merge that is ready; each is returned once."""
        if self._thread is None or self._thread.is_alive():
            return None
        self._thread.join()
        prepared, self._thread, self._prepared = self._prepared, None, None
        return prepared

    def wait(self) -> None:
        """Wait until no merge is running."""
        if self._thread is not None:
            self._thread.join()

    def _merge(self, sets: Path, version: int, plan: Plan, recent: RecentFrequencies | None) -> None:
        try:
            frequencies = recent.observe() if recent is not None else None
            self._prepared = prepare_merge(sets, version, plan=plan, frequencies=frequencies)
        except Exception as error:  # the set stays valid, with more segments
            _log.warning("segments of the compiled set were not merged: %s", error)
            forget_merge(sets)
