"""Numbers, dates, lengths of time, windows, names."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedweir.errors import LanguageError
from feedweir.language.literals import (
    RESERVED,
    count,
    is_number,
    length,
    moment,
    name,
    number,
    time_of,
    variable,
    window,
)
from feedweir.language.tokens import Cursor
from feedweir.plan.predicates import Now
from feedweir.plan.window_lengths import (
    COUNTS,
    UNITS,
    LastItems,
    TimeSpan,
    format_length,
    format_window,
    length_of,
)
from tests.language.generated import windows
from tests.language.refused import error_of, marked, whole


@pytest.mark.parametrize(
    ("text", "value"),
    [("3", 3.0), ("-3", -3.0), ("- 3", -3.0), ("0.25", 0.25), ("1e3", 1000.0), ("2e-1", 0.2)],
)
def test_a_number_may_have_a_sign_and_an_exponent(text: str, value: float) -> None:
    assert whole(number, text) == value


@pytest.mark.parametrize("text", ["x", "'3'", "1e999", "--3", "", "3.5.6", "١"])
def test_what_is_no_number_is_refused(text: str) -> None:
    error = error_of(number, text)
    assert error.message.endswith(("is not a number", "where a number is expected"))
    assert error.expected == ("a number",)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_every_number_is_read_as_what_it_is(value: float) -> None:
    assert whole(number, repr(value).replace("e+", "e")) == value


@pytest.mark.parametrize("text", ["-1", "1.5", "x", "1234567890"])
def test_a_count_is_a_whole_number_of_few_digits(text: str) -> None:
    assert error_of(lambda c: count(c, "how many"), text).expected == ("how many",)


def test_a_count_may_be_none() -> None:
    assert whole(lambda c: count(c, "how many"), "0") == 0


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("3 hours", timedelta(hours=3)),
        ("1.5 h", timedelta(minutes=90)),
        ("90 min", timedelta(minutes=90)),
        ("2 WEEKS", timedelta(weeks=2)),
        ("1 month", timedelta(days=30)),
        ("1 year", timedelta(days=365)),
        ("hour", timedelta(hours=1)),
        ("0 days", timedelta()),
        ("0.000001 seconds", timedelta(microseconds=1)),
        ("1e1 s", timedelta(seconds=10)),
    ],
)
def test_a_length_is_a_number_and_a_unit(text: str, expected: timedelta) -> None:
    assert whole(length, text) == expected


@pytest.mark.parametrize(
    ("text", "message", "left"),
    [
        ("3 moons", "`moons` is not a unit of time", "moons"),
        ("x hours", "`x` is not a length of time", "x hours"),
        ("1e9 years", "this time is too long", "1e9 years"),
        ("1001 years", "this time is too long", "1001 years"),
        ("3", "the text ends where a unit of time is expected", ""),
    ],
)
def test_a_length_that_cannot_be_is_refused(text: str, message: str, left: str) -> None:
    assert error_of(length, text).message == message
    assert marked(length, text) == left


def test_a_unit_that_looks_like_one_is_proposed() -> None:
    assert error_of(length, "3 huors").hint == "did you mean `hours`?"


@pytest.mark.parametrize(("unit", "seconds"), UNITS.items(), ids=UNITS)
def test_every_unit_has_its_seconds(unit: str, seconds: int) -> None:
    assert length_of("2", unit) == timedelta(seconds=2 * seconds)


@pytest.mark.parametrize("number_text", ["x", "NaN", "Infinity", "-1", "1e400", ""])
def test_what_is_no_number_of_units_is_no_length(number_text: str) -> None:
    assert length_of(number_text, "day") is None


@given(st.timedeltas(min_value=timedelta(), max_value=timedelta(days=300_000)))
def test_a_length_reads_back_as_itself(found: timedelta) -> None:
    assert whole(length, format_length(found)) == found


@pytest.mark.parametrize(
    ("found", "text"),
    [
        (timedelta(days=14), "14 days"),
        (timedelta(hours=24), "1 day"),
        (timedelta(hours=25), "25 hours"),
        (timedelta(minutes=1), "1 minute"),
        (timedelta(seconds=61), "61 seconds"),
        (timedelta(), "0 seconds"),
        (timedelta(milliseconds=1500), "1.5 seconds"),
    ],
)
def test_a_length_is_told_in_the_largest_unit_that_divides_it(found: timedelta, text: str) -> None:
    assert format_length(found) == text


@given(windows)
def test_a_window_reads_back_as_itself(found: TimeSpan | LastItems) -> None:
    assert whole(window, format_window(found)) == found


@pytest.mark.parametrize("word", COUNTS)
def test_a_window_may_count_what_it_calls_as_it_likes(word: str) -> None:
    assert whole(window, f"5 {word}") == LastItems(5)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("0 items", "a window of 0 items is always empty"),
        ("0 days", "a window of length 0 is always empty"),
        ("x", "`x` is not a window"),
        ("-3 days", "`-` is not a window"),
        ("2.5 items", "`2.5` is not a number of items"),
        ("", "the text ends where a window is expected"),
    ],
)
def test_a_window_that_holds_nothing_is_refused(text: str, message: str) -> None:
    error = error_of(window, text)
    assert (error.message, error.column) == (message, 1)


def test_a_window_of_the_script_is_known_by_its_name_only() -> None:
    c = Cursor("T1")
    c.windows["T1"] = TimeSpan(timedelta(days=3))
    assert window(c) == TimeSpan(timedelta(days=3))
    assert error_of(window, "T1").hint == "`define window T1 as 30 days;` gives a window a name"


def test_a_window_that_is_called_nearly_so_is_proposed() -> None:
    c = Cursor("quater")
    c.windows["quarter"] = TimeSpan(timedelta(days=90))
    with pytest.raises(LanguageError, match="did you mean `quarter`"):
        window(c)


@pytest.mark.parametrize(
    ("text", "expected", "is_day"),
    [
        ("2020-11-03", datetime(2020, 11, 3, tzinfo=UTC), True),
        ("2020-1-3", datetime(2020, 1, 3, tzinfo=UTC), True),
        ("'2020-11-03'", datetime(2020, 11, 3, tzinfo=UTC), True),
        ("'2020-11-03 14:30'", datetime(2020, 11, 3, 14, 30, tzinfo=UTC), False),
        ("'2020-11-03T14:30:00+02:00'", datetime(2020, 11, 3, 12, 30, tzinfo=UTC), False),
        ("'2020-11-03T14:30:00Z'", datetime(2020, 11, 3, 14, 30, tzinfo=UTC), False),
        ("now", Now(), False),
        ("now - 2 days", Now(-timedelta(days=2)), False),
        ("now-2 days", Now(-timedelta(days=2)), False),
        ("now + 90 minutes", Now(timedelta(minutes=90)), False),
        ("NOW - week", Now(-timedelta(weeks=1)), False),
    ],
)
def test_a_moment_is_a_date_a_time_or_now(text: str, expected: datetime | Now, is_day: bool) -> None:
    assert whole(moment, text) == (expected, is_day)


@pytest.mark.parametrize(
    "text",
    [
        "2020-13-01",
        "2020-02-30",
        "'yesterday'",
        "03.11.2020",
        "'20201'",
        "nowhere",
        "'٢٠٢٠-01-01'",
        "0000-01-01",
    ],
)
def test_what_is_no_moment_is_refused_with_examples(text: str) -> None:
    error = error_of(moment, text)
    assert error.message.endswith("is not a date")
    assert any("2020-11-03" in example for example in error.expected)


@pytest.mark.parametrize("text", ["0001-01-01T00:00:00+23:00", "9999-12-31T23:59:59-23:00"])
def test_a_moment_beyond_all_calendars_is_none(text: str) -> None:
    assert time_of(text) is None


@given(st.datetimes(timezones=st.just(UTC)).map(lambda found: found.replace(fold=0)))
def test_every_moment_reads_back_as_itself(found: datetime) -> None:
    assert time_of(found.isoformat()) == found


@pytest.mark.parametrize("text", ["a", "A-b", "bbc.news", "x:y", "_x", "9gag", "été", "now-then"])
def test_a_plain_name_stands_without_quotes(text: str) -> None:
    assert whole(name, text) == text


@pytest.mark.parametrize("word", sorted(RESERVED))
def test_a_reserved_word_is_a_name_only_between_quotes(word: str) -> None:
    error = error_of(name, word.upper())
    assert error.message == f"`{word.upper()}` is a reserved word"
    assert f"'{word.upper()}'" in error.hint
    assert whole(name, f"'{word}'") == word


@pytest.mark.parametrize(
    ("text", "message"), [("''", "a name cannot be empty"), ("'  '", "a name cannot be empty")]
)
def test_an_empty_name_is_refused(text: str, message: str) -> None:
    assert error_of(name, text).message == message


@pytest.mark.parametrize("text", ["$x", "(", "http://x.y", "=", ""])
def test_what_cannot_be_a_name_is_refused(text: str) -> None:
    error = error_of(lambda c: name(c, "a name for the feed"), text)
    assert error.message.endswith(("is not a name for the feed", "where a name for the feed is expected"))
    assert error.expected == ("a name for the feed",)


def test_a_variable_is_told_without_its_sign() -> None:
    assert whole(variable, "$main") == "main"
    assert whole(variable, "$x_1-b") == "x_1-b"


@pytest.mark.parametrize("text", ["main", "$", "?x", "'$x'"])
def test_what_has_no_dollar_is_no_variable(text: str) -> None:
    assert error_of(variable, text).expected == ("a variable, as in `$r`",)


@pytest.mark.parametrize(
    ("text", "is_one"),
    [("3", True), ("3.5", True), ("-3", False), ("3.", False), ("0x1", False), ("1_0", False)],
)
def test_a_number_is_known_by_its_token(text: str, is_one: bool) -> None:
    assert is_number(text) is is_one
