"""Work that goes on in a thread of its own until it is told to stop."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod


class Loop(ABC):
    """A thread that can be started once and stopped; what it does, until `_stopping` is set, is `_run`."""

    def __init__(self, name: str) -> None:
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"feedweir-{name}", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Let what is under way come to its end, and stop; one that was never started is stopped already."""
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join()

    @abstractmethod
    def _run(self) -> None: ...
