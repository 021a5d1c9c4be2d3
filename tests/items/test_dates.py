"""Dates of every shape that feeds contain."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from email.utils import format_datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from feedweir.items.dates import all_epoch_us, date_of, epoch_us

NOON = datetime(2020, 11, 10, 12, 34, 56, tzinfo=UTC)
WITHOUT_SECONDS = NOON.replace(second=0)
MIDNIGHT = datetime(2020, 11, 10, tzinfo=UTC)

SHAPES = {
    "Tue, 10 Nov 2020 12:34:56 GMT": NOON,
    "Tue, 10 Nov 2020 13:34:56 +0100": NOON,
    "Tue, 10 Nov 2020 07:34:56 EST": NOON,
    "Tue, 10 Nov 2020 05:34:56 MDT": NOON - timedelta(hours=1),
    "10 Nov 20 12:34 UT": WITHOUT_SECONDS,
    "Fri, 10 Nov 2020 12:34:56 Z": NOON,
    "Tue, 10 November 2020 12:34:56 GMT": NOON,
    "Tuesday, 10-Nov-20 12:34:56 GMT": NOON,
    "Tue,10 Nov 2020 12:34:56 UTC+1": NOON - timedelta(hours=1),
    "Tue, 10 Nov 2020 13:34:56 +01:00": NOON,
    "Tue, 10 Nov 2020 12:34:56 +0000 (UTC)": NOON,
    "Tue, 10 Nov 2020 12:34:56 XYZ": NOON,
    "Tue, 10 Nov 2020": MIDNIGHT,
    "  Tue, 10 Nov 2020 12:34:56\n GMT ": NOON,
    "Tue Nov 10 12:34:56 2020": NOON,
    "Tue Nov 10 13:34:56 CET 2020": NOON,
    "Nov 10, 2020 12:34 PM": WITHOUT_SECONDS,
    "November 10th, 2020": MIDNIGHT,
    "November 10, 2020, 12:34 am": datetime(2020, 11, 10, 0, 34, tzinfo=UTC),
    "2020-11-10T12:34:56Z": NOON,
    "2020-11-10T12:34:56.000Z": NOON,
    "2020-11-10T13:34:56+01:00": NOON,
    "2020-11-10T12:34:56.123456789Z": NOON.replace(microsecond=123456),
    "2020-11-10 12:34:56": NOON,
    "2020-11-10 12:34:56 UTC": NOON,
    "2020-11-10 12:34:56 +0000": NOON,
    "2020-11-10T12:34Z": WITHOUT_SECONDS,
    "2020-11-10": MIDNIGHT,
    "2020-11": datetime(2020, 11, 1, tzinfo=UTC),
    "2020": datetime(2020, 1, 1, tzinfo=UTC),
    "20201110": MIDNIGHT,
    "20201110T123456Z": NOON,
    "2020-315": MIDNIGHT,
    "2020-W46-2": MIDNIGHT,
    "2020/11/10 12:34:56": NOON,
    "11/10/2020 12:34:56 PM": NOON,
    "30/11/2020": datetime(2020, 11, 30, tzinfo=UTC),
    "10.11.2020 12:34": WITHOUT_SECONDS,
    "1605011696": NOON,
    "1605011696000": NOON,
    "1605011696000000": NOON,
    "Di, 10 Nov 2020 12:34:56 GMT": NOON,
    "Di, 10. Dez 2020 13:34:56 MEZ": NOON + timedelta(days=30),
    "mar., 10 févr. 2020 12:34:56 GMT": datetime(2020, 2, 10, 12, 34, 56, tzinfo=UTC),
    "10 de noviembre de 2020": MIDNIGHT,
    "вт, 10 ноя 2020 15:34:56 +0300": NOON,
    "10 listopada 2020": MIDNIGHT,
    "2020年11月10日 12:34": WITHOUT_SECONDS,
    "2020년 11월 10일": MIDNIGHT,
    "Tue, 10 Nov 2020 24:00:00 GMT": MIDNIGHT + timedelta(days=1),
    "Tue, 10 Nov 2020 12:34:60 GMT": NOON + timedelta(seconds=3),
    "Mon, 31 Dec 99 23:59:59 GMT": datetime(1999, 12, 31, 23, 59, 59, tzinfo=UTC),
}


@pytest.mark.parametrize("text", SHAPES)
def test_a_date_of_this_shape_is_read(text: str) -> None:
    assert date_of(text) == SHAPES[text]


NO_DATES = ["", "yesterday", "31 Feb 2020", "2020-13-01", "9" * 17, "12:34", "Nov", "0", "x" * 999, "٣"]


@pytest.mark.parametrize("text", NO_DATES)
def test_what_names_no_moment_is_no_date(text: str) -> None:
    assert date_of(text) is None


moments = st.datetimes(datetime(1970, 1, 1), datetime(2099, 12, 31)).map(lambda at: at.replace(microsecond=0))
zones = st.integers(-12 * 60, 14 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))


@given(moments, zones)
def test_the_standard_formats_are_read_back(moment: datetime, zone: timezone) -> None:
    aware = moment.replace(tzinfo=zone)
    assert date_of(format_datetime(aware)) == aware
    assert date_of(aware.isoformat()) == aware
    assert date_of(aware.isoformat(" ")) == aware
    assert date_of(f"{moment:%a %b %d %H:%M:%S %Y}") == moment.replace(tzinfo=UTC)
    assert epoch_us(str(int(aware.timestamp()))) in (int(aware.timestamp()) * 1_000_000, None)


@given(st.text())
def test_no_text_breaks_the_reader(text: str) -> None:
    date_of(text)


PIECES = [
    "0",
    "1",
    "12",
    "31",
    "2020",
    "20",
    "Nov",
    "mar",
    "-",
    "/",
    ".",
    ":",
    "T",
    "Z",
    "+0100",
    "GMT",
    "PM",
    ",",
    "年",
    "99999",
]


@given(st.lists(st.sampled_from(PIECES)).map(" ".join))
def test_no_pieces_of_dates_break_the_reader(text: str) -> None:
    date_of(text)
    date_of(text.replace(" ", ""))


_CLOCKS = st.sampled_from(["10:00:00", "23:59:59", "24:00:00", "00:60:00", "1:02:03", "10:00"])
_ZONES = st.sampled_from(
    ["GMT", "UTC", "Z", "+0200", "-0930", "+02:00", "-23:59", "+24:00", "", "EST", "+9999", " GMT"]
)


@settings(max_examples=300, deadline=None)
@given(
    st.lists(
        st.builds(
            "{}{} {} {:04} {} {}".format,
            st.sampled_from(["", "Tue, ", "tue, ", "Tuesday, "]),
            st.integers(0, 32),
            st.sampled_from(["Jan", "Feb", "Dec", "feb", "Smarch"]),
            st.integers(0, 9999),
            _CLOCKS,
            _ZONES,
        )
        | st.builds(
            "{:04}-{:02}-{:02}{}{}{}".format,
            st.integers(0, 9999),
            st.integers(0, 13),
            st.integers(0, 32),
            st.sampled_from(["T", " ", "t"]),
            _CLOCKS,
            _ZONES,
        )
        | st.text(max_size=30),
        max_size=8,
    )
)
def test_many_dates_are_read_as_each_would_be(texts: list[str]) -> None:
    assert all_epoch_us(texts) == [epoch_us(text) for text in texts]
