"""When subscriptions are served, as it is written."""

from __future__ import annotations

from datetime import datetime, time, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from feedweir.errors import LanguageError
from feedweir.language import format_statement, parse
from feedweir.language.schedule_clauses import CLAUSES, REMOVABLE, every, format_schedule, schedule
from feedweir.language.statements import AlterSubscription, Subscribe
from feedweir.schedules import AT_ONCE, PARTS, QuietHours, RateCap, Schedule, parse_cron
from tests.language.generated import schedules
from tests.language.refused import error_of, marked, whole

HOUR = timedelta(hours=1)
NIGHT = QuietHours(time(22), time(7))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", AT_ONCE),
        ("every 3 hours", Schedule(every=3 * HOUR)),
        ("every hour", Schedule(every=HOUR)),
        ("at '08:30 mon-fri'", Schedule(at=(parse_cron("08:30 mon-fri"),))),
        ("at '08:30', '0 12 * * sun'", Schedule(at=(parse_cron("08:30"), parse_cron("0 12 * * sun")))),
        ("after 10 items", Schedule(count=10)),
        ("after 1 entry", Schedule(count=1)),
        ("after 1 hour", Schedule(longest_wait=HOUR)),
        ("after hour", Schedule(longest_wait=HOUR)),
        ("after 10 items or 1 hour", Schedule(count=10, longest_wait=HOUR)),
        ("after 1 hour or 10 items", Schedule(count=10, longest_wait=HOUR)),
        ("zone 'Europe/Paris'", Schedule(zone="Europe/Paris")),
        ("quiet '22:00-07:00'", Schedule(quiet=(NIGHT,))),
        ("quiet '22:00-7:00', '12:00 - 12:30'", Schedule(quiet=(NIGHT, QuietHours(time(12), time(12, 30))))),
        ("mute until 2026-08-01", Schedule(mute_until=datetime(2026, 8, 1))),
        ("mute until '2026-08-01 09:00'", Schedule(mute_until=datetime(2026, 8, 1, 9))),
        ("at most 4 messages per hour", Schedule(cap=RateCap(4, HOUR))),
        ("at most 1 message per 2 hours", Schedule(cap=RateCap(1, 2 * HOUR))),
        ("at most 4 per day", Schedule(cap=RateCap(4, timedelta(days=1)))),
        ("at most 20 items per message", Schedule(per_message=20)),
        (
            "at most 20 items per message at '08:30' at most 4 messages per hour every 3 hours",
            Schedule(every=3 * HOUR, at=(parse_cron("08:30"),), cap=RateCap(4, HOUR), per_message=20),
        ),
    ],
)
def test_a_schedule_is_the_value_it_says(text: str, expected: Schedule) -> None:
    assert whole(schedule, text) == expected
    assert whole(schedule, " ".join(format_schedule(expected))) == expected


@given(schedules)
@settings(max_examples=100, deadline=None)
def test_the_clauses_of_a_schedule_say_the_same_in_any_order(found: Schedule) -> None:
    clauses = format_schedule(found)
    assert whole(schedule, " ".join(clauses)) == whole(schedule, " ".join(reversed(clauses))) == found


@pytest.mark.parametrize(
    ("text", "message", "left"),
    [
        ("evry hour", "`evry` is not a part of a schedule", "evry hour"),
        ("every 0 seconds", "this interval is too short", "0 seconds"),
        ("every 0.5 seconds", "this interval is too short", "0.5 seconds"),
        ("every 2 years", "this interval is too long", "2 years"),
        ("every hour every day", "this clause is given twice", "every day"),
        ("after 3 items after 1 hour after 2 items", "this clause is given twice", "after 2 items"),
        ("at 'noon'", "'noon' is not a timetable", "'noon'"),
        ("at '08:30', '25:00'", "'25' is not a valid hour", "'25:00'"),
        ("at '0 0 31 2 *'", "'0 0 31 2 *' never occurs", "'0 0 31 2 *'"),
        ("at 08:30", "`08:30` is not times, as in '08:30 mon-fri' or '0 8 * * 1-5'", "08:30"),
        ("after 0 items", "0 items would never trigger anything", "0 items"),
        ("after 3 or 4", "`3` is neither a number of items nor a length of time", "3 or 4"),
        ("after 1 hour or 2 hours", "`or` combines a number of items with a length of time", "2 hours"),
        ("zone Paris", "`Paris` is not the name of a zone", "Paris"),
        ("zone 'Paris'", "'Paris' is not a time zone", "'Paris'"),
        ("quiet '22-7'", "'22-7' is not a range of hours", "'22-7'"),
        ("quiet '24:00-07:00'", "'24:00-07:00' is not a range of hours", "'24:00-07:00'"),
        ("quiet '07:00-07:00'", "'07:00-07:00' is not a range of hours", "'07:00-07:00'"),
        ("mute 2026-08-01", "`2026-08-01` is not expected here", "2026-08-01"),
        ("mute until '2026-13-01'", "`'2026-13-01'` is not a date", "'2026-13-01'"),
        ("at most 0 items per message", "nothing would ever be sent", "0 items per message"),
        ("at most 4 messages hour", "`hour` is not expected here", "hour"),
        ("at most 4 items per hour", "`hour` is not expected here", "hour"),
        ("at most 4 messages per 2 years", "this interval is too long", "2 years"),
        ("at most many messages per hour", "`many` is not a number", "many messages per hour"),
    ],
)
def test_a_schedule_that_cannot_be_is_refused_at_its_place(text: str, message: str, left: str) -> None:
    assert error_of(schedule, text).message == message
    assert marked(schedule, text) == left


