"""Which stylesheet runs next: a slow stylesheet delays its own documents and no others."""

from __future__ import annotations

from collections import OrderedDict, deque
from typing import Generic, TypeVar

COSTLY_S = 1.0
"""A stylesheet whose last run took this long is costly."""

J = TypeVar("J")


class Turns(Generic[J]):
    """Jobs that wait for one of a few places, by stylesheet.

    A stylesheet takes one place at a time, and costly ones always leave one place for the others. Waiting stylesheets
    take turns; the jobs of each are done in order.
    """

    def __init__(self, places: int) -> None:
        self._places = places
        self._waiting: OrderedDict[bytes, deque[J]] = OrderedDict()
        self._running: set[bytes] = set()
        self._costly: set[bytes] = set()

    def add(self, stylesheet: bytes, job: J) -> None:
        self._waiting.setdefault(stylesheet, deque()).append(job)

    def take(self) -> tuple[bytes, J] | None:
        """A job that may start, with its stylesheet; `over` frees its place."""
        stylesheet = next(filter(self._may_begin, self._waiting), None)
        if stylesheet is None:
            return None
        jobs = self._waiting.pop(stylesheet)
        job = jobs.popleft()
        if jobs:
            self._waiting[stylesheet] = jobs
        self._running.add(stylesheet)
        return stylesheet, job

    def over(self, stylesheet: bytes, seconds: float) -> None:
        """The stylesheet's job has ended."""
        self._running.remove(stylesheet)
        if seconds >= COSTLY_S:
            self._costly.add(stylesheet)
        else:
            self._costly.discard(stylesheet)

    def is_costly(self, stylesheet: bytes) -> bool:
        return stylesheet in self._costly

    def take_all(self) -> list[J]:
        """Remove and return all waiting jobs."""
        jobs = [job for waiting in self._waiting.values() for job in waiting]
        self._waiting.clear()
        return jobs

    def _may_begin(self, stylesheet: bytes) -> bool:
        if stylesheet in self._running or len(self._running) == self._places:
            return False
        return stylesheet not in self._costly or len(self._running & self._costly) < self._places - 1
