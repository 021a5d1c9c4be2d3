"""Policies: from what is known of a source to its next poll. One interface, no memory of their own.

`Planned` forecasts what the source will publish, minute by minute, and plans a day of polls by it.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from feedweir.acquire.refresh.request_budget import DEFAULT_PRICE
from feedweir.acquire.refresh.source_history import SLOT_S, Array, History, array, mean_rate_s


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


_HEDGE = 0.6
"""How much of the rate is assumed to be even, whatever the rhythm: publishers change, and polls must notice."""
_SMEAR = 0.1
"""How much of that is even over the minutes of the hour as well: publishers seldom change those."""


def expected(history: History, start: float, slots: int) -> tuple[Array, Array]:
    """Items expected in each of the next slots, from the one that holds the timestamp `start`.

    Twice: if nothing appears meanwhile, so that the last change grows older, and on the whole.
    """
    from feedweir.acquire.refresh.planning_kernels import foresee

    factors, first = array(history.factors), int(start // SLOT_S)
    next_items, items = foresee(
        factors, history.rate_s, mean_rate_s(history), history.changed_at, first, slots, _HEDGE, _SMEAR
    )
    return next_items, items


def best_minutes(history: History) -> NDArray[np.bool_]:
    """After which minutes of the hour it is best to poll: one in five, the last of the busiest among them."""
    from feedweir.acquire.refresh.planning_kernels import last_busy

    return np.asarray(last_busy(array(history.factors)))


_HORIZON_SLOTS = 1_440


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """Plans the polls of the next day from the source's rhythm, and returns the first.

    `price` is what a request must save in item-seconds of delay to be worth it; one price for all sources spends a
    common budget where it helps most. An item lost counts as much as one that is late by `loss_s`. Items leave
    documents also without being pushed out: one that waits for a part of `shelf_s` is taken to be lost with the square
    of that part as chance, so that quiet sources are not left alone for too long.
    """

    price: float = DEFAULT_PRICE
    loss_s: float = 86_400.0
    shelf_s: float = 72_000.0

    def next_poll(self, history: History, now: datetime, earliest: datetime, latest: datetime) -> datetime:
        from feedweir.acquire.refresh.planning_kernels import first_of_cheapest, moments_up_to

        start = now.timestamp()
        minutes = int(start // SLOT_S) + np.arange(_HORIZON_SLOTS)
        ends: Array = np.asarray((minutes + 1) * SLOT_S - start, dtype=np.float64)
        soonest, longest = (earliest - now).total_seconds(), (latest - now).total_seconds()
        next_items, items = expected(history, start, _HORIZON_SLOTS)
        next_items[0] *= ends[0] / SLOT_S
        stops = np.flatnonzero(best_minutes(history)[minutes % 60])
        stops = _with_soonest(stops, int(np.searchsorted(ends, soonest)), items)
        edges = np.append(0.0, ends[stops])
        first = min(int(np.searchsorted(edges, soonest)), len(stops))
        last = max(int(np.searchsorted(edges, longest, side="right")) - 1, first)
        place = first_of_cheapest(
            edges,
            moments_up_to(next_items, ends, stops),
            moments_up_to(items, ends, stops),
            first,
            last,
            min(soonest, longest),
            self.price,
            self.loss_s,
            self.shelf_s,
            history.shown,
            max(history.burst, 1.0),
        )
        return bounded(now + timedelta(seconds=float(edges[place])), earliest, latest)


def _with_soonest(stops: NDArray[np.intp], soonest: int, items: Array) -> NDArray[np.intp]:
    """The earliest allowed moment is a candidate as well, unless much more than usual is expected right after it."""
    place = int(np.searchsorted(stops, soonest))
    if place == len(stops):
        return stops
    until = items[soonest + 1 : stops[place] + 1]
    return stops if until.sum() > 1.1 * len(until) * items.mean() else np.union1d(stops, soonest)
