"""How long deliveries are kept: what was sent long ago leaves the outbox and the delivery log, and stays known."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from feedweir.catalog import Catalog

_log = logging.getLogger(__name__)

_EVERY = timedelta(days=1)


@dataclass(slots=True)
class Forgetting:
    """Forgets once a day what was sent more than `keep` ago; None keeps everything."""

    keep: timedelta | None
    _rests_until: datetime | None = field(default=None, init=False)
    _forgotten: int = field(default=0, init=False)

    def tend(self, catalog: Catalog, now: datetime) -> int:
        """Forget some, if it is time to; how many deliveries and lines that were.

        Some thousands at a time, so that neither the catalog nor who calls is held up; nought when all is done.
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
            _log.info("forgot %d old deliveries and lines of their logs", self._forgotten)
        self._rests_until, self._forgotten = now + _EVERY, 0
