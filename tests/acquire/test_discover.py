"""Feeds found on a page."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedweir.acquire.fetch.discovery import WELL_KNOWN_PATHS, Confidence, discover, looks_like_html

PAGE = b"""<!doctype html><html><head><base href="/blog/">
<link rel="stylesheet" href="style.css">
<link rel="alternate" type="application/rss+xml" title="All  posts" href="rss.xml">
<LINK REL="Alternate" TYPE="application/atom+xml; charset=utf-8" HREF="//other.example/atom">
<link rel="alternate" hreflang="de" href="/de/">
<link rel="alternate" type="application/json" href="/wp-json/page/1">
<link rel="alternate" type="application/json" href="/feed.json">
<link rel="alternate" type="application/rss+xml" href="">
</head><body>
<a href="/comments/feed/">Comments <b>feed</b></a><a href="/feedback">Feedback</a>
<a href="rss.xml">again</a><a href="/rss.png">icon</a><a href="javascript:rss()">no</a>
</body></html>"""


def test_what_a_page_declares_comes_first_then_its_links_then_the_usual_places() -> None:
    found = discover(PAGE, "https://example.org/about")
    assert [
        (c.url, c.title, c.kind, c.confidence) for c in found if c.confidence is not Confidence.USUAL
    ] == [
        ("https://example.org/blog/rss.xml", "All posts", "RSS", Confidence.DECLARED),
        ("https://other.example/atom", "", "Atom", Confidence.DECLARED),
        ("https://example.org/feed.json", "", "", Confidence.DECLARED),
        ("https://example.org/comments/feed/", "Comments feed", "", Confidence.LINKED),
    ]
    usual = [c.url for c in found if c.confidence is Confidence.USUAL]
    expected = [f"https://example.org{path}" for path in WELL_KNOWN_PATHS if path != "/feed.json"]
    assert usual == expected


def test_every_address_is_named_once() -> None:
    urls = [candidate.url for candidate in discover(PAGE, "https://example.org/")]
    assert len(urls) == len(set(urls))


def test_a_page_of_thousands_of_links_yields_a_bounded_list() -> None:
    page = b"".join(b'<a href="/feed/%d">x</a>' % number for number in range(5000))
    assert len(discover(page, "https://example.org/")) == 50


@given(st.binary(max_size=200), st.text(max_size=30))
def test_no_page_makes_discovery_raise(page: bytes, media_type: str) -> None:
    assert len(discover(page, "https://example.org/", media_type)) >= len(WELL_KNOWN_PATHS)
    discover(b"<html><a href=" + page, "nonsense", f"text/html; charset={media_type}")


@pytest.mark.parametrize(
    ("body", "media_type", "is_page"),
    [
        (b" \n<!DOCTYPE html><html>", "", True),
        (b"\xef\xbb\xbf<HTML>", "application/xml", True),
        (b"<?xml version='1.0'?><html xmlns='x'>", "", True),
        (b"<?xml version='1.0'?><rss><title>&lt;html></title>", "text/html", False),
        (b"<feed>", "text/html", False),
        (b"something", "text/html; charset=x", True),
        (b'{"version": 1}', "application/json", False),
    ],
)
def test_a_page_is_told_from_a_feed(body: bytes, media_type: str, is_page: bool) -> None:
    assert looks_like_html(body, media_type) is is_page
