"""How long deliveries are kept: what was sent long ago leaves the outbox and the delivery log, and stays known."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from feedweir.catalog import Catalog

_log = logging.getLogger(__name__)

_EVERY = timedelta(days=1)


@dataclass(slots=True)
class Forgetting:
    """Forgets once a day what was sent more than `keep` ago; None keeps everything."""

    keep: timedelta | None
    _at: datetime | None = field(default=None, init=False)

    def tend(self, catalog: Catalog, now: datetime) -> int:
        """Forget, if it is time to; how many entries that were."""
        if self.keep is None or (self._at is not None and now - self._at < _EVERY):
            return 0
        self._at = now
        return forget_deliveries(catalog, now - self.keep)


def forget_deliveries(catalog: Catalog, before: datetime) -> int:
    """Forget what was sent before then, some at a time: nobody else waits long for the catalog. How many entries."""
    entries = _all(lambda: catalog.outbox.forget_sent(before))
    lines = _all(lambda: catalog.deliveries.forget(before))
    marks = catalog.outbox.forget_dropped()
    if entries or lines or marks:
        _log.info("forgot %d deliveries and %d lines of their logs", entries, lines)
    return entries


def _all(some: Callable[[], int]) -> int:
    total = 0
    while count := some():
        total += count
    return total
