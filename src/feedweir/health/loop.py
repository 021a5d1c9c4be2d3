"""Work that continues in a thread of its own until it is asked to stop."""

from __future__ import annotations

import logging
import threading
from abc import ABC, abstractmethod
from datetime import UTC, datetime

from feedweir.health.standstill import Trouble
from feedweir.text.redact import without_secrets

_log = logging.getLogger(__name__)


class LoopHealth:
    """Whether one kind of work goes well: since when it fails, and why."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._trouble: Trouble | None = None

    def well(self) -> None:
        self._trouble = None

    def failed(self, error: BaseException) -> None:
        """A failure that continues keeps the time of its first occurrence, and has the last error."""
        since = self._trouble.since if self._trouble else datetime.now(UTC)
        text = without_secrets(str(error).strip().split("\n", 1)[0])
        self._trouble = Trouble(what=self._what, since=since, error=f"{type(error).__name__}: {text}")

    def trouble(self) -> Trouble | None:
        return self._trouble


class Loop(ABC):
    """A thread that can be started once and stopped; what it does, until `_stopping` is set, is `_run`."""

    def __init__(self, name: str, what: str) -> None:
        """`what` describes its failure: "fetching fails"."""
        self._stopping = threading.Event()
        self._standing = LoopHealth(what)
        self._thread = threading.Thread(target=self._guarded, name=f"feedweir-{name}", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Let what is under way come to its end, and stop; one that was never started is stopped already."""
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join()

    def trouble(self) -> Trouble | None:
        """What it fails at again and again, or ended with."""
        return self._standing.trouble()

    def _guarded(self) -> None:
        try:
            self._run()
        except Exception as error:  # the thread ends here; health checks report it
            _log.exception("%s ended", self._thread.name)
            self._standing.failed(error)

    @abstractmethod
    def _run(self) -> None: ...
