"""Applies stylesheets to elements, in a few sandboxed processes that are ended when they take too long.

Stylesheets take turns, so that a slow one delays its own documents and no others.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict, deque
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Generic, TypeVar

from feedweir.deliver.render.element_document import element_document
from feedweir.deliver.render.view import FeedView
from feedweir.deliver.transforms.transform_process import TransformLimits, TransformProcess
from feedweir.errors import DeliveryError

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


PROCESSES = 3
"""Two that slow stylesheets may occupy, and one for all others."""


@dataclass(frozen=True, slots=True)
class Transformed:
    """The output of a stylesheet."""

    text: str
    media_type: str
    """`text/plain`, `text/html` or `application/xml` by the output method, or what the stylesheet says."""


@dataclass(frozen=True, slots=True)
class _Job:
    view: FeedView
    parameters: Mapping[str, str]
    made: Future[Transformed]


class Transformer:
    """A few processes for any number of transformations, each started when it is first needed."""

    def __init__(self, limits: TransformLimits | None = None, processes: int = PROCESSES) -> None:
        self._idle = [TransformProcess(limits or TransformLimits()) for _ in range(processes)]
        self._threads = ThreadPoolExecutor(processes, thread_name_prefix="transform")
        self._turns: Turns[_Job] = Turns(processes)
        self._lock = threading.Lock()

    def begin(
        self, stylesheet: bytes, view: FeedView, parameters: Mapping[str, str] | None = None
    ) -> Future[Transformed]:
        """Apply a stylesheet to a feed's entries, in its turn. Its failure is a final DeliveryError with the line.

        A future that is cancelled before its turn is never started.
        """
        made: Future[Transformed] = Future()
        with self._lock:
            self._turns.add(stylesheet, _Job(view, parameters or {}, made))
        self._begin_some()
        return made

    def apply(
        self, stylesheet: bytes, view: FeedView, parameters: Mapping[str, str] | None = None
    ) -> Transformed:
        """The same, waited for."""
        return self.begin(stylesheet, view, parameters).result()

    def is_costly(self, stylesheet: bytes) -> bool:
        """Whether it was slow the last time."""
        with self._lock:
            return self._turns.is_costly(stylesheet)

    def close(self) -> None:
        """Cancel what waits, and finish what has started."""
        with self._lock:
            for job in self._turns.take_all():
                job.made.cancel()
        self._threads.shutdown()
        for process in self._idle:
            process.end()

    def __enter__(self) -> Transformer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _begin_some(self) -> None:
        with self._lock:
            while (turn := self._turns.take()) is not None:
                self._threads.submit(self._run, self._idle.pop(), *turn)

    def _run(self, process: TransformProcess, stylesheet: bytes, job: _Job) -> None:
        began = time.monotonic()
        if job.made.set_running_or_notify_cancel():
            try:
                job.made.set_result(_transformed(process, stylesheet, job))
            except Exception as error:  # for whoever waits for the result
                job.made.set_exception(error)
        with self._lock:
            self._idle.append(process)
            self._turns.over(stylesheet, time.monotonic() - began)
        self._begin_some()


def _transformed(process: TransformProcess, stylesheet: bytes, job: _Job) -> Transformed:
    request: dict[str, Any] = {
        "stylesheet": stylesheet.decode("utf-8", "replace"),
        "document": element_document(job.view).decode("utf-8", "replace"),
        "parameters": dict(job.parameters),
    }
    reply = process.ask(request)
    if "error" in reply:
        place = f"line {reply['line']}: " if reply["line"] else ""
        raise DeliveryError(f"the stylesheet failed: {place}{reply['error']}", is_final=True)
    return Transformed(reply["output"], reply["media_type"])
