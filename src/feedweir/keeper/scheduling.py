"""A subscription's schedule: as statements say it, and as the JSON that the catalog keeps and senders read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any

from feedweir.deliver.cron import parse_cron
from feedweir.deliver.policy import policy_of
from feedweir.errors import SettingsError
from feedweir.language.check import refuse
from feedweir.language.schedules import AT_ONCE, PARTS, REMOVABLE, Schedule, format_schedule
from feedweir.language.statements import Place


def kept_schedule(schedule: Schedule) -> dict[str, Any]:
    """What the catalog keeps of a schedule; `policy_of` reads it."""
    written = {
        "every_s": schedule.every and schedule.every.total_seconds(),
        "at": list(schedule.at),
        "count": schedule.count,
        "longest_wait_s": schedule.longest_wait and schedule.longest_wait.total_seconds(),
        "zone": schedule.zone,
        "quiet": list(schedule.quiet),
        "mute_until": schedule.mute_until,
        "cap": schedule.cap and [schedule.cap[0], schedule.cap[1].total_seconds()],
        "per_message": schedule.per_message,
    }
    return {name: value for name, value in written.items() if value}


def told_schedule(kept: Mapping[str, Any]) -> Schedule:
    """The schedule as a statement tells it; SettingsError for JSON that is none."""
    policy_of(kept)
    return Schedule(**{_TOLD[name][0]: _TOLD[name][1](value) for name, value in kept.items()})


def schedule_text(kept: Mapping[str, Any]) -> str:
    """When it goes, as a statement says it; what cannot be read is shown as it is."""
    try:
        return " ".join(format_schedule(told_schedule(kept)))
    except SettingsError:
        return str(dict(kept))


def changed_schedule(schedule: Schedule, change: Schedule, without: tuple[str, ...]) -> Schedule:
    """The parts that `change` has, over those that are there and not taken away."""
    gone = {part: getattr(AT_ONCE, part) for word in without for part in REMOVABLE[word]}
    new = {part: getattr(change, part) for part in PARTS if getattr(change, part) != getattr(AT_ONCE, part)}
    return replace(schedule, **{**gone, **new})


def check_schedule(schedule: Schedule, place: Place | None) -> None:
    """Refuse, where the statement says it, what the language cannot know to be no time."""
    for text in schedule.at:
        try:
            parse_cron(text)
        except SettingsError as error:
            refuse(place, text, error.message, error.hint)
    policy_of(kept_schedule(schedule))


def _length(value: Any) -> timedelta:
    return timedelta(seconds=float(value))


def _texts(value: Any) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else tuple(value)


_TOLD: Mapping[str, tuple[str, Callable[[Any], Any]]] = {
    "every_s": ("every", _length),
    "at": ("at", _texts),
    "count": ("count", int),
    "longest_wait_s": ("longest_wait", _length),
    "zone": ("zone", str),
    "quiet": ("quiet", _texts),
    "mute_until": ("mute_until", str),
    "cap": ("cap", lambda value: (int(value[0]), _length(value[1]))),
    "per_message": ("per_message", int),
}
