"""Policies: from what is known of a source to its next poll. One interface, no memory of their own."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol

from feedweir.acquire.refresh.source_history import History, mean_rate_s


class Policy(Protocol):
    """When, between `earliest` and `latest`, to poll a source again that was polled `now`."""

    def next_poll(
        self, history: History, now: datetime, earliest: datetime, latest: datetime
    ) -> datetime: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Fixed:
    """The same interval for every source."""

    interval_s: float = 3_600.0

    def next_poll(self, history: History, now: datetime, earliest: datetime, latest: datetime) -> datetime:
        return bounded(now + timedelta(seconds=self.interval_s), earliest, latest)


@dataclass(frozen=True, slots=True, kw_only=True)
class RateProportional:
    """The more a source publishes, the more often it is polled: once for every so many items expected."""

    items_per_poll: float = 2.0

    def next_poll(self, history: History, now: datetime, earliest: datetime, latest: datetime) -> datetime:
        wait_s = min(self.items_per_poll / mean_rate_s(history), 366 * 86_400.0)
        return bounded(now + timedelta(seconds=wait_s), earliest, latest)


def bounded(moment: datetime, earliest: datetime, latest: datetime) -> datetime:
    """What is allowed wins over what is wished, and `earliest` over `latest`."""
    return max(min(moment, latest), earliest)
