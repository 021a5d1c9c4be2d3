"""How far something is that takes long: told to a log now and then, and to whoever asked."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

EVERY_S = 5.0


class Announcing:
    """Hears how much of a whole is done, and tells a log of it every few seconds; what is done at once is not told."""

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
        self._told_at = clock()
        self._has_told = False

    def __call__(self, done: int, total: int) -> None:
        now = self._clock()
        is_due = now - self._told_at >= self._every_s
        if is_due or (self._has_told and done == total):
            self._log.info("%s: %s of %s", self._what, f"{done:,}", f"{total:,}")
            self._told_at, self._has_told = now, True
