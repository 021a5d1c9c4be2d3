"""Making plans for sources with very many filters in the background; meanwhile the index finds their filters."""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping
from dataclasses import dataclass

from feedweir.compile.planner import MadePlan, Wanted, make_plan

_log = logging.getLogger(__name__)


class _Stopped(Exception):
    """The plan is no longer needed."""


@dataclass(frozen=True, slots=True)
class _Stop:
    asked: threading.Event

    def __call__(self) -> None:
        if self.asked.is_set():
            raise _Stopped


class PlanAhead:
    """One thread at a time makes the plans that wait; it stops within a few milliseconds when asked to."""

    def __init__(self) -> None:
        self._thread: threading.Thread | None = None
        self._stop = threading.Event()
        self._made: dict[str, MadePlan] = {}

    def begin(self, wanted: Mapping[str, Wanted]) -> None:
        """Make the plans of these sources, unless plans are being made or wait to be taken."""
        if wanted and self._thread is None:
            self._stop.clear()
            self._thread = threading.Thread(
                target=self._work, args=(dict(wanted),), name="plan-ahead", daemon=True
            )
            self._thread.start()

    def take(self) -> dict[str, MadePlan]:
        """Plans that are ready; each is returned once, and none while one is being made."""
        if self._thread is None or self._thread.is_alive():
            return {}
        made, self._thread, self._made = self._made, None, {}
        return made

    def wait(self) -> None:
        """Wait until no plan is being made."""
        if self._thread is not None:
            self._thread.join()

    def stop(self) -> None:
        self._stop.set()
        self.wait()

    def _work(self, wanted: dict[str, Wanted]) -> None:
        for source in sorted(wanted):
            try:
                self._made[source] = make_plan(wanted[source], _Stop(self._stop))
            except _Stopped:
                return
            except Exception:  # the index answers the same
                _log.exception("no filter plan could be made for source %s", source)
