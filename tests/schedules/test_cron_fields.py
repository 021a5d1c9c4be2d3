"""Tables of times: each field against a reading of it by hand, and what is refused."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from feedweir.errors import SettingsError
from feedweir.schedules import Cron, next_time, parse_cron

NEW_YEAR = datetime(2024, 1, 1, tzinfo=UTC)
BOUNDS = {"minute": (0, 59), "hour": (0, 23), "day": (1, 28), "month": (1, 12), "weekday": (0, 7)}
"""Days that every month has, so that each table comes."""


@st.composite
def parts(draw: st.DrawFn, low: int, high: int) -> tuple[str, set[int]]:
    """A part of a field, and the values it means."""
    start = draw(st.integers(low, high))
    end = draw(st.integers(start, high))
    step = draw(st.integers(1, 30))
    return draw(
        st.sampled_from(
            [
                (str(start), {start}),
                (f"{start}-{end}", set(range(start, end + 1))),
                (f"{start}-{end}/{step}", set(range(start, end + 1, step))),
                (f"{start}-{high}/{step}", set(range(start, high + 1, step))),
            ]
        )
    )


@st.composite
def fields(draw: st.DrawFn, name: str) -> tuple[str, set[int]]:
    low, high = BOUNDS[name]
    some = draw(st.lists(parts(low, high), min_size=1, max_size=3))
    return ",".join(text for text, _ in some), set().union(*(values for _, values in some))


@given(st.fixed_dictionaries({name: fields(name) for name in BOUNDS}))
@settings(max_examples=150, deadline=None)
def test_a_field_is_a_list_of_numbers_ranges_and_steps(drawn: dict[str, tuple[str, set[int]]]) -> None:
    text = " ".join(drawn[name][0] for name in BOUNDS)
    found = parse_cron(text)
    assert set(found.minutes) == drawn["minute"][1]
    assert set(found.hours) == drawn["hour"][1]
    assert found.days == drawn["day"][1]
    assert found.months == drawn["month"][1]
    assert found.weekdays == {day % 7 for day in drawn["weekday"][1]}
    assert list(found.minutes) == sorted(found.minutes)


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("hourly", "0 * * * *"),
        ("@daily", "0 0 * * *"),
        ("Weekly", "0 0 * * mon"),
        ("monthly", "0 0 1 * *"),
        ("08:30", "30 8 * * *"),
        ("8:05 mon-fri", "5 8 * * 1-5"),
        (" 00:00  sat,sun ", "0 0 * * 6,7"),
        ("0 0 1 JAN *", "0 0 1 1 *"),
        ("0 0 * feb-apr Tue", "0 0 * 2-4 2"),
        ("*/15 * * * *", "0,15,30,45 * * * *"),
        ("0 0 * * */2", "0 0 * * 0,2,4,6"),
    ],
)
def test_a_table_has_short_forms_and_names(text: str, same: str) -> None:
    one, other = parse_cron(text), parse_cron(same)
    assert (one.minutes, one.hours, one.days, one.months, one.weekdays) == (
        other.minutes,
        other.hours,
        other.days,
        other.months,
        other.weekdays,
    )
    assert one.text == text


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "'' is not a timetable"),
        ("noon", "'noon' is not a timetable"),
        ("0 0 * *", "'0 0 * *' is not a timetable"),
        ("0 0 * * * *", "'0 0 * * * *' is not a timetable"),
        ("60 0 * * *", "'60' is not a valid minute"),
        ("0 24 * * *", "'24' is not a valid hour"),
        ("0 0 0 * *", "'0' is not a valid day"),
        ("0 0 * 13 *", "'13' is not a valid month"),
        ("0 0 * foo *", "'foo' is not a valid month"),
        ("0 0 * * 8", "'8' is not a valid weekday"),
        ("0 0 * * jan", "'jan' is not a valid weekday"),
        ("5-1 0 * * *", "'5-1' is not a valid minute"),
        ("*/0 0 * * *", "'*/0' is not a valid minute"),
        ("*/x 0 * * *", "'*/x' is not a valid minute"),
        ("1,,2 0 * * *", "'1,,2' is not a valid minute"),
        ("-1 0 * * *", "'-1' is not a valid minute"),
        ("٣ 0 * * *", "'٣' is not a valid minute"),
        ("08:60", "'60' is not a valid minute"),
        ("25:00", "'25' is not a valid hour"),
        ("0 0 30 2 *", "'0 0 30 2 *' never occurs"),
        ("0 0 31 4,6 *", "'0 0 31 4,6 *' never occurs"),
    ],
)
def test_a_table_that_cannot_be_is_refused_with_its_field(text: str, message: str) -> None:
    with pytest.raises(SettingsError) as caught:
        parse_cron(text)
    assert caught.value.message == message


def days_of(cron: Cron, year: int) -> list[date]:
    first = date(year, 1, 1)
    return [day for number in range(366) if cron.has_day(day := first + timedelta(days=number))]


def test_a_day_of_the_month_and_a_weekday_are_either_of_them() -> None:
    found = days_of(parse_cron("0 0 13 * fri"), 2024)
    assert all(day.day == 13 or day.isoweekday() == 5 for day in found)
    assert len(found) > 12 + 40


def test_of_a_day_and_any_weekday_the_day_decides() -> None:
    assert {day.day for day in days_of(parse_cron("0 0 13 * *"), 2024)} == {13}
    assert {day.isoweekday() for day in days_of(parse_cron("0 0 * * fri"), 2024)} == {5}
    assert {day.day for day in days_of(parse_cron("0 0 */10 * mon"), 2024) if day.isoweekday() != 1} == set()


def test_the_29th_of_february_comes_in_leap_years() -> None:
    leap = parse_cron("0 0 29 2 *")
    times = [NEW_YEAR]
    for _ in range(3):
        found = next_time(leap, ZoneInfo("UTC"), times[-1] + timedelta(days=1))
        assert found is not None
        times.append(found)
    assert [time.year for time in times[1:]] == [2024, 2028, 2032]


@pytest.mark.parametrize(
    "zone", ["Asia/Kathmandu", "America/St_Johns", "Pacific/Apia", "Australia/Lord_Howe"]
)
def test_a_time_is_told_by_the_clock_of_its_zone(zone: str) -> None:
    found = next_time(parse_cron("08:30"), ZoneInfo(zone), NEW_YEAR)
    assert found is not None
    assert found.tzinfo is UTC
    assert f"{found.astimezone(ZoneInfo(zone)):%H:%M}" == "08:30"


@given(
    st.sampled_from(["*/20 * * * *", "30 7,19 * * mon-fri", "0 0 1 * *", "15 2 * * *", "0 * * * *"]),
    st.sampled_from(["UTC", "Europe/Paris", "America/New_York", "Australia/Lord_Howe"]),
    st.datetimes(datetime(2023, 1, 1), datetime(2025, 1, 1), timezones=st.just(UTC)),
)
@settings(max_examples=120, deadline=None)
def test_the_next_time_never_goes_back_and_is_its_own_next(
    text: str, zone_name: str, start: datetime
) -> None:
    cron, zone = parse_cron(text), ZoneInfo(zone_name)
    found = next_time(cron, zone, start)
    assert found is not None
    assert found >= start
    assert next_time(cron, zone, found) == found
    later = next_time(cron, zone, found + timedelta(seconds=1))
    assert later is not None
    assert later > found
