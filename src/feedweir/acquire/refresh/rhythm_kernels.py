"""The rhythm of a source, fitted to its looks: expectation maximisation over minutes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from feedweir.kernels import njit

Array = NDArray[np.float64]
Numbers = NDArray[np.int64]

SLOT_S = 60
HOURS, DAYS, MINUTES, AGES = 24, 7, 60, 30
SIZE = HOURS + DAYS + MINUTES + AGES
DAY_AT = HOURS
MINUTE_AT = HOURS + DAYS
AGE_AT = HOURS + DAYS + MINUTES
_TABLES = (0, DAY_AT, MINUTE_AT, AGE_AT, SIZE)
_MAX_S = 2 * 86_400
"""How far back from a look what it found is searched for."""
_MAX_AGE = 10_240
_AGE_PLACES = AGE_AT + np.minimum(
    3.0 * np.log2(np.maximum(np.arange(_MAX_AGE) / 5 - 0.5, 1.0)), AGES - 1
).astype(np.int64)
"""Where in the tables a minute is that comes so many minutes after the last change: three places an octave."""


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
    steps: Numbers,
) -> tuple[float, float]:
    """Improve `factors` in place for the looks of some sources; the last source's level and last change.

    Source s has the looks from `borders[s]` to `borders[s + 1]`; what they found lies between them and the ones
    before, nobody knows where. Each round takes the four tables in turn, hours first, for plans go by them longest:
    what each interval holds of each place, by the other three tables, is gathered once; then events are shared out by
    that and the table so far, and the table set to the ratio of what fell into each place and what was to be expected
    there, over and over. `prior_s` is how long half a change takes where nothing is known.
    """
    sources = len(borders) - 1
    owners = np.zeros(len(times), dtype=np.int64)
    masses = np.zeros(len(times))
    happened = np.zeros(sources)
    levels = np.ones(sources)
    found = 0
    for source in range(sources):
        for i in range(borders[source] + 1, borders[source + 1]):
            if events[i] > 0.0:
                owners[found] = source
                masses[found] = weights[i] * events[i]
                happened[source] += masses[found]
                found += 1
    rows = np.zeros((found, MINUTES))
    spans = np.zeros((sources, MINUTES))
    changed = -1
    for turn in range(4 * rounds):
        table = turn % 4
        low, high = _TABLES[table], _TABLES[table + 1]
        others = factors.copy()
        others[low:high] = 1.0
        rows[:] = 0.0
        spans[:] = 0.0
        found = 0
        for source in range(sources):
            changed = -1
            for i in range(borders[source] + 1, borders[source + 1]):
                start = max(times[i - 1], times[i] - _MAX_S)
                if events[i] > 0.0:
                    row = rows[found]
                    changed = _gather(row, 1.0, start, times[i], changed, table, others, factors)
                    spans[source] += weights[i] * row
                    found += 1
                else:
                    _gather(spans[source], weights[i], start, times[i], changed, table, others, factors)
        _share_out(
            rows,
            owners,
            masses,
            spans,
            happened,
            levels,
            factors[low:high],
            prior[low:high],
            peers[low:high],
            prior_s,
            steps[table],
            table == 3,
        )
    return levels[sources - 1], changed + 0.5 if changed >= 0 else -1.0


@njit(cache=True)  # type: ignore[untyped-decorator]
def _gather(
    row: Array,
    weight: float,
    start: int,
    end: int,
    changed: int,
    table: int,
    others: Array,
    factors: Array,
) -> int:
    """Add to a row what each place of a table has of an interval; the minute in which its change is likeliest."""
    low = _TABLES[table]
    best = -1.0
    likeliest = end // SLOT_S
    slot = start // SLOT_S
    last = end // SLOT_S
    while slot <= last:
        # An hour at a time: only the minute and the age change within it.
        hour = slot // MINUTES % HOURS
        # The epoch began on a Thursday.
        day = DAY_AT + (slot // (MINUTES * HOURS) + 3) % DAYS
        common = others[hour] * others[day] * weight
        until = min((slot // MINUTES + 1) * MINUTES, last + 1)
        minute = MINUTE_AT + slot % MINUTES
        while slot < until:
            age = SIZE - 1 if changed < 0 else _AGE_PLACES[min(max(slot - changed, 0), _MAX_AGE - 1)]
            length_s = min((slot + 1) * SLOT_S, end) - max(slot * SLOT_S, start)
            rate = common * others[minute] * others[age] * length_s
            place = hour if table == 0 else day if table == 1 else minute if table == 2 else age
            row[place - low] += rate
            if rate * factors[place] >= best:
                best = rate * factors[place]
                likeliest = slot
            minute += 1
            slot += 1
    return likeliest


@njit(cache=True)  # type: ignore[untyped-decorator]
def _share_out(
    rows: Array,
    owners: Numbers,
    masses: Array,
    spans: Array,
    happened: Array,
    levels: Array,
    factors: Array,
    prior: Array,
    peers: Array,
    prior_s: float,
    steps: int,
    is_of_ages: bool,
) -> None:
    """Improve the factors of one table, and the levels of the sources, by what was gathered."""
    size = len(factors)
    counts = np.zeros(size)
    expected = np.zeros(size)
    for _ in range(steps):
        counts[:] = 0.0
        expected[:] = 0.0
        for found in range(len(rows)):
            total = 0.0
            for place in range(size):
                total += rows[found, place] * factors[place]
            each = masses[found] / total if total > 0.0 else 0.0
            for place in range(size):
                counts[place] += each * rows[found, place] * factors[place]
        for source in range(len(spans)):
            told = 0.0
            for place in range(size):
                told += spans[source, place] * factors[place]
            levels[source] = (happened[source] + 0.5) / (told + prior_s)
            for place in range(size):
                expected[place] += levels[source] * spans[source, place]
        # How long a silence lasts that is longer than any seen ended is unknown, and not for ever.
        ended = size - 1
        while ended > 0 and counts[ended - 1] == 0.0:
            ended -= 1
        for place in range(size):
            factors[place] = (counts[place] + prior[place] * peers[place]) / (expected[place] + prior[place])
            if is_of_ages and place >= ended:
                factors[place] = max(factors[place], 1.0)
