"""The cheapest sequence of polls of one source, by dynamic programming over the moments that may be best."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from feedweir.kernels import njit

Array = NDArray[np.float64]


@njit(cache=True)  # type: ignore[untyped-decorator]
def first_of_cheapest(
    edges: Array,
    next_sums: Array,
    sums: Array,
    first: int,
    last: int,
    gap_s: float,
    price: float,
    loss_s: float,
    shelf_s: float,
    shown: float,
    spread: float,
) -> int:
    """The index (among `edges`) of the first poll of the cheapest plan that begins at `edges[0]`.

        edges      0   e1    e2   …   end     seconds from the last poll at which polls may be
        sums[0]    0   items expected up to each edge
        sums[1]    0   sums of their times
        sums[2]    0   sums of the squares of their times
        next_sums      the same on condition that nothing has appeared yet, for the first poll
        cost       cost[i] is the cost of the cheapest plan from edges[i] on

    A plan is a sequence of polls at edges, at least `gap_s` apart, that ends with a poll at the last edge. It costs
    `price` for each poll, 1 for every item and second until it is seen, and `loss_s` for every item lost: because it
    does not fit the `shown` items of a document, or because it did not stay there, the chance of which grows with the
    square of its wait and is 1 at `shelf_s`. The first poll is between `first` and `last`.
    """
    size = len(edges) - 1
    cost = np.zeros(size + 1)
    best = size
    # From the end: what the rest of a plan costs is known when its beginning is chosen.
    for start in range(size - 1, -1, -1):
        known = sums if start > 0 else next_sums
        cheapest = math.inf
        begin = start + 1
        end = size
        if start == 0:
            begin, end = first, last
        for stop in range(begin, end + 1):
            if start > 0 and stop < size and edges[stop] - edges[start] < gap_s:
                continue
            # Items between the two polls: their number, their delay, and the sum of the squares of their delays.
            count = known[0, stop] - known[0, start]
            delay = edges[stop] * count - (known[1, stop] - known[1, start])
            squared = edges[stop] * (2 * delay - edges[stop] * count) + known[2, stop] - known[2, start]
            total = price + delay + loss_s * squared / shelf_s**2 + cost[stop]
            if shown > 0.0 and 3.0 * count > shown:
                total += loss_s * _excess(count, shown, spread)
            if total < cheapest:
                cheapest = total
                if start == 0:
                    best = stop
            # The delay only grows from here: no later stop can be cheaper.
            if delay > cheapest:
                break
        cost[start] = cheapest
    return best


@njit(cache=True)  # type: ignore[untyped-decorator]
def _excess(mean: float, room: float, spread: float) -> float:
    """The expected number of items beyond the room for them, if their number is about normal (logistic in the tail)."""
    deviation = math.sqrt(spread * mean) / 1.702
    scaled = (mean - room) / deviation
    if scaled > 30.0:
        return mean - room
    return deviation * math.log1p(math.exp(scaled))
