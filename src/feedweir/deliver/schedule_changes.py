"""Schedules as statements show and change them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from feedweir.errors import SettingsError
from feedweir.language.schedule_clauses import REMOVABLE, format_schedule
from feedweir.schedules import AT_ONCE, PARTS, Schedule, schedule_from_json


def schedule_text(kept: Mapping[str, Any]) -> str:
    """A stored schedule in the words of a statement; one that cannot be read is shown as it is."""
    try:
        return " ".join(format_schedule(schedule_from_json(kept)))
    except SettingsError:
        return str(dict(kept))


def changed_schedule(schedule: Schedule, change: Schedule, without: tuple[str, ...]) -> Schedule:
    """A schedule with the parts of `change`, and without those that are removed."""
    gone = {part: getattr(AT_ONCE, part) for word in without for part in REMOVABLE[word]}
    new = {part: getattr(change, part) for part in PARTS if getattr(change, part) != getattr(AT_ONCE, part)}
    return replace(schedule, **{**gone, **new})
