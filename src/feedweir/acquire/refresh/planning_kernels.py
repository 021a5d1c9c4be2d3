"""The cheapest sequence of looks at one source, by dynamic programming over the moments that may be best."""

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
    """The index (among `edges`) of the first look of the cheapest plan that begins at `edges[0]`.

    `edges` are moments in seconds from the last look, at which looks may be. `sums[0, i]` are the items expected up
    to `edges[i]`, `sums[1, i]` and `sums[2, i]` the sums of their moments and of the squares of these, and `next_sums`
    the same as far as nothing has appeared yet: what the first look of a plan goes by. A plan is a sequence of looks at
    edges, at least `gap_s` apart, that ends with a look at the last edge; it costs `price` a look, 1 for every item
    and second until it is seen, and `loss_s` for every item lost: because it does not fit the `shown` items of a
    document, or because it did not stay there, the chance of which grows with the square of its wait and is 1 at
    `shelf_s`. The first look is between `first` and `last`.
    """
    size = len(edges) - 1
    cost = np.zeros(size + 1)
    best = size
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
            # This only grows from here, and no plan beyond can be cheaper.
            if delay > cheapest:
                break
        cost[start] = cheapest
    return best


@njit(cache=True)  # type: ignore[untyped-decorator]
def _excess(mean: float, room: float, spread: float) -> float:
    """How many items more than there is room for, when their number is about normal (a logistic for the tail)."""
    deviation = math.sqrt(spread * mean) / 1.702
    scaled = (mean - room) / deviation
    if scaled > 30.0:
        return mean - room
    return deviation * math.log1p(math.exp(scaled))
