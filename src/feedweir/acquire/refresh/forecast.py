"""What a source is expected to publish, minute by minute, and at which minutes it is best to look."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from feedweir.acquire.refresh.history import SIZES, SLOT_S, Array, History, array, mean_rate_s

_HEDGE = 0.6
"""How much of the rate is taken to be even, whatever the rhythm says: the world changes, and looks must notice."""
_SMEAR = 0.1
"""How much of that is taken to be even over the minutes of the hour as well."""


def expected(history: History, start: float, slots: int) -> tuple[Array, Array]:
    """Items expected in each of the next slots, from the one that holds the timestamp `start`.

    Twice: if nothing appears meanwhile, so that the last change grows older, and on the whole.
    """
    first = int(start // SLOT_S)
    places = np.arange(first, first + slots)
    hours, days, minutes, ages = np.split(array(history.factors), np.cumsum(SIZES)[:-1])
    whole = (
        history.rate_s
        * SLOT_S
        * hours[places // 60 % 24]
        * days[(places // 1_440 + 3) % 7]
        * minutes[places % 60]
    )
    # The clockwork of a publisher seldom changes, its hours do: what is uncertain keeps to the minutes known.
    struck = (1 - _SMEAR) * minutes / minutes.mean() + _SMEAR
    flat = mean_rate_s(history) * SLOT_S * struck[places % 60]
    whole = (1 - _HEDGE) * whole + _HEDGE * flat
    if history.changed_at < 0:
        return whole, whole
    age = np.clip((places - history.changed_at / SLOT_S) / 5, 1.0, 2.0**12)
    octaves = np.minimum((3.0 * np.log2(age)).astype(np.int64), len(ages) - 1)
    return (1 - _HEDGE) * whole * ages[octaves] + _HEDGE * flat, whole


def strokes(history: History) -> NDArray[np.bool_]:
    """After which minutes of the hour it is best to look: one in five, the last of the busiest among them."""
    minutes = np.split(array(history.factors), np.cumsum(SIZES)[:-1])[2].reshape(12, 5)
    busy = minutes >= minutes.max(axis=1, keepdims=True) / 2
    last = 4 - busy[:, ::-1].argmax(axis=1)
    return np.asarray(np.arange(5) == last[:, None]).ravel()
