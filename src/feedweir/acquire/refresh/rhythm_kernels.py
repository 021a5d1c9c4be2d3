"""The rhythm of a source, fitted to its polls: expectation maximisation over minutes."""

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
"""How far before a poll its items may have appeared."""
_MAX_AGE = 10_240
_AGE_PLACES = AGE_AT + np.minimum(
    3.0 * np.log2(np.maximum(np.arange(_MAX_AGE) / 5 - 0.5, 1.0)), AGES - 1
).astype(np.int64)
"""The cell of the tables for a minute by its distance from the last change, in minutes: three cells an octave."""


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
    """Improve `factors` in place for the polls of some sources; the last source's level and last change.

        times    t0 t1 t2 | t3 t4        seconds of the polls; source s has borders[s] to borders[s + 1]
        events    -  0  2 |  -  1        changes that appeared since the poll before, nobody knows when
        weights   -  1 .9 |  -  1        how much each poll still counts
        factors  hours | weekdays | minutes | ages      four tables one after the other, cut at `_TABLES`
        prior, peers                                    for each cell the weight and the value of the prior
        rows     found × cells           for each interval with events the expected share of each cell of one table
        spans    sources × cells         the same summed over all intervals of a source

    Each round takes the four tables in turn, hours first, since plans depend on them longest. `prior_s` is how long
    half a change takes where nothing is known.
    """
    # What was found, once and for all: the source and the weight of each interval with events.
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
        # One table: the shares of its cells in each interval, by the other three.
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
        # Then events are shared out by these and the table itself, which is set to found over expected, repeatedly.
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
    """Add to a row the share of each cell of a table in an interval; the minute in which a change is likeliest."""
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
    """Improve the factors of one table, and the levels of the sources.

    `owners` and `masses` are the source and the weight of each row, `happened` the weight of all changes of a source;
    `rows` and `spans` are described in `fit`.
    """
    size = len(factors)
    counts = np.zeros(size)
    expected = np.zeros(size)
    for _ in range(steps):
        counts[:] = 0.0
        expected[:] = 0.0
        # Expectation: each change is shared out over the cells that it may have fallen into.
        for found in range(len(rows)):
            total = 0.0
            for place in range(size):
                total += rows[found, place] * factors[place]
            each = masses[found] / total if total > 0.0 else 0.0
            for place in range(size):
                counts[place] += each * rows[found, place] * factors[place]
        # Maximisation: the level of each source, and what it lets expect in each cell.
        for source in range(len(spans)):
            exposed = 0.0
            for place in range(size):
                exposed += spans[source, place] * factors[place]
            levels[source] = (happened[source] + 0.5) / (exposed + prior_s)
            for place in range(size):
                expected[place] += levels[source] * spans[source, place]
        # Beyond the longest silence that ended nothing is known, but no silence lasts for ever.
        ended = size - 1
        while ended > 0 and counts[ended - 1] == 0.0:
            ended -= 1
        for place in range(size):
            factors[place] = (counts[place] + prior[place] * peers[place]) / (expected[place] + prior[place])
            if is_of_ages and place >= ended:
                factors[place] = max(factors[place], 1.0)
