"""What a source's past says of its future: how much it publishes, at which hours, how much it shows at once.

A day is cut into quarter hours, each with a decayed count of items and of seconds watched; weekdays have a factor
each. Nobody knows when between two looks an item appeared, so it is shared out among the quarter hours in proportion
to what was known before: repeated, that sharpens the rhythm to the quarter hour in which a publisher's clock strikes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

SLOTS = 96
SLOT_S = 86_400 // SLOTS
DAYS = 7

_HALF_LIFE_S = 21 * 86_400.0
_LONGEST = timedelta(days=7)
_PRIOR_RATE = 4 / 86_400.0
"""Items a second that an unknown source is taken to publish …"""
_PRIOR_S = 6 * 3_600.0
"""… until it has been watched for about this long."""
_SLOT_PRIOR_S = 600.0
"""The same for one quarter hour against the whole day."""
_DAY_PRIOR_S = 86_400.0
_SATURATED = 1.5
"""When nothing of the last document is left, some items were never seen: count them in."""


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """Sufficient statistics of a source. Arrays are kept as float32 bytes: a state stays a small, plain value."""

    counts: bytes = bytes(4 * SLOTS)
    watched: bytes = bytes(4 * SLOTS)
    """Seconds of each quarter hour that lie between two looks."""
    day_counts: bytes = bytes(4 * DAYS)
    day_watched: bytes = bytes(4 * DAYS)
    shown: float = 0.0
    """How many items a document shows; 0 when none was counted yet."""
    spread: float = 1.0
    """Variance of a count over its mean: 1 for items that come one by one, more when they come in bursts."""


def rate_s(history: History) -> float:
    """Items a second, over all hours."""
    counts, watched = _array(history.counts), _array(history.watched)
    return float((counts.sum() + _PRIOR_RATE * _PRIOR_S) / (watched.sum() + _PRIOR_S))


def expected(history: History, start: float, slots: int) -> Array:
    """Items expected in each of the next quarter hours, from the one that holds the timestamp `start`."""
    first = int(start // SLOT_S)
    places = np.arange(first, first + slots)
    return _rates(history)[places % SLOTS] * _day_factors(history)[_day_of(places)] * SLOT_S


def observed(
    history: History,
    start: datetime,
    end: datetime,
    new_items: int,
    shown: int = 0,
    times: Sequence[datetime] = (),
) -> History:
    """What is known after two looks, `start` and `end`, between which so many items appeared.

    `times` are those of the new items that tell when they were published; the others are shared out.
    """
    if end <= start:
        return history
    since, until = max(start, end - _LONGEST).timestamp(), end.timestamp()
    places, seconds = _overlaps(since, until)
    mean = _rates(history)[places % SLOTS] * _day_factors(history)[_day_of(places)] * seconds
    items = float(new_items) * (_SATURATED if shown and new_items >= shown else 1.0)
    parts = _shared_out(items, mean, places, [t.timestamp() for t in times if start < t <= end])
    decay = 0.5 ** ((until - since) / _HALF_LIFE_S)
    return History(
        counts=_bytes(decay * _array(history.counts) + np.bincount(places % SLOTS, parts, SLOTS)),
        watched=_bytes(decay * _array(history.watched) + np.bincount(places % SLOTS, seconds, SLOTS)),
        day_counts=_bytes(decay * _array(history.day_counts) + np.bincount(_day_of(places), parts, DAYS)),
        day_watched=_bytes(decay * _array(history.day_watched) + np.bincount(_day_of(places), seconds, DAYS)),
        shown=_smoothed(history.shown, float(shown)) if shown else history.shown,
        spread=_spread(history.spread, items, float(mean.sum())),
    )


def _overlaps(since: float, until: float) -> tuple[NDArray[np.int64], Array]:
    """The quarter hours between two moments, counted from the epoch, and how much of each lies between them."""
    places = np.arange(int(since // SLOT_S), int(until // SLOT_S) + 1)
    edges = places * float(SLOT_S)
    return places, np.minimum(edges + SLOT_S, until) - np.maximum(edges, since)


def _shared_out(items: float, mean: Array, places: NDArray[np.int64], times: list[float]) -> Array:
    dated = np.zeros(len(places))
    for moment in times[: int(items)]:
        dated[int(moment // SLOT_S) - places[0]] += 1.0
    undated = float(items - dated.sum())
    parts: Array = dated + undated * mean / mean.sum()
    return parts


def _rates(history: History) -> Array:
    counts, watched = _array(history.counts), _array(history.watched)
    return (counts + _SLOT_PRIOR_S * rate_s(history)) / (watched + _SLOT_PRIOR_S)


def _day_factors(history: History) -> Array:
    rate = rate_s(history)
    counts, watched = _array(history.day_counts), _array(history.day_watched)
    return (counts + _DAY_PRIOR_S * rate) / (watched + _DAY_PRIOR_S) / rate


def _spread(spread: float, items: float, mean: float) -> float:
    """Moves slowly, and only by looks that could have told."""
    if mean < 0.05:
        return spread
    return min(max(spread + 0.1 * ((items - mean) ** 2 / mean - spread), 1.0), 30.0)


def _smoothed(old: float, new: float) -> float:
    """Documents that show less count at once: room for fewer items is what loses them."""
    return new if old == 0.0 or new < old else old + 0.2 * (new - old)


def _day_of(places: NDArray[np.int64]) -> NDArray[np.int64]:
    return (places // SLOTS + 3) % DAYS  # the epoch began on a Thursday


def _array(data: bytes) -> Array:
    return np.frombuffer(data, dtype=np.float32).astype(np.float64)


def _bytes(values: Array) -> bytes:
    return values.astype(np.float32).tobytes()
