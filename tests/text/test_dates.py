"""Dates of every shape that feeds contain."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from email.utils import format_datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from feedweir.text.date_names import _MONTHS, MONTHS, folded
from feedweir.text.dates import all_epoch_us, date_of, epoch_us

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
    "Tue Nov 10 07:34:56 -0500 2020": NOON,
    "Tue Nov 10 14:34:56 UTC+0200 2020": NOON,
    "2020-11-10 07:34:56 -0500 EST": NOON,
    "2020-11-10 12:34:56 +0000 BST": NOON,
    "12:34 - 10 Nov 2020": WITHOUT_SECONDS,
    "12:34, 10-11-2020": WITHOUT_SECONDS,
    "Tue, 10 Nov 2020 12:34:56 GMT-0500 (EST)": NOON + timedelta(hours=5),
    "mar 10 nov 2020 12:34:56": NOON,
    "10 mai 2020": datetime(2020, 5, 10, tzinfo=UTC),
    "Κυρ, 10 Μαϊ 2020 12:34:56 GMT": datetime(2020, 5, 10, 12, 34, 56, tzinfo=UTC),
    "10 ΜΑΪΟΥ 2020": datetime(2020, 5, 10, tzinfo=UTC),
    "10 Μάι 2020": datetime(2020, 5, 10, tzinfo=UTC),
    "10 Νοε 2020 12:34 μμ": WITHOUT_SECONDS,
    "10 Νοεμβρίου 2020, 12:34 π.μ.": MIDNIGHT + timedelta(minutes=34),
    "10 KASIM 2020": MIDNIGHT,
    "٢٠٢٠-١١-١٠T١٢:٣٤:٥٦Z": NOON,
    "١٠ نوفمبر ٢٠٢٠ ١٢:٣٤:٥٦": NOON,
    "١٠‏/١١‏/٢٠٢٠، ٣:٣٤ م": datetime(2020, 10, 11, 15, 34, tzinfo=UTC),
    "۲۰۲۰/۱۱/۱۰ ۱۲:۳۴:۵۶": NOON,
    "१० Nov २०२० १२:३४:५६ GMT": NOON,
    "２０２０年１１月１０日 １２：３４": WITHOUT_SECONDS,
    "2020年11月10日 下午12:34": WITHOUT_SECONDS,
    "2020-11-10 오후 3:34:56": NOON + timedelta(hours=3),
    "2020-11-10 오전 12:34": MIDNIGHT + timedelta(minutes=34),
    "10 nov 2020 3:34 p. m.": WITHOUT_SECONDS + timedelta(hours=3),
    "Nov 10, 2020 3:34p": WITHOUT_SECONDS + timedelta(hours=3),
}


@pytest.mark.parametrize("text", SHAPES)
def test_a_date_of_this_shape_is_read(text: str) -> None:
    assert date_of(text) == SHAPES[text]


NO_DATES = [
    "",
    "yesterday",
    "31 Feb 2020",
    "2020-13-01",
    "9" * 17,
    "12:34",
    "Nov",
    "0",
    "x" * 999,
    "٣",
    "۱۴۰۳/۰۵/۰۱",
    "๑๐/๑๑/๒๕๖๓",
]


@pytest.mark.parametrize("text", NO_DATES)
def test_what_names_no_moment_is_no_date(text: str) -> None:
    assert date_of(text) is None


ZONES = {
    "UT GMT UTC Z WET +0000 -0000 GMT+0 UTC+00:00": 0,
    "EST -0500 UTC-05:00 UTC-5 GMT-0500": -5,
    "EDT AST -04:00": -4,
    "CST MDT -0600": -6,
    "CDT ET": -5,
    "MST PDT -0700 MT": -7,
    "PST AKDT PT": -8,
    "AKST HADT": -9,
    "HST HAST -1000": -10,
    "NST -0330": -3.5,
    "ADT BRT ART": -3,
    "BST CET WEST MEZ GMT+1 UTC+01": 1,
    "CEST EET SAST MESZ GMT+2 GMT+02:00": 2,
    "EEST MSK EAT TRT +0300": 3,
    "IST +0530 +05:30 +5:30 GMT+5:30": 5.5,
    "PKT": 5,
    "SGT HKT AWST MYT PHT +0800": 8,
    "JST KST": 9,
    "ACST +0930": 9.5,
    "AEST": 10,
    "ACDT": 10.5,
    "AEDT": 11,
    "NZST": 12,
    "NZDT +1300": 13,
    # The sign of the military letters was defined wrongly: they mean -0000.
    "A B C D E F G H I K L M N O P Q R S T U V W X Y a p m": 0,
}
ZONE_NAMES = [(zone, hours) for zones, hours in ZONES.items() for zone in zones.split()]


@pytest.mark.parametrize(("zone", "hours"), ZONE_NAMES)
@pytest.mark.parametrize(("clock", "hour"), [("03:34:56", 3), ("12:34:56", 12), ("23:34:56", 23)])
def test_a_clock_is_in_the_zone_that_stands_behind_it(clock: str, hour: int, zone: str, hours: float) -> None:
    moment = MIDNIGHT + timedelta(hours=hour - hours, minutes=34, seconds=56)
    for text in ("Tue, 10 Nov 2020 {} {}", "2020-11-10 {} {}", "2020-11-10T{} {}", "Tue Nov 10 {} {} 2020"):
        assert date_of(text.format(clock, zone)) == moment, text
    assert date_of(f"10 Nov 2020 {clock} ({zone})") == moment


@pytest.mark.parametrize(("zone", "hours"), ZONE_NAMES)
@pytest.mark.parametrize(
    ("clock", "hour"),
    [("3:34 AM", 3), ("12:34 am", 0), ("12:34 PM", 12), ("3:34PM", 15), ("3:34 p.m.", 15), ("3:34 A. M.", 3)],
)
def test_a_half_of_the_day_may_stand_before_the_zone(clock: str, hour: int, zone: str, hours: float) -> None:
    moment = MIDNIGHT + timedelta(hours=hour - hours, minutes=34)
    assert date_of(f"Tue, 10 Nov 2020 {clock} {zone}") == moment
    assert date_of(f"11/10/2020 {clock} {zone}") == moment


@pytest.mark.parametrize(
    ("clock", "hour"), [("3 AM", 3), ("12 am", 0), ("12 PM", 12), ("3pm", 15), ("3 p.m.", 15)]
)
def test_an_hour_of_a_half_of_the_day_needs_no_minutes(clock: str, hour: int) -> None:
    moment = MIDNIGHT + timedelta(hours=hour + 8)
    for text in ("Tue, 10 Nov 2020 {} PST", "11/10/2020 {} PST", "Nov 10, 2020, {} PST"):
        assert date_of(text.format(clock)) == moment, text
    assert date_of("10 Nov 2020 3 America") == MIDNIGHT


def test_every_month_has_one_meaning_without_its_accents() -> None:
    pairs = {(folded(name), month) for month, names in enumerate(_MONTHS, 1) for name in names.split()}
    assert len(pairs) == len(MONTHS)


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
