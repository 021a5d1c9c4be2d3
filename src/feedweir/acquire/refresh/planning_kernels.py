"""What to expect of a source in each minute to come; and the cheapest sequence of polls, by dynamic programming over
the moments that may be best."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from feedweir.acquire.refresh.rhythm_kernels import (
    AGE_AT,
    AGES,
    DAY_AT,
    DAYS,
    HOURS,
    MINUTE_AT,
    MINUTES,
    SLOT_S,
)
from feedweir.kernels import njit

Array = NDArray[np.float64]
Places = NDArray[np.intp]

_BLOCK = 5
"""Minutes of which one is chosen for polls."""


@njit(cache=True)  # type: ignore[untyped-decorator]
def foresee(
    factors: Array,
    rate_s: float,
    even_s: float,
    changed_at: float,
    first: int,
    slots: int,
    hedge: float,
    smear: float,
) -> tuple[Array, Array]:
    """Items expected in each slot from `first` on: as long as nothing appears, and overall.

    `even_s` is the rate over all hours, of which the part `hedge` is expected whatever the rhythm says, and of that the
    part `smear` whatever the minute is.
    """
    mean = 0.0
    for minute in range(MINUTES):
        mean += factors[MINUTE_AT + minute] / MINUTES
    next_items = np.empty(slots)
    items = np.empty(slots)
    for slot in range(slots):
        place = first + slot
        minute_factor = factors[MINUTE_AT + place % MINUTES]
        hour = place // MINUTES
        # The epoch began on a Thursday.
        rate = factors[hour % HOURS] * factors[DAY_AT + (hour // HOURS + 3) % DAYS] * minute_factor * rate_s
        even = hedge * even_s * SLOT_S * ((1.0 - smear) * minute_factor / mean + smear)
        items[slot] = (1.0 - hedge) * rate * SLOT_S + even
        next_items[slot] = items[slot]
        if changed_at >= 0.0:
            age = min(max((place - changed_at / SLOT_S) / 5, 1.0), 4_096.0)
            age_factor = factors[AGE_AT + min(int(3.0 * math.log2(age)), AGES - 1)]
            next_items[slot] = (1.0 - hedge) * items[slot] * age_factor + even
    return next_items, items


@njit(cache=True)  # type: ignore[untyped-decorator]
def last_busy(factors: Array) -> NDArray[np.bool_]:
    """Of each five minutes of the hour the last that is at least half as busy as the busiest of them."""
    chosen = np.zeros(MINUTES, dtype=np.bool_)
    for block in range(0, MINUTES, _BLOCK):
        busiest = factors[MINUTE_AT + block : MINUTE_AT + block + _BLOCK].max()
        minute = block + _BLOCK - 1
        while factors[MINUTE_AT + minute] < busiest / 2:
            minute -= 1
        chosen[minute] = True
    return chosen


@njit(cache=True)  # type: ignore[untyped-decorator]
def moments_up_to(items: Array, ends: Array, stops: Places) -> Array:
    """Items up to the start and up to the ends of some slots, and the sums of their moments and of their squares."""
    sums = np.zeros((3, len(stops) + 1))
    slot = 0
    count = moment = square = 0.0
    for place in range(len(stops)):
        while slot <= stops[place]:
            middle = ends[slot] - SLOT_S / 2
            count += items[slot]
            moment += items[slot] * middle
            square += items[slot] * middle**2
            slot += 1
        sums[0, place + 1] = count
        sums[1, place + 1] = moment
        sums[2, place + 1] = square
    return sums


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
