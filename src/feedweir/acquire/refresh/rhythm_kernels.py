"""The rhythm of a source, fitted to its looks: expectation maximisation over slots of five minutes."""

from __future__ import annotations

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
_MAX_AGE = 2_048
_AGE_PLACES = np.minimum(3.0 * np.log2(np.maximum(np.arange(_MAX_AGE) - 0.5, 1.0)), AGES - 1).astype(np.int64)
"""Where in the table of ages a slot is that comes so many slots after the one of the last change."""


@njit(cache=True)  # type: ignore[untyped-decorator]
def place_in(table: int, slot: int, changed: int) -> int:
    """Where a slot (counted from the epoch) is in a table, when the last change was in slot `changed`."""
    if table == 0:
        return slot // 12 % HOURS
    if table == 1:
        # The epoch began on a Thursday.
        return _DAY_AT + (slot // 288 + 3) % DAYS
    if table == 2:
        return _MINUTE_AT + slot % MINUTES
    if changed < 0:
        return _AGE_AT + AGES - 1
    return _AGE_AT + int(_AGE_PLACES[min(max(slot - changed, 0), _MAX_AGE - 1)])


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
    prior_s: float,
) -> tuple[float, float]:
    """Improve `factors` in place, and return the rate they multiply and the slot of the last change (-1: none).

    `events[i]` happened after the look at `times[i - 1]` and not after that at `times[i]`; `weights` fade old looks.
    The looks of source n are those from `borders[n]` to `borders[n + 1]`; all share the factors, each has a rate, and
    what is returned is of the last. Each round shares the events out by the factors so far, then sets one of the four
    tables to the ratio of what fell into each place and what the other three led to expect there; hours come first,
    for plans go by them longest. `prior_s` is how long half a change takes where nothing is known.
    """
    tables = (0, _DAY_AT, _MINUTE_AT, _AGE_AT, SIZE)
    counts = np.zeros(SIZE)
    foreseen = np.zeros(SIZE)
    own = np.zeros(SIZE)
    rates = np.zeros(_MAX_SLOTS + 2)
    places = np.zeros(_MAX_SLOTS + 2, dtype=np.int64)
    level = 1.0
    changed = -1
    for turn in range(rounds):
        table = turn % 4
        counts[:] = 0.0
        foreseen[:] = 0.0
        for source in range(len(borders) - 1):
            own[:] = 0.0
            happened = 0.0
            told = 0.0
            changed = -1
            for i in range(borders[source] + 1, borders[source + 1]):
                end = times[i]
                start = max(times[i - 1], end - _MAX_SLOTS * SLOT_S)
                first = start // SLOT_S
                size = end // SLOT_S - first + 1
                total = 0.0
                best = 0
                for k in range(size):
                    slot = first + k
                    edge = slot * SLOT_S
                    rate = float(min(edge + SLOT_S, end) - max(edge, start))
                    for other in range(4):
                        place = place_in(other, slot, changed)
                        if other == table:
                            places[k] = place
                        rate *= factors[place]
                    rates[k] = rate
                    total += rate
                    if rate >= rates[best]:
                        best = k
                told += weights[i] * total
                happened += weights[i] * events[i]
                each = weights[i] * events[i] / total if total > 0.0 else 0.0
                for k in range(size):
                    counts[places[k]] += each * rates[k]
                    own[places[k]] += weights[i] * rates[k]
                if events[i] > 0.0:
                    changed = first + best
            level = (happened + 0.5) / (told + prior_s)
            foreseen += level * own
        # How long a silence lasts that is longer than any seen ended is unknown, and not for ever.
        ended = SIZE - 1
        while ended > _AGE_AT and counts[ended - 1] == 0.0:
            ended -= 1
        for place in range(tables[table], tables[table + 1]):
            expected = foreseen[place] / factors[place]
            factors[place] = (counts[place] + prior[place] * peers[place]) / (expected + prior[place])
            if table == 3 and place >= ended:
                factors[place] = max(factors[place], 1.0)
    return level, changed + 0.5 if changed >= 0 else -1.0
