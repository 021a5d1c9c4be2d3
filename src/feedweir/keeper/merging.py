"""Merging the segments of the set beside everything else: the next change takes up what is ready."""

from __future__ import annotations

import logging
import threading
from pathlib import Path

from feedweir.engine.sets import Plan
from feedweir.keeper.lately import Lately
from feedweir.match import PreparedMerge, forget_merge, is_worth_merging, open_version, prepare_merge

_log = logging.getLogger(__name__)


class Merges:
    """At most one merge at a time, in a thread of its own."""

    def __init__(self) -> None:
        self._thread: threading.Thread | None = None
        self._prepared: PreparedMerge | None = None

    def begin(self, sets: Path, version: int, plan: Plan, lately: Lately | None = None) -> bool:
        """Begin to merge the segments of a version if that pays and none is at work; whether it was begun."""
        if self._thread is not None or not is_worth_merging(open_version(sets, version).segments):
            return False
        self._thread = threading.Thread(
            target=self._merge, args=(sets, version, plan, lately), name="merge", daemon=True
        )
        self._thread.start()
        return True

    def take(self) -> PreparedMerge | None:
        """A merge that is ready, once."""
        if self._thread is None or self._thread.is_alive():
            return None
        self._thread.join()
        prepared, self._thread, self._prepared = self._prepared, None, None
        return prepared

    def wait(self) -> None:
        """Until no merge is at work."""
        if self._thread is not None:
            self._thread.join()

    def _merge(self, sets: Path, version: int, plan: Plan, lately: Lately | None) -> None:
        try:
            frequencies = lately.observe() if lately is not None else None
            self._prepared = prepare_merge(sets, version, plan=plan, frequencies=frequencies)
        except Exception as error:  # the set is as good as before, only not smaller
            _log.warning("the set was not merged: %s", error)
            forget_merge(sets)
