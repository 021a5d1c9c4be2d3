"""Progress of long work, logged every few seconds."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

EVERY_S = 5.0


class ProgressLog:
    """Called with the progress made, and logs it every few seconds; short work is not logged."""

    def __init__(
        self,
        log: logging.Logger,
        what: str,
        clock: Callable[[], float] = time.monotonic,
        every_s: float = EVERY_S,
    ) -> None:
        self._log = log
        self._what = what
        self._clock = clock
        self._every_s = every_s
        self._logged_at = clock()
        self._has_logged = False

    def __call__(self, done: int, total: int) -> None:
        now = self._clock()
        is_due = now - self._logged_at >= self._every_s
        if is_due or (self._has_logged and done == total):
            self._log.info("%s: %s of %s", self._what, f"{done:,}", f"{total:,}")
            self._logged_at, self._has_logged = now, True
