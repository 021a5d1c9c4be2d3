"""A schedule as a value, and the JSON that the catalog keeps of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from datetime import UTC, datetime, time, timedelta
from functools import cache
from typing import Any
from zoneinfo import ZoneInfo, available_timezones

from feedweir.errors import SettingsError, near
from feedweir.schedules.cron import Cron, parse_cron

_LONGEST_S = 366 * 86_400
_USUAL_PER_MESSAGE = 100


@dataclass(frozen=True, slots=True)
class QuietHours:
    """From `start` until `end` by the wall clock; over midnight when `end` is not later."""

    start: time
    end: time

    def __str__(self) -> str:
        return f"{self.start:%H:%M}-{self.end:%H:%M}"


@dataclass(frozen=True, slots=True)
class RateCap:
    """At most `messages` within any `per`."""

    messages: int
    per: timedelta


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """What lets waiting entries go, and what holds them back. Without any trigger they go as they come.

    Triggers (the first one counts): `every`, `at`, `count`, `longest_wait`. Bars: `quiet`, `mute_until`, `cap`.
    In a change of a subscription, a part that is as here by default is left as it was.
    """

    every: timedelta | None = None
    """At whole multiples of this since the subscription was made."""
    at: tuple[Cron, ...] = ()
    count: int = 0
    """As soon as so many wait; 0 when their number does not matter."""
    longest_wait: timedelta | None = None
    """As soon as one has waited so long."""
    zone: str = ""
    """Of all times by the wall clock; empty is UTC."""
    quiet: tuple[QuietHours, ...] = ()
    mute_until: datetime | None = None
    """Without an offset it is meant in the schedule's zone."""
    cap: RateCap | None = None
    per_message: int = 0
    """Entries that one message carries at most; 0 is as usual."""

    @property
    def is_immediate(self) -> bool:
        return self.every is None and not self.at and not self.count and self.longest_wait is None

    @property
    def clock(self) -> ZoneInfo:
        """The time zone of the schedule's times."""
        return ZoneInfo(self.zone or "UTC")

    @property
    def muted_until(self) -> datetime | None:
        """In UTC."""
        moment = self.mute_until
        if moment is None:
            return None
        return (moment if moment.tzinfo else moment.replace(tzinfo=self.clock)).astimezone(UTC)

    @property
    def most_per_message(self) -> int:
        return self.per_message or _USUAL_PER_MESSAGE


AT_ONCE = Schedule()
PARTS = tuple(field.name for field in fields(Schedule))


def schedule_to_json(schedule: Schedule) -> dict[str, Any]:
    """What the catalog keeps: the parts that are not as by default."""
    written = {
        "every_s": schedule.every and schedule.every.total_seconds(),
        "at": [cron.text for cron in schedule.at],
        "count": schedule.count,
        "longest_wait_s": schedule.longest_wait and schedule.longest_wait.total_seconds(),
        "zone": schedule.zone,
        "quiet": list(map(str, schedule.quiet)),
        "mute_until": schedule.mute_until and schedule.mute_until.isoformat(),
        "cap": schedule.cap and [schedule.cap.messages, schedule.cap.per.total_seconds()],
        "per_message": schedule.per_message,
    }
    return {name: value for name, value in written.items() if value}


def schedule_from_json(kept: Mapping[str, Any]) -> Schedule:
    """The schedule that JSON describes; SettingsError for what is none."""
    unknown = sorted(set(kept) - set(READERS))
    if unknown:
        raise SettingsError(
            f"a schedule has no {unknown[0]!r}",
            hint=near(unknown[0], READERS) or f"known: {', '.join(READERS)}",
        )
    return Schedule(**{READERS[name][0]: _read(name, value) for name, value in kept.items()})


def _read(name: str, value: Any) -> Any:
    try:
        return READERS[name][1](value)
    except (AttributeError, TypeError, ValueError, ArithmeticError):
        raise SettingsError(f"{value!r} is not a valid {name!r} of a schedule") from None


def _length(value: Any) -> timedelta:
    seconds = float(value)
    if not 1 <= seconds <= _LONGEST_S:
        raise SettingsError(f"{value!r} seconds is too short or too long", hint="a second to a year")
    return timedelta(seconds=seconds)


def _crons(value: Any) -> tuple[Cron, ...]:
    return tuple(_cron(text) for text in ([value] if isinstance(value, str) else value))


def _whole(least: int) -> Callable[[Any], int]:
    def read(value: Any) -> int:
        if isinstance(value, bool) or int(value) != value or value < least:
            raise ValueError(value)
        return int(value)

    return read


def _quiet(value: Any) -> tuple[QuietHours, ...]:
    texts = [value] if isinstance(value, str) else value
    return tuple(_hours(text) for text in texts)


def _hours(text: str) -> QuietHours:
    start, end = (time.fromisoformat(part.strip()) for part in text.split("-"))
    if start == end or start.second or end.second or start.tzinfo or end.tzinfo:
        raise ValueError(text)
    return QuietHours(start, end)


def _cap(value: Any) -> RateCap:
    messages, seconds = value
    return RateCap(_whole(1)(messages), _length(seconds))


@cache
def _cron(text: str) -> Cron:
    return parse_cron(text)


@cache
def _zone(name: str) -> str:
    try:
        ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        raise SettingsError(
            f"there is no time zone {name!r}",
            hint=near(name, sorted(available_timezones())) or "as in Europe/Paris",
        ) from None
    return name


READERS: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "every_s": ("every", _length),
    "at": ("at", _crons),
    "zone": ("zone", lambda value: _zone(str(value))),
    "count": ("count", _whole(0)),
    "longest_wait_s": ("longest_wait", _length),
    "quiet": ("quiet", _quiet),
    "mute_until": ("mute_until", datetime.fromisoformat),
    "cap": ("cap", _cap),
    "per_message": ("per_message", _whole(1)),
}
"""By the name that is kept: the part it is, and how it is read."""
