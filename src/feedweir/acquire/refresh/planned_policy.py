"""The policy that plans: least loss first, least delay second, for a price a request."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

import numpy as np
from numpy.typing import NDArray

from feedweir.acquire.refresh.forecast import best_minutes, expected
from feedweir.acquire.refresh.policies import bounded
from feedweir.acquire.refresh.request_budget import DEFAULT_PRICE
from feedweir.acquire.refresh.source_history import SLOT_S, Array, History

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
        from feedweir.acquire.refresh.forecast_kernels import moments_up_to
        from feedweir.acquire.refresh.planning_kernels import first_of_cheapest

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
