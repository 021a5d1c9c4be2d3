"""Whose turn it is to be transformed: a stylesheet that takes its time holds up its own documents and no others."""

from __future__ import annotations

from collections import OrderedDict, deque
from typing import Generic, TypeVar

COSTLY_S = 1.0
"""A stylesheet that took so long the last time is costly."""

J = TypeVar("J")


class Turns(Generic[J]):
    """Jobs that wait for one of a few places, by stylesheet.

    A stylesheet takes one place at a time, and costly ones never take all of them: one is left for the others. Those
    that wait go in turn, the jobs of each in the order they came.
    """

    def __init__(self, places: int) -> None:
        self._places = places
        self._waiting: OrderedDict[bytes, deque[J]] = OrderedDict()
        self._running: set[bytes] = set()
        self._costly: set[bytes] = set()

    def add(self, stylesheet: bytes, job: J) -> None:
        self._waiting.setdefault(stylesheet, deque()).append(job)

    def take(self) -> tuple[bytes, J] | None:
        """A job that may begin, with its stylesheet; `over` gives its place back."""
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
        """The stylesheet's job has ended, after so long."""
        self._running.remove(stylesheet)
        if seconds >= COSTLY_S:
            self._costly.add(stylesheet)
        else:
            self._costly.discard(stylesheet)

    def take_all(self) -> list[J]:
        """What waits, which then waits no more."""
        jobs = [job for waiting in self._waiting.values() for job in waiting]
        self._waiting.clear()
        return jobs

    def _may_begin(self, stylesheet: bytes) -> bool:
        if stylesheet in self._running or len(self._running) == self._places:
            return False
        return stylesheet not in self._costly or len(self._running & self._costly) < self._places - 1
