"""What a source is expected to publish, minute by minute, and at which minutes it is best to poll."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from feedweir.acquire.refresh.source_history import SLOT_S, Array, History, array, mean_rate_s

_HEDGE = 0.6
"""How much of the rate is assumed to be even, whatever the rhythm: publishers change, and polls must notice."""
_SMEAR = 0.1
"""How much of that is even over the minutes of the hour as well: publishers seldom change those."""


def expected(history: History, start: float, slots: int) -> tuple[Array, Array]:
    """Items expected in each of the next slots, from the one that holds the timestamp `start`.

    Twice: if nothing appears meanwhile, so that the last change grows older, and on the whole.
    """
    from feedweir.acquire.refresh.forecast_kernels import foresee

    factors, first = array(history.factors), int(start // SLOT_S)
    next_items, items = foresee(
        factors, history.rate_s, mean_rate_s(history), history.changed_at, first, slots, _HEDGE, _SMEAR
    )
    return next_items, items


def best_minutes(history: History) -> NDArray[np.bool_]:
    """After which minutes of the hour it is best to poll: one in five, the last of the busiest among them."""
    from feedweir.acquire.refresh.forecast_kernels import last_busy

    return np.asarray(last_busy(array(history.factors)))
