"""When a subscription wants to be served: the policy as a value, and as the JSON that is kept of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from functools import cache
from typing import Any
from zoneinfo import ZoneInfo

from feedweir.deliver.cron import UTC_ZONE, Cron, parse_cron
from feedweir.errors import SettingsError

_LONGEST_S = 366 * 86_400


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
class Policy:
    """What lets waiting entries go, and what holds them back. Without any trigger they go as they come.

    Triggers (the first one counts): `every`, `at`, `count`, `longest_wait`. Bars: `quiet`, `mute_until`, `cap`.
    """

    every: timedelta | None = None
    """At whole multiples of this since the subscription was made."""
    at: tuple[Cron, ...] = ()
    zone: ZoneInfo = UTC_ZONE
    count: int = 0
    """As soon as so many wait; 0 when their number does not matter."""
    longest_wait: timedelta | None = None
    """As soon as one has waited so long."""
    quiet: tuple[QuietHours, ...] = ()
    mute_until: datetime | None = None
    cap: RateCap | None = None
    per_message: int = 100
    """Entries that one message carries at most."""

    @property
    def is_immediate(self) -> bool:
        return self.every is None and not self.at and not self.count and self.longest_wait is None


def policy_of(schedule: Mapping[str, Any]) -> Policy:
    """The policy that a subscription's `schedule` describes; raises SettingsError for what it cannot."""
    unknown = sorted(set(schedule) - set(_READERS))
    if unknown:
        raise SettingsError(f"a schedule has no {unknown[0]!r}", hint=f"known: {', '.join(_READERS)}")
    zone = _zone(str(schedule.get("zone", "UTC")))
    values = {_READERS[name][0]: _read(name, value, zone) for name, value in schedule.items()}
    return Policy(**{**values, "zone": zone})


def _read(name: str, value: Any, zone: ZoneInfo) -> Any:
    try:
        return _READERS[name][1](value, zone)
    except (AttributeError, TypeError, ValueError, ArithmeticError):
        raise SettingsError(f"{value!r} cannot be the {name!r} of a schedule") from None


def _length(value: Any, _zone: ZoneInfo) -> timedelta:
    seconds = float(value)
    if not 1 <= seconds <= _LONGEST_S:
        raise SettingsError(f"{value!r} seconds is too short or too long", hint="a second to a year")
    return timedelta(seconds=seconds)


def _crons(value: Any, _zone: ZoneInfo) -> tuple[Cron, ...]:
    return tuple(_cron(text) for text in ([value] if isinstance(value, str) else value))


def _whole(least: int) -> Callable[[Any, ZoneInfo], int]:
    def read(value: Any, _zone: ZoneInfo) -> int:
        if isinstance(value, bool) or int(value) != value or value < least:
            raise ValueError(value)
        return int(value)

    return read


def _quiet(value: Any, _zone: ZoneInfo) -> tuple[QuietHours, ...]:
    texts = [value] if isinstance(value, str) else value
    return tuple(_hours(text) for text in texts)


def _hours(text: str) -> QuietHours:
    start, end = (time.fromisoformat(part.strip()) for part in text.split("-"))
    if start == end or start.second or end.second or start.tzinfo or end.tzinfo:
        raise ValueError(text)
    return QuietHours(start, end)


def _moment(value: Any, zone: ZoneInfo) -> datetime:
    """A time without an offset is meant in the schedule's zone."""
    moment = datetime.fromisoformat(value)
    return (moment if moment.tzinfo else moment.replace(tzinfo=zone)).astimezone(UTC)


def _cap(value: Any, zone: ZoneInfo) -> RateCap:
    messages, seconds = value
    return RateCap(_whole(1)(messages, zone), _length(seconds, zone))


@cache
def _cron(text: str) -> Cron:
    return parse_cron(text)


@cache
def _zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        raise SettingsError(f"there is no time zone {name!r}", hint="as in Europe/Paris") from None


_READERS: dict[str, tuple[str, Callable[[Any, ZoneInfo], Any]]] = {
    "every_s": ("every", _length),
    "at": ("at", _crons),
    "zone": ("zone", lambda _value, zone: zone),
    "count": ("count", _whole(0)),
    "longest_wait_s": ("longest_wait", _length),
    "quiet": ("quiet", _quiet),
    "mute_until": ("mute_until", _moment),
    "cap": ("cap", _cap),
    "per_message": ("per_message", _whole(1)),
}
