"""A schedule as a value: what the catalog keeps of it reads back, and what cannot be one is refused."""

from __future__ import annotations

import json
from datetime import UTC, datetime, time, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given

from feedweir.errors import SettingsError
from feedweir.schedules import (
    AT_ONCE,
    PARTS,
    QuietHours,
    RateCap,
    Schedule,
    parse_cron,
    schedule_from_json,
    schedule_to_json,
)
from feedweir.schedules.schedule import READERS
from tests.language.generated import schedules


@given(schedules)
def test_a_schedule_reads_back_from_what_is_kept(found: Schedule) -> None:
    kept = json.loads(json.dumps(schedule_to_json(found)))
    assert schedule_from_json(kept) == found


def test_nothing_is_kept_of_a_schedule_that_says_nothing() -> None:
    assert schedule_to_json(AT_ONCE) == {}
    assert schedule_from_json({}) == AT_ONCE


def test_every_part_is_kept_under_one_name() -> None:
    assert [part for part, _ in READERS.values()] != []
    assert {part for part, _ in READERS.values()} == set(PARTS)


@pytest.mark.parametrize(
    ("kept", "expected"),
    [
        ({"every_s": 3600}, Schedule(every=timedelta(hours=1))),
        ({"at": "08:30"}, Schedule(at=(parse_cron("08:30"),))),
        ({"at": ["08:30", "daily"]}, Schedule(at=(parse_cron("08:30"), parse_cron("daily")))),
        ({"quiet": "22:00-07:00"}, Schedule(quiet=(QuietHours(time(22), time(7)),))),
        ({"cap": [4, 3600]}, Schedule(cap=RateCap(4, timedelta(hours=1)))),
        ({"count": 3.0}, Schedule(count=3)),
        ({"mute_until": "2026-08-01"}, Schedule(mute_until=datetime(2026, 8, 1))),
        ({"per_message": 1}, Schedule(per_message=1)),
    ],
)
def test_what_is_kept_may_be_written_shortly(kept: dict[str, Any], expected: Schedule) -> None:
    assert schedule_from_json(kept) == expected


@pytest.mark.parametrize(
    "kept",
    [
        {"every_s": 0},
        {"every_s": 400 * 86_400},
        {"every_s": "often"},
        {"every_s": float("nan")},
        {"at": ["25:00"]},
        {"at": 8},
        {"count": -1},
        {"count": 2.5},
        {"count": True},
        {"zone": "Mars/Olympus"},
        {"zone": "../etc/passwd"},
        {"quiet": ["22:00"]},
        {"quiet": ["22:00-22:00"]},
        {"quiet": ["22:00:30-07:00"]},
        {"quiet": ["22:00-07:00+01:00"]},
        {"mute_until": "tomorrow"},
        {"mute_until": 3},
        {"cap": [0, 3600]},
        {"cap": [4]},
        {"cap": [4, 0]},
        {"per_message": 0},
        {"everys": 3600},
    ],
)
def test_what_cannot_be_a_schedule_is_refused(kept: dict[str, Any]) -> None:
    with pytest.raises(SettingsError):
        schedule_from_json(kept)


def test_a_name_that_is_nearly_right_is_proposed() -> None:
    with pytest.raises(SettingsError) as caught:
        schedule_from_json({"mute_untill": "2026-08-01"})
    assert caught.value.hint == "did you mean `mute_until`?"
    with pytest.raises(SettingsError) as caught:
        schedule_from_json({"zone": "Europe/Pariss"})
    assert "Europe/Paris" in caught.value.hint


@pytest.mark.parametrize(
    ("schedule", "is_immediate"),
    [
        (AT_ONCE, True),
        (Schedule(quiet=(QuietHours(time(22), time(7)),), cap=RateCap(1, timedelta(hours=1))), True),
        (Schedule(every=timedelta(hours=1)), False),
        (Schedule(at=(parse_cron("daily"),)), False),
        (Schedule(count=1), False),
        (Schedule(longest_wait=timedelta(hours=1)), False),
    ],
)
def test_without_a_trigger_entries_go_as_they_come(schedule: Schedule, is_immediate: bool) -> None:
    assert schedule.is_immediate is is_immediate


def test_a_mute_without_an_offset_is_by_the_clock_of_the_zone() -> None:
    paris = Schedule(zone="Europe/Paris", mute_until=datetime(2026, 8, 1, 9))
    assert paris.muted_until == datetime(2026, 8, 1, 7, tzinfo=UTC)
    assert Schedule(mute_until=datetime(2026, 8, 1, 9)).muted_until == datetime(2026, 8, 1, 9, tzinfo=UTC)
    assert paris.clock == ZoneInfo("Europe/Paris")
    assert AT_ONCE.muted_until is None


def test_a_message_carries_a_hundred_entries_unless_it_is_said() -> None:
    assert AT_ONCE.most_per_message == 100
    assert Schedule(per_message=3).most_per_message == 3


@pytest.mark.parametrize(
    ("hours", "text"),
    [(QuietHours(time(22), time(7)), "22:00-07:00"), (QuietHours(time(0), time(0, 5)), "00:00-00:05")],
)
def test_quiet_hours_are_told_as_they_are_written(hours: QuietHours, text: str) -> None:
    assert str(hours) == text
    assert schedule_from_json({"quiet": [text]}).quiet == (hours,)
