"""When a subscription is served (`every 3 hours`, `at '08:30 sat'`, `after 10 items or 1 hour`), and what bars it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime, time, timedelta
from functools import cache
from typing import Any
from zoneinfo import available_timezones

from feedweir.errors import SettingsError, near
from feedweir.language.literals import count, length
from feedweir.language.tokens import Cursor, quoted, unquoted
from feedweir.plan.window_lengths import COUNTS, UNITS, format_length
from feedweir.schedules import PARTS, Cron, QuietHours, RateCap, Schedule, parse_cron

_HOURS = re.compile(r"([01]?\d|2[0-3]):([0-5]\d)\s*-\s*([01]?\d|2[0-3]):([0-5]\d)")
_MINUTES_OF_A_DAY = 24 * 60
_SHORTEST = timedelta(seconds=1)
_LONGEST = timedelta(days=366)


def schedule(c: Cursor) -> Schedule:
    """The clauses of a `subscribe`, in any order, each once."""
    parts: dict[str, Any] = {}
    while (read := CLAUSES.get(c.words[c.at])) is not None:
        start = c.at
        for name, value in read(c).items():
            if name in parts:
                raise c.error("this clause is given twice", at=start)
            parts[name] = value
    if c.words[c.at] not in ("", ";", "with"):
        raise c.unknown("a part of a schedule", tuple(CLAUSES))
    return Schedule(**parts)


def every(c: Cursor) -> timedelta | None:
    """`every 3 hours`, if it is there."""
    return _length(c, None) if c.accept("every") else None


def without(c: Cursor, others: tuple[str, ...] = ()) -> str:
    """`no quiet`: what a change takes away, a key of `REMOVABLE`; `others` are what else may stand there."""
    c.at += 1
    word = c.words[c.at]
    if word not in REMOVABLE:
        raise c.unknown("something that `no` can remove", (*REMOVABLE, *others))
    c.at += 1
    return word


REMOVABLE: Mapping[str, tuple[str, ...]] = {
    "every": ("every",),
    "at": ("at",),
    "after": ("count", "longest_wait"),
    "zone": ("zone",),
    "quiet": ("quiet",),
    "mute": ("mute_until",),
    "limit": ("cap", "per_message"),
    "schedule": PARTS,
}
"""What may stand after `no`, and the parts it means."""


def _length(c: Cursor, longest: timedelta | None = _LONGEST) -> timedelta:
    start = c.at
    found = length(c)
    if found < _SHORTEST:
        raise c.error("this interval is too short", at=start, expected=("1 second or more",))
    if longest is not None and found > longest:
        raise c.error("this interval is too long", at=start, expected=("a year or less",))
    return found


def _every(c: Cursor) -> dict[str, Any]:
    c.at += 1
    return {"every": _length(c)}


def _at(c: Cursor) -> dict[str, Any]:
    """`at '08:30 mon-fri', '0 12 * * sun'`, or `at most …`."""
    c.at += 1
    if c.accept("most"):
        return _limit(c)
    start = c.at
    texts = _texts(c, "times, as in '08:30 mon-fri' or '0 8 * * 1-5'")
    return {"at": tuple(_cron(c, text, start + 2 * place) for place, text in enumerate(texts))}


def _cron(c: Cursor, text: str, at: int) -> Cron:
    try:
        return parse_cron(text)
    except SettingsError as error:
        raise c.error(error.message, at=at, hint=error.hint) from None


def _texts(c: Cursor, what: str) -> tuple[str, ...]:
    """Quoted texts; a comma goes on only if another text follows it, as it also parts the changes of `alter`."""
    found = [c.string(what).strip()]
    while c.words[c.at] == "," and _is_string(c.tokens[c.at + 1]):
        c.at += 1
        found.append(c.string(what).strip())
    return tuple(found)


def _is_string(token: str) -> bool:
    return len(token) > 1 and token[0] in "'\"“‘"


def _limit(c: Cursor) -> dict[str, Any]:
    """`at most 4 messages per hour`, `at most 20 items per message`."""
    start = c.at
    most = count(c, "a number")
    if not most:
        raise c.error("nothing would ever be sent", at=start, expected=("1 or more",))
    if c.words[c.at] in COUNTS:
        c.at += 1
        c.expect("per", hint="at most 20 items per message")
        c.expect("message")
        return {"per_message": most}
    if c.words[c.at] in ("message", "messages"):
        c.at += 1
    c.expect("per", hint="at most 4 messages per hour, at most 20 items per message")
    return {"cap": RateCap(most, _length(c))}


def _after(c: Cursor) -> dict[str, Any]:
    """`after 10 items`, `after 1 hour`, `after 10 items or 1 hour`: whichever comes first."""
    c.at += 1
    found = _one_after(c)
    if c.accept("or"):
        start = c.at
        other = _one_after(c)
        if set(other) & set(found):
            raise c.error(
                "`or` combines a number of items with a length of time",
                at=start,
                hint="after 10 items or 1 hour",
            )
        found |= other
    return found


def _one_after(c: Cursor) -> dict[str, Any]:
    if c.words[c.at + 1] not in COUNTS:
        if c.words[c.at + 1] not in UNITS and c.words[c.at] not in UNITS:
            raise c.error(
                f"{c.seen()} is neither a number of items nor a length of time",
                expected=("`10 items`", "`1 hour`"),
            )
        return {"longest_wait": _length(c)}
    start = c.at
    items = count(c, "a number of items")
    if not items:
        raise c.error("0 items would never trigger anything", at=start, expected=("1 item or more",))
    c.at += 1
    return {"count": items}


def _zone(c: Cursor) -> dict[str, Any]:
    c.at += 1
    start = c.at
    name = c.string("the name of a zone").strip()
    if name not in _zones():
        hint = near(name, _zones()) or "as in 'Europe/Paris'"
        raise c.error(f"{quoted(name)} is not a time zone", at=start, hint=hint)
    return {"zone": name}


@cache
def _zones() -> frozenset[str]:
    return frozenset(available_timezones())


def _quiet(c: Cursor) -> dict[str, Any]:
    c.at += 1
    start = c.at
    found = _texts(c, "hours, as in '22:00-07:00'")
    quiet = tuple(_hours(c, text, start + 2 * place) for place, text in enumerate(found))
    if len({minute for hours in quiet for minute in _minutes(hours)}) == _MINUTES_OF_A_DAY:
        raise c.error(
            "these hours cover the whole day, so nothing would ever be sent",
            at=start,
            hint="leave part of the day free, or pause the subscription (alter subscription … pause)",
        )
    return {"quiet": quiet}


def _hours(c: Cursor, text: str, at: int) -> QuietHours:
    match = _HOURS.fullmatch(text)
    if match:
        start, end = (time(int(match[hour]), int(match[hour + 1])) for hour in (1, 3))
        if start != end:
            return QuietHours(start, end)
    raise c.error(f"{quoted(text)} is not a range of hours", at=at, expected=("hours, as in '22:00-07:00'",))


def _minutes(hours: QuietHours) -> Iterator[int]:
    """The minutes of a day that `22:00-07:00` covers."""
    start, end = (60 * clock.hour + clock.minute for clock in (hours.start, hours.end))
    length = (end - start) % _MINUTES_OF_A_DAY
    return ((start + minute) % _MINUTES_OF_A_DAY for minute in range(length))


def _mute(c: Cursor) -> dict[str, Any]:
    """`mute until '2026-08-01 09:00'`, in the schedule's zone."""
    c.at += 1
    c.expect("until", hint="mute until '2026-08-01 09:00'")
    token = c.tokens[c.at]
    text = unquoted(token) if c.is_string() else token
    try:
        moment = datetime.fromisoformat(text.strip())
    except ValueError:
        raise c.missing("a date", expected=("a date, as in `2026-08-01` or `'2026-08-01 09:00'`",)) from None
    c.at += 1
    return {"mute_until": moment}