def test_hours_that_leave_no_minute_of_the_day_are_refused_however_many_they_are() -> None:
    whole(schedule, "quiet '00:00-23:59'")
    error = error_of(schedule, "quiet '00:00-12:00', '06:00-18:00', '17:59-00:00'")
    assert "nothing would ever be sent" in error.message
    assert "pause" in error.hint


@pytest.mark.parametrize("word", CLAUSES)
def test_a_clause_that_is_nearly_written_is_proposed(word: str) -> None:
    if len(word) > 2:
        assert f"`{word}`" in error_of(schedule, f"{word[:-1]}q x").hint


def test_an_interval_alone_may_be_as_long_as_one_likes_for_a_source() -> None:
    assert whole(every, "every 3 years") == timedelta(days=3 * 365)
    assert whole(every, "") is None
    assert error_of(every, "every 0.1 seconds").message == "this interval is too short"


def altered(text: str) -> AlterSubscription:
    (found,) = parse(f"alter subscription S {text}")
    assert isinstance(found, AlterSubscription)
    return found


@pytest.mark.parametrize("word", sorted(REMOVABLE))
def test_every_part_that_can_be_set_can_be_taken_away(word: str) -> None:
    found = altered(f"no {word}")
    assert found.without == (word,)
    assert found.schedule == AT_ONCE
    assert set(REMOVABLE[word]) <= set(PARTS)


def test_what_is_taken_away_is_all_that_there_is() -> None:
    one_by_one = {part for word, parts in REMOVABLE.items() if word != "schedule" for part in parts}
    assert one_by_one == set(PARTS) == set(REMOVABLE["schedule"])


def test_a_change_takes_parts_away_and_sets_others() -> None:
    found = altered("no quiet, every 2 hours, no at, mute until 2026-08-01, with backlog")
    assert found.without == ("quiet", "at")
    assert found.schedule == Schedule(every=2 * HOUR, mute_until=datetime(2026, 8, 1))
    assert found.with_backlog is True


def test_a_comma_goes_on_with_the_times_or_with_the_next_change() -> None:
    found = altered("at '08:30', '12:00', quiet '22:00-07:00', zone 'UTC'")
    assert [cron.text for cron in found.schedule.at] == ["08:30", "12:00"]
    assert found.schedule.quiet == (NIGHT,)
    assert found.schedule.zone == "UTC"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("no x", "`x` is not something that `no` can remove"),
        ("no", "the text ends where something that `no` can remove is expected"),
        ("every hour, every day", "this clause is given twice"),
        ("with", "the text ends too early"),
        ("tomorrow", "`tomorrow` is not something that can be changed"),
    ],
)
def test_a_change_of_a_schedule_that_makes_no_sense_is_refused(text: str, message: str) -> None:
    with pytest.raises(LanguageError) as caught:
        altered(text)
    assert caught.value.message == message


def test_a_stream_gives_items_as_they_come_and_takes_no_schedule() -> None:
    (found,) = parse("subscribe to A output stream with backlog")
    assert isinstance(found, Subscribe)
    assert (found.channel, found.target, found.with_backlog) == ("stream", "", True)
    with pytest.raises(LanguageError, match="a stream delivers items as they arrive"):
        parse("subscribe to A output stream at '08:30'")


@given(schedules, st.booleans())
@settings(max_examples=60, deadline=None)
def test_a_subscription_keeps_its_schedule_through_its_text(found: Schedule, with_backlog: bool) -> None:
    subscription = Subscribe("A", "mail", "a@b.c", schedule=found, with_backlog=with_backlog)
    assert parse(format_statement(subscription)) == (subscription,)
