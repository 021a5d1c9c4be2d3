"""Times of XML Schema and W3C-DTF, and dates of feeds that only look like dates."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedweir.text.dates import all_epoch_us, date_of, epoch_us, instant_of


@pytest.mark.parametrize(
    ("text", "instant"),
    [
        ("2024", datetime(2024, 1, 1, tzinfo=UTC)),
        ("2024-05", datetime(2024, 5, 1, tzinfo=UTC)),
        ("2024-05-01", datetime(2024, 5, 1, tzinfo=UTC)),
        ("2024-05-01Z", datetime(2024, 5, 1, tzinfo=UTC)),
        ("2024-05-01+02:00", datetime(2024, 4, 30, 22, tzinfo=UTC)),
        ("2024-05-01T12:30", datetime(2024, 5, 1, 12, 30, tzinfo=UTC)),
        ("2024-05-01T12:30:15", datetime(2024, 5, 1, 12, 30, 15, tzinfo=UTC)),
        ("2024-05-01T12:30:15Z", datetime(2024, 5, 1, 12, 30, 15, tzinfo=UTC)),
        ("2024-05-01T12:30:15.5-05:00", datetime(2024, 5, 1, 17, 30, 15, 500_000, tzinfo=UTC)),
        ("2024-05-01T12:30:15.123456789Z", datetime(2024, 5, 1, 12, 30, 15, 123_456, tzinfo=UTC)),
    ],
)
def test_a_time_of_xml_schema_is_this_instant(text: str, instant: datetime) -> None:
    assert instant_of(text) == instant


@pytest.mark.parametrize(
    "text",
    [
        "", "24", "2024-5-1", "2024-13", "2024-02-30", "2024-05-01 12:30", "2024-05-01T25:00", "2024-05-01T12",
        "2024-05-01T12:30:61", "now", "2024-05-01T12:30+2:00", " 2024", "2024-05-01T12:30:15Z ", "0000",
    ],
)  # fmt: skip
def test_another_text_is_no_instant(text: str) -> None:
    assert instant_of(text) is None


@given(st.datetimes(datetime(1, 1, 2), datetime(9999, 12, 30), timezones=st.just(UTC)))
def test_every_instant_that_python_writes_is_read_back(moment: datetime) -> None:
    assert instant_of(moment.isoformat()) == moment


@given(st.dates())
def test_a_day_begins_at_midnight_in_utc(day: date) -> None:
    assert instant_of(day.isoformat()) == datetime(day.year, day.month, day.day, tzinfo=UTC)


@given(st.datetimes(datetime(1, 1, 2), datetime(9999, 12, 30), timezones=st.just(UTC)))
def test_a_date_and_its_microseconds_are_the_same_moment(moment: datetime) -> None:
    us = epoch_us(moment.isoformat())
    assert us is not None
    assert (
        datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=us) == date_of(moment.isoformat()) == moment
    )


def test_no_texts_are_no_dates() -> None:
    assert all_epoch_us([]) == []
    assert all_epoch_us(["", "nonsense", "a\0b"]) == [None, None, None]


@pytest.mark.parametrize(
    ("text", "year"),
    [("10 Nov 69", 2069), ("10 Nov 70", 1970), ("10 Nov 99", 1999), ("10 Nov 00", 2000)],
)
def test_a_year_of_two_digits_is_of_this_century_or_the_last(text: str, year: int) -> None:
    found = date_of(text)
    assert found is not None
    assert found.year == year


@pytest.mark.parametrize(
    ("text", "month", "day"),
    [
        ("1/2/2020", 1, 2),
        ("13/2/2020", 2, 13),
        ("1.2.2020", 2, 1),
        ("1-2-2020", 2, 1),
        ("12/31/2020", 12, 31),
    ],
)
def test_numbers_with_slashes_are_american_unless_they_cannot_be(text: str, month: int, day: int) -> None:
    found = date_of(text)
    assert found is not None
    assert (found.month, found.day) == (month, day)


@pytest.mark.parametrize(
    "text", ["29 Feb 2023", "31 Apr 2020", "0 Jan 2020", "2020-02-30", "2020-00-10", "32 May 2020"]
)
def test_a_day_that_is_not_in_the_calendar_is_no_date(text: str) -> None:
    assert date_of(text) is None
