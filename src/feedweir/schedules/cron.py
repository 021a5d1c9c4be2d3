"""Times by the wall clock of a zone: `0 8 * * mon-fri` or `08:00 mon-fri`, and when the next of them is."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

from feedweir.errors import SettingsError

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_FIELDS = (
    ("minute", 0, 59, ()),
    ("hour", 0, 23, ()),
    ("day", 1, 31, ()),
    ("month", 1, 12, _MONTHS),
    ("weekday", 0, 7, _DAYS),
)
_NAMED = {
    "hourly": "0 * * * *",
    "daily": "0 0 * * *",
    "weekly": "0 0 * * mon",
    "monthly": "0 0 1 * *",
}
_CLOCK = re.compile(r"(\d{1,2}):(\d{2})(?:\s+(\S+))?")
_HORIZON_DAYS = 8 * 366 + 1
"""29 February comes again within eight years, also around a century."""
_SHIFT = timedelta(hours=3)
"""More than any clock is ever changed by."""


@dataclass(frozen=True, slots=True)
class Cron:
    """The minutes of the wall clock that five fields describe; days as cron reads them (day or weekday)."""

    text: str
    minutes: tuple[int, ...]
    hours: tuple[int, ...]
    days: frozenset[int]
    months: frozenset[int]
    weekdays: frozenset[int]
    """Sunday is 0."""
    is_any_day: bool
    """Neither the day of the month nor the weekday was restricted, or only one of them."""

    def has_day(self, day: date) -> bool:
        if day.month not in self.months:
            return False
        in_month, in_week = day.day in self.days, day.isoweekday() % 7 in self.weekdays
        return in_month and in_week if self.is_any_day else in_month or in_week


def parse_cron(text: str) -> Cron:
    """Five fields, a time and weekdays, or a word such as `daily`; SettingsError names the field that is wrong."""
    fields = _fields(text)
    if len(fields) != len(_FIELDS):
        raise SettingsError(
            f"{text!r} is not a timetable",
            hint="'08:30 mon-fri', or minute hour day month weekday: '30 8 * * mon-fri'",
        )
    minutes, hours, days, months, weekdays = (
        _values(field, *about) for field, about in zip(fields, _FIELDS, strict=True)
    )
    cron = Cron(
        text=text,
        minutes=tuple(sorted(minutes)),
        hours=tuple(sorted(hours)),
        days=frozenset(days),
        months=frozenset(months),
        weekdays=frozenset(day % 7 for day in weekdays),
        is_any_day=fields[2].startswith("*") or fields[4].startswith("*"),
    )
    if next_time(cron, UTC_ZONE, datetime(2024, 1, 1, tzinfo=UTC)) is None:
        raise SettingsError(f"{text!r} never occurs")
    return cron


def _fields(text: str) -> list[str]:
    clock = _CLOCK.fullmatch(text.strip())
    if clock:
        hour, minute, days = clock.groups()
        return [minute, hour, "*", "*", days or "*"]
    return _NAMED.get(text.strip().lower().removeprefix("@"), text).split()


def next_time(cron: Cron, zone: ZoneInfo, start: datetime) -> datetime | None:
    """The first time at or after `start`, in UTC; None when there is none for years.

    A time that the clock skips in spring comes as late as the clock was moved; one that it shows twice in autumn comes
    once, unless every hour is meant.
    """
    local = start.astimezone(zone).replace(tzinfo=None)
    first = (local - _SHIFT).date()
    for offset in range(_HORIZON_DAYS):
        day = first + timedelta(days=offset)
        if cron.has_day(day):
            found = [time for time in _times(cron, zone, day, local) if time >= start]
            if found:
                return min(found)
    return None


def _times(cron: Cron, zone: ZoneInfo, day: date, local: datetime) -> Iterator[datetime]:
    """The day's times near or after `local`: those more than an hour after the first one cannot come before it."""
    folds = (0, 1) if len(cron.hours) == 24 else (0,)
    until: datetime | None = None
    for hour in cron.hours:
        for minute in cron.minutes:
            wall = datetime(day.year, day.month, day.day, hour, minute)
            if wall < local - _SHIFT:
                continue
            if until is not None and wall > until:
                return
            if wall >= local + _SHIFT and until is None:
                until = wall + _SHIFT
            for fold in folds:
                yield wall.replace(fold=fold, tzinfo=zone).astimezone(UTC)


def _values(field: str, name: str, low: int, high: int, names: tuple[str, ...]) -> set[int]:
    values: set[int] = set()
    for part in field.lower().split(","):
        span, _, step = part.partition("/")
        start, end = _span(span, bool(step), low, high, names) or _refuse(field, name, low, high)
        if step and not (step.isascii() and step.isdigit() and int(step)):
            _refuse(field, name, low, high)
        values.update(range(start, end + 1, int(step or 1)))
    return values


def _span(text: str, is_open: bool, low: int, high: int, names: tuple[str, ...]) -> tuple[int, int] | None:
    if text == "*":
        return low, min(high, 6) if names is _DAYS else high
    first, dash, last = text.partition("-")
    start = _number(first, low, names)
    end = _number(last, low, names) if dash else (high if is_open else start)
    if start is None or end is None or not low <= start <= end <= high:
        return None
    return start, end


def _number(text: str, low: int, names: tuple[str, ...]) -> int | None:
    if text in names:
        return names.index(text) + (1 if names is _MONTHS else 0)
    return int(text) if text.isascii() and text.isdigit() and len(text) < 4 else None


def _refuse(field: str, name: str, low: int, high: int) -> tuple[int, int]:
    raise SettingsError(f"{field!r} is not a valid {name}", hint=f"{low} to {high}, lists, ranges and steps")


UTC_ZONE = ZoneInfo("UTC")
