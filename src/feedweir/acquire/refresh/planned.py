"""The policy that plans: least loss first, least delay second, for a price a request."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

import numpy as np

from feedweir.acquire.refresh.budget import DEFAULT_PRICE
from feedweir.acquire.refresh.history import SLOT_S, History, expected
from feedweir.acquire.refresh.policies import bounded

_HORIZON_SLOTS = 288


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """Plans the looks of the next day and a half from the source's rhythm, and returns the first.

    `price` is what a request must save in item-seconds of delay to be worth it; one price for all sources spends a
    common budget where it helps most. An item lost counts as much as one that is late by `loss_s`. Items leave
    documents also without being pushed out: one that waits for a part of `shelf_s` is taken to be lost with the square
    of that part as chance, so that quiet sources are not left alone for too long.
    """

    price: float = DEFAULT_PRICE
    loss_s: float = 86_400.0
    shelf_s: float = 72_000.0

    def next_look(self, history: History, now: datetime, earliest: datetime, latest: datetime) -> datetime:
        from feedweir.acquire.refresh.planning_kernels import first_of_cheapest

        start = now.timestamp()
        begin = (int(start // SLOT_S) + 1) * SLOT_S - start
        edges = np.concatenate(([0.0], begin + SLOT_S * np.arange(_HORIZON_SLOTS)))
        next_items, items = expected(history, start, _HORIZON_SLOTS)
        next_items[0] *= begin / SLOT_S
        soonest, longest = (earliest - now).total_seconds(), (latest - now).total_seconds()
        first = min(int(np.searchsorted(edges, soonest)), _HORIZON_SLOTS)
        last = max(int(np.searchsorted(edges, longest, side="right")) - 1, first)
        place = first_of_cheapest(
            edges,
            next_items,
            items,
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