CLAUSES: Mapping[str, Callable[[Cursor], dict[str, Any]]] = {
    "every": _every,
    "at": _at,
    "after": _after,
    "zone": _zone,
    "quiet": _quiet,
    "mute": _mute,
}


def format_schedule(schedule: Schedule) -> list[str]:
    """The clauses, each by itself, in their canonical order."""
    clauses = [
        _every_text(schedule.every),
        f"at {_listed(cron.text for cron in schedule.at)}" if schedule.at else "",
        _after_text(schedule),
        f"zone {quoted(schedule.zone)}" if schedule.zone else "",
        f"quiet {_listed(map(str, schedule.quiet))}" if schedule.quiet else "",
        f"mute until {quoted(schedule.mute_until.isoformat())}" if schedule.mute_until else "",
        _cap_text(schedule.cap),
        f"at most {_counted(schedule.per_message, 'item')} per message" if schedule.per_message else "",
    ]
    return [clause for clause in clauses if clause]


def _every_text(length: timedelta | None) -> str:
    return f"every {format_length(length)}" if length is not None else ""


def _after_text(schedule: Schedule) -> str:
    items = _counted(schedule.count, "item") if schedule.count else ""
    wait = format_length(schedule.longest_wait) if schedule.longest_wait is not None else ""
    return f"after {' or '.join(filter(None, (items, wait)))}" if items or wait else ""


def _cap_text(cap: RateCap | None) -> str:
    return f"at most {_counted(cap.messages, 'message')} per {format_length(cap.per)}" if cap else ""


def _counted(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def _listed(texts: Iterable[str]) -> str:
    return ", ".join(map(quoted, texts))
