"""The open tables follow the batches in a thread of their own: no batch waits for them."""

from __future__ import annotations

import logging
import threading

from feedweir.errors import DisplacedError
from feedweir.health.loop import Loop
from feedweir.service.installation import Weir

_log = logging.getLogger(__name__)

_AT_LEAST_EVERY_S = 10.0
"""Deliveries are recorded when they are sent, and not when a batch is published."""
_PAUSE_S = 2.0
"""Batches that are published within it take one commit."""


class TableLoop(Loop):
    """Follows whenever it is woken, and now and then."""

    def __init__(self, weir: Weir) -> None:
        super().__init__("tables", "writing the open tables fails")
        self._weir = weir
        self._due = threading.Event()
        self._due.set()  # a crash may have come between

    def wake(self) -> None:
        """Something was published."""
        self._due.set()

    def stop(self) -> None:
        self._stopping.set()
        self._due.set()
        super().stop()

    def _run(self) -> None:
        is_last = False
        while not is_last:
            self._due.wait(_AT_LEAST_EVERY_S)
            self._due.clear()
            is_last = self._stopping.is_set()  # what was published before the end is in the tables
            try:
                self._weir.follow_tables()
                self._standing.well()
                self._stopping.wait(_PAUSE_S)
            except DisplacedError:
                return  # whoever watches ends this process
            except Exception as error:  # a full disk, a table that somebody locked: later again
                self._standing.failed(error)
                _log.exception("the open tables could not be updated; retrying")
                self._stopping.wait(_AT_LEAST_EVERY_S)
