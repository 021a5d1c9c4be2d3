"""How much may wait to be published: decided from values, so that the HTTP door, fetching and `status` agree."""

from __future__ import annotations

import math
from dataclasses import dataclass

_AT_LEAST_S = 1
_AT_MOST_S = 300
_UNKNOWN_S = 60
"""The wait when nothing was published lately, so that no rate is known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Backlog:
    """What landed and is not published."""

    waiting_bytes: int
    published_per_s: float = 0.0
    """Bytes of landed documents that were published a second, lately; 0 when unknown, or when none were."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pressure:
    wait_s: int = 0
    """How long a pushing client is asked to wait; 0 when documents are accepted."""
    fetch_share: float = 1.0
    """The share of the permitted requests that fetching makes."""


NO_PRESSURE = Pressure()


def pressure_of(backlog: Backlog, most_bytes: int) -> Pressure:
    """What a backlog demands of those who add to it; without a bound (0), nothing.

    Fetching slows from half the bound on, so that pushes, whose senders may not come again, are the last to wait.
    """
    if most_bytes <= 0 or 2 * backlog.waiting_bytes <= most_bytes:
        return NO_PRESSURE
    if backlog.waiting_bytes < most_bytes:
        return Pressure(fetch_share=2 * (1 - backlog.waiting_bytes / most_bytes))
    return Pressure(wait_s=_wait_s(backlog, most_bytes), fetch_share=0.0)


def _wait_s(backlog: Backlog, most_bytes: int) -> int:
    """Until half the bound is free again: senders that come back to a full backlog would come for nothing."""
    if backlog.published_per_s <= 0:
        return _UNKNOWN_S
    wait_s = (backlog.waiting_bytes - most_bytes / 2) / backlog.published_per_s
    return math.ceil(min(max(wait_s, _AT_LEAST_S), _AT_MOST_S))


def in_words(pressure: Pressure) -> str:
    """The pressure in words; empty without any."""
    if pressure.wait_s:
        return "pushing clients are asked to wait, and nothing is fetched"
    return f"fetching at {pressure.fetch_share:.0%}" if pressure.fetch_share < 1 else ""
