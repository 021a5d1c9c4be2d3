"""Windows and lengths of time: `last 3 months`, `last 50 items`, `every 10 minutes`."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal, InvalidOperation
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class TimeSpan:
    """The items published later than `t - length`."""

    length: timedelta


@dataclass(frozen=True, slots=True)
class LastItems:
    """The last `count` items."""

    count: int


WindowSpec: TypeAlias = TimeSpan | LastItems

STORY = TimeSpan(timedelta(days=7))
"""How long a story stays one, where `distinct` does not say it."""
STORY_ALIKE = 0.38
"""How much alike two tellings of a story are at least, likewise; measured by `benchmarks stories`."""

_SECONDS = {
    "second": 1,
    "minute": 60,
    "hour": 3600,
    "day": 86400,
    "week": 604800,
    "month": 2592000,
    "year": 31536000,
}
"""A month has 30 days and a year 365: a window must not change its length with the calendar."""
SHORT_UNITS = {"s": "second", "sec": "second", "min": "minute", "h": "hour", "d": "day"}
UNITS: dict[str, int] = {
    **_SECONDS,
    **{unit + "s": seconds for unit, seconds in _SECONDS.items()},
    **{short: _SECONDS[unit] for short, unit in SHORT_UNITS.items()},
}
COUNTS = ("items", "item", "events", "event", "tuples", "tuple", "documents", "document", "entries", "entry")
LONGEST = timedelta(days=365_000)


def length_of(number: str, unit: str) -> timedelta | None:
    """So many of a unit of time; None when the number is none, or too long a time."""
    try:
        microseconds = Decimal(number) * UNITS[unit] * 1_000_000
    except InvalidOperation:
        return None
    if not microseconds.is_finite() or not 0 <= microseconds <= LONGEST // timedelta(microseconds=1):
        return None
    return timedelta(microseconds=int(microseconds))


def format_length(length: timedelta) -> str:
    """A length in the largest unit up to days that divides it."""
    microseconds = length // timedelta(microseconds=1)
    for unit in ("day", "hour", "minute", "second"):
        count, rest = divmod(microseconds, _SECONDS[unit] * 1_000_000)
        if not rest and (count or unit == "second"):
            return f"{count} {unit}" if count == 1 else f"{count} {unit}s"
    return f"{Decimal(microseconds) / 1_000_000:f} seconds"


def format_window(window: WindowSpec) -> str:
    """A window as `last` or XSCL's braces show it."""
    if isinstance(window, TimeSpan):
        return format_length(window.length)
    return f"{window.count} item" if window.count == 1 else f"{window.count} items"
