"""Headers are read as the standards say, and nonsense never raises."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from feedweir.web.negotiation import http_date, is_same_site, is_unchanged, preferred, takes_gzip

OFFERED = ("text/html", "application/rss+xml", "application/atom+xml")


@pytest.mark.parametrize(
    ("accept", "wanted"),
    [
        ("", "text/html"),
        ("*/*", "text/html"),
        ("application/*", "application/rss+xml"),
        ("application/atom+xml;q=0.9, application/rss+xml;q=0.8", "application/atom+xml"),
        ("text/html;q=0, */*", "application/rss+xml"),
        ("APPLICATION/ATOM+XML", "application/atom+xml"),
        ("application/atom+xml; q = 0.5, text/html;q=0.4", "application/atom+xml"),
        ("application/atom+xml;q=much", "text/html"),
    ],
)
def test_the_best_liked_representation_wins(accept: str, wanted: str) -> None:
    assert preferred(accept, OFFERED) == wanted


@settings(max_examples=60, deadline=None)
@given(st.text(), st.text())
def test_no_header_whatever_raises(first: str, second: str) -> None:
    assert preferred(first, OFFERED) in OFFERED
    takes_gzip(first)
    http_date(first)
    is_unchanged(first, second, ['"a"'], datetime(2026, 1, 1, tzinfo=UTC))
    is_same_site(first, second, None)


def test_gzip_is_taken_only_when_offered() -> None:
    assert takes_gzip("gzip")
    assert takes_gzip("br;q=1, *;q=0.5")
    assert not takes_gzip("")
    assert not takes_gzip("br")
    assert not takes_gzip("gzip;q=0, *")
