"""A bell that is rung when something was published, for those who wait for it in event loops."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager


class Bell:
    """Rung from any thread, heard in every event loop that listens."""

    def __init__(self) -> None:
        self._turn = threading.Lock()
        self._listeners: dict[asyncio.Event, asyncio.AbstractEventLoop] = {}

    def ring(self) -> None:
        with self._turn:
            for heard, loop in self._listeners.items():
                loop.call_soon_threadsafe(heard.set)

    @contextmanager
    def listening(self) -> Iterator[asyncio.Event]:
        """An event that is set by every ring; whoever clears it before looking misses nothing."""
        heard = asyncio.Event()
        with self._turn:
            self._listeners[heard] = asyncio.get_running_loop()
        try:
            yield heard
        finally:
            # A loop that is closed could not be told: it must not be among them by then.
            with self._turn:
                del self._listeners[heard]
