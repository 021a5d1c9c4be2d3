"""Measures what landed and is not published, and how fast that is published, at the cost of what is new."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from datetime import datetime

from feedweir.health.backpressure import Backlog, Pressure, pressure_of
from feedweir.logs.landing import LandingLog
from feedweir.logs.store import Store

_WINDOW_S = 60.0
_BETWEEN_S = 0.5
"""How long a measurement is good for: there may be a thousand pushes a second."""


class BacklogMeter:
    """Any thread may ask. Each segment's size is looked up once, however long it waits."""

    def __init__(self, log: LandingLog, store: Store, clock: Callable[[], datetime], most_bytes: int) -> None:
        self._log = log
        self._store = store
        self._clock = clock
        self._most_bytes = most_bytes
        self._turn = threading.Lock()
        self._sizes: deque[tuple[int, int]] = deque()
        self._upto = 0
        self._waiting_bytes = self._published_bytes = 0
        self._marks: deque[tuple[float, int]] = deque()
        """When so many bytes had been published since this process began."""
        self._read_at = float("-inf")

    def pressure(self) -> Pressure:
        """What the backlog demands of those who add to it."""
        return pressure_of(self.backlog(), self._most_bytes)

    def backlog(self) -> Backlog:
        with self._turn:
            now = self._clock().timestamp()
            if not 0 <= now - self._read_at < _BETWEEN_S:
                self._read_at = now
                self._count()
                self._mark(now)
            return Backlog(waiting_bytes=self._waiting_bytes, published_per_s=self._published_per_s())

    def _count(self) -> None:
        published = self._store.latest()
        self._upto = max(self._upto, published)
        while self._sizes and self._sizes[0][0] <= published:
            size = self._sizes.popleft()[1]
            self._waiting_bytes -= size
            self._published_bytes += size
        for segment in self._log.segments(self._upto, self._log.latest()):
            size = self._log.bytes_in(segment - 1, segment)
            self._sizes.append((segment, size))
            self._waiting_bytes += size
            self._upto = segment

    def _mark(self, now: float) -> None:
        if self._marks and now < self._marks[-1][0]:  # the clock was set back
            self._marks.clear()
        self._marks.append((now, self._published_bytes))
        while now - self._marks[0][0] > _WINDOW_S and len(self._marks) > 2:
            self._marks.popleft()

    def _published_per_s(self) -> float:
        (begun, before), (ended, after) = self._marks[0], self._marks[-1]
        return (after - before) / (ended - begun) if ended > begun else 0.0
