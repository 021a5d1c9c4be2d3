"""A signal that something was published, for those who wait for it in event loops."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager


class PublishSignal:
    """Sent from any thread, received in every event loop that listens."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._listeners: dict[asyncio.Event, asyncio.AbstractEventLoop] = {}

    def send(self) -> None:
        with self._lock:
            for published, loop in self._listeners.items():
                loop.call_soon_threadsafe(published.set)

    @contextmanager
    def listening(self) -> Iterator[asyncio.Event]:
        """An event that every signal sets; whoever clears it before reading the feed misses nothing."""
        published = asyncio.Event()
        with self._lock:
            self._listeners[published] = asyncio.get_running_loop()
        try:
            yield published
        finally:
            # A closed loop cannot be called: it must be off the list before it closes.
            with self._lock:
                del self._listeners[published]
