"""What to expect of a source in each minute to come, and sums over minutes."""

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
