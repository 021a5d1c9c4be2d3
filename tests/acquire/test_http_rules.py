"""Header rules: what servers write, what they should not write, and never an exception."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from urllib.parse import urlsplit

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from feedweir.acquire.fetch.http_rules import (
    MAX_SECONDS,
    HeaderLink,
    cache_directives,
    freshness_s,
    header,
    host_of,
    links_of,
    parse_http_date,
    retry_after_s,
    wire_url,
)

NOW = datetime(2024, 5, 1, 12, tzinfo=UTC)
moments = st.datetimes(datetime(1990, 1, 1), datetime(2090, 1, 1)).map(
    lambda moment: moment.replace(microsecond=0, tzinfo=UTC)
)
junk = st.text(max_size=60)


@given(moments)
def test_every_form_of_an_http_date_is_read(moment: datetime) -> None:
    fixed = format_datetime(moment, usegmt=True)
    asctime = moment.strftime("%a %b %d %H:%M:%S %Y")
    assert parse_http_date(fixed) == moment
    assert parse_http_date(asctime) == moment


def test_the_two_digit_years_of_old_servers_are_read() -> None:
    assert parse_http_date("Sunday, 06-Nov-94 08:49:37 GMT") == datetime(1994, 11, 6, 8, 49, 37, tzinfo=UTC)


@given(junk)
@example("Thu, 99 Foo 2024 99:99:99 GMT")
@example("Mon, 01 Jan 99999 00:00:00 +9999")
def test_no_text_makes_a_header_rule_raise(text: str) -> None:
    names = ("cache-control", "expires", "age", "date", "retry-after")
    headers = [(name, text) for name in names]
    assert 0 <= freshness_s(headers, NOW) <= MAX_SECONDS
    wait = retry_after_s(headers, NOW)
    assert wait is None or 0 <= wait <= MAX_SECONDS
    parse_http_date(text)
    links_of(text, "http://example.org/")
    host_of(text)


@given(st.integers(0, 100_000), st.integers(0, 100_000), st.booleans())
def test_max_age_less_age_is_the_freshness(max_age: int, age: int, is_quoted: bool) -> None:
    value = f'public, max-age="{max_age}"' if is_quoted else f"max-age={max_age},must-revalidate"
    headers = [("Cache-Control", value), ("Age", str(age)), ("Expires", "Thu, 01 Jan 2099 00:00:00 GMT")]
    assert freshness_s(headers, NOW) == max(max_age - age, 0)


@given(moments, st.integers(-10_000, 1_000_000))
def test_expires_counts_from_the_servers_own_clock(server: datetime, seconds: int) -> None:
    expires = server + timedelta(seconds=seconds)
    headers = [
        ("Date", format_datetime(server, usegmt=True)),
        ("Expires", format_datetime(expires, usegmt=True)),
    ]
    assert freshness_s(headers, NOW) == max(seconds, 0)


@given(moments, st.integers(-10_000, 1_000_000))
def test_retry_after_is_seconds_or_a_date_on_the_servers_clock(server: datetime, seconds: int) -> None:
    until = format_datetime(server + timedelta(seconds=seconds), usegmt=True)
    dated = [("Date", format_datetime(server, usegmt=True)), ("Retry-After", until)]
    assert retry_after_s(dated, NOW) == max(seconds, 0)
    assert retry_after_s([("retry-after", f" {abs(seconds)} ")], NOW) == abs(seconds)


@pytest.mark.parametrize("value", ["no-cache", "no-store, max-age=600", "max-age=-1", "max-age=x", ""])
def test_what_forbids_or_spoils_caching_means_no_freshness(value: str) -> None:
    assert freshness_s([("Cache-Control", value)], NOW) == 0


@pytest.mark.parametrize("expires", ["0", "-1", "never"])
def test_an_expires_that_is_no_date_is_in_the_past(expires: str) -> None:
    assert freshness_s([("Expires", expires)], NOW) == 0


def test_the_first_of_a_repeated_directive_counts() -> None:
    assert cache_directives("max-age=5, Max-Age=9, private") == {"max-age": "5", "private": ""}


def test_header_names_have_no_case_and_values_keep_their_spelling() -> None:
    headers = [("ETAG", 'W/"a  b"'), ("etag", '"second"')]
    assert header(headers, "ETag") == 'W/"a  b"'


def test_links_of_a_link_header_are_absolute_and_malformed_ones_skipped() -> None:
    value = (
        '<https://hub.example/>; rel="hub", <self.xml>;type="a;b,c";rel=self, <broken; rel=x, <u>; foo=bar'
    )
    assert links_of(value, "http://example.org/feeds/") == (
        HeaderLink("https://hub.example/", ("hub",)),
        HeaderLink("http://example.org/feeds/self.xml", ("self",)),
    )


@pytest.mark.parametrize(
    ("written", "sent"),
    [
        ("HTTP://Example.ORG", "http://example.org/"),
        ("https://example.org/a%2Fb?x=%41#part", "https://example.org/a%2Fb?x=%41"),
        ("http://example.org/a b/ü", "http://example.org/a%20b/%C3%BC"),
        ("http://bücher.example/", "http://xn--bcher-kva.example/"),
        ("feed://example.org/rss", "http://example.org/rss"),
        ("feed:https://example.org/rss", "https://example.org/rss"),
        ("http://user:secret@example.org:8080/x", "http://example.org:8080/x"),
        ("http://[::1]:80/", "http://[::1]:80/"),
    ],
)
def test_an_address_is_sent_as_written_where_that_is_possible(written: str, sent: str) -> None:
    assert wire_url(written) == sent


@pytest.mark.parametrize(
    "text",
    [
        "",
        "example.org",
        "ftp://x/",
        "file:///etc/passwd",
        "http://",
        "http://a b/",
        "http://x:99999/",
        "javascript:0",
    ],
)
def test_what_is_no_web_address_is_none(text: str) -> None:
    assert wire_url(text) is None


@given(st.text(max_size=40), st.sampled_from(["", "http://example.org/a/b?c"]))
def test_an_address_for_the_wire_is_ascii_and_stays_the_same(text: str, base: str) -> None:
    url = wire_url(text, base)
    if url is not None:
        assert url.isascii()
        assert not any(character.isspace() for character in url)
        assert urlsplit(url).scheme in ("http", "https")
        assert wire_url(url) == url
