"""The rhythm of a source, fitted to its looks: expectation maximisation over slots of five minutes."""

from __future__ import annotations

import math

import numpy as np
from numba import njit
from numpy.typing import NDArray

Array = NDArray[np.float64]
Numbers = NDArray[np.int64]

SLOT_S = 300
HOURS, DAYS, MINUTES, AGES = 24, 7, 12, 30
SIZE = HOURS + DAYS + MINUTES + AGES
_DAY_AT = HOURS
_MINUTE_AT = HOURS + DAYS
_AGE_AT = HOURS + DAYS + MINUTES
_MAX_SLOTS = 576


@njit(cache=True)  # type: ignore[untyped-decorator]
def places_of(slot: int, changed: float) -> tuple[int, int, int, int]:
    """Where a slot (counted from the epoch) is in the four tables, when the last change was in slot `changed`."""
    hour = slot // 12
    age = AGES - 1
    if changed >= 0.0:
        age = min(int(3.0 * math.log2(max(slot - changed, 1.0))), AGES - 1)
    # The epoch began on a Thursday.
    return hour % 24, _DAY_AT + (hour // 24 + 3) % 7, _MINUTE_AT + slot % 12, _AGE_AT + age


@njit(cache=True)  # type: ignore[untyped-decorator]
def fit(
    times: Numbers,
    events: Array,
    weights: Array,
    borders: Numbers,
    factors: Array,
    prior: Array,
    peers: Array,
    rounds: int,
) -> tuple[float, float]:
    """Improve `factors` in place, and return the rate they multiply and the slot of the last change (-1: none).

    `events[i]` happened after the look at `times[i - 1]` and not after that at `times[i]`; `weights` fade old looks.
    The looks of source n are those from `borders[n]` to `borders[n + 1]`; all share the factors, each has a rate, and
    what is returned is of the last. Each round shares the events out by the factors so far, then sets one of the four
    tables to the ratio of what fell into each place and what the other three led to expect there; hours come first,
    for plans go by them longest.
    """
    tables = (0, _DAY_AT, _MINUTE_AT, _AGE_AT, SIZE)
    counts = np.zeros(SIZE)
    foreseen = np.zeros(SIZE)
    own = np.zeros(SIZE)
    rates = np.zeros(_MAX_SLOTS + 2)
    level = 1.0
    changed = -1.0
    for turn in range(rounds):
        counts[:] = 0.0
        foreseen[:] = 0.0
        for source in range(len(borders) - 1):
            own[:] = 0.0
            happened = 0.0
            told = 0.0
            changed = -1.0
            for i in range(borders[source] + 1, borders[source + 1]):
                end = times[i]
                start = max(times[i - 1], end - _MAX_SLOTS * SLOT_S)
                first = start // SLOT_S
                size = end // SLOT_S - first + 1
                total = 0.0
                best = 0
                for k in range(size):
                    edge = (first + k) * SLOT_S
                    seconds = min(edge + SLOT_S, end) - max(edge, start)
                    hour, day, minute, age = places_of(first + k, changed)
                    rates[k] = seconds * factors[hour] * factors[day] * factors[minute] * factors[age]
                    total += rates[k]
                    if rates[k] >= rates[best]:
                        best = k
                told += weights[i] * total
                happened += weights[i] * events[i]
                for k in range(size):
                    share = 0.0
                    if total > 0.0:
                        share = weights[i] * events[i] * rates[k] / total
                    for place in places_of(first + k, changed):
                        counts[place] += share
                        own[place] += weights[i] * rates[k] / factors[place]
                if events[i] > 0.0:
                    changed = first + best + 0.5
            level = (happened + 0.5) / (told + 0.5 * 86_400.0)
            foreseen += level * own
        # How long a silence lasts that is longer than any seen ended is unknown, and not for ever.
        ended = SIZE - 1
        while ended > _AGE_AT and counts[ended - 1] == 0.0:
            ended -= 1
        table = turn % 4
        for place in range(tables[table], tables[table + 1]):
            factors[place] = (counts[place] + prior[place] * peers[place]) / (foreseen[place] + prior[place])
            if place >= ended:
                factors[place] = max(factors[place], 1.0)
    return level, changed
