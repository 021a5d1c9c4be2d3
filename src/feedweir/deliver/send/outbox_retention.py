"""How long deliveries are stored: old ones are removed from the outbox and the delivery log, and are still never sent
again."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from feedweir.catalog import Catalog

_log = logging.getLogger(__name__)

_EVERY = timedelta(days=1)


@dataclass(slots=True)
class Forgetting:
    """Deletes once a day what was sent longer than `keep` ago; None keeps everything."""

    keep: timedelta | None
    _rests_until: datetime | None = field(default=None, init=False)
    _forgotten: int = field(default=0, init=False)

    def tend(self, catalog: Catalog, now: datetime) -> int:
        """Delete some, if it is time; returns how many deliveries and log lines.

        A few thousand at a time, so that neither the catalog nor the caller is blocked; 0 when everything is done.
        """
        if self.keep is None or (self._rests_until is not None and now < self._rests_until):
            return 0
        before = now - self.keep
        count = catalog.outbox.forget_sent(before) + catalog.outbox.forget_given_up(before)
        count += catalog.deliveries.forget(before)
        self._forgotten += count
        if not count:
            self._rest(catalog, now)
        return count

    def _rest(self, catalog: Catalog, now: datetime) -> None:
        catalog.outbox.forget_dropped()
        if self._forgotten:
            _log.info("deleted %d old deliveries and log lines", self._forgotten)
        self._rests_until, self._forgotten = now + _EVERY, 0
