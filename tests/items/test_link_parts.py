"""Hosts, domains and openings of links."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from feedweir.items.links import canonical_url, domains_of, host_of, is_host, openings_of


@pytest.mark.parametrize(
    ("url", "canonical"),
    [
        ("http://example.org", "example.org"),
        ("https://example.org/", "example.org"),
        ("http://example.org:80/a", "example.org/a"),
        ("http://example.org:443/a", "example.org:443/a"),
        ("https://example.org:8443/a", "example.org:8443/a"),
        ("HTTPS://EXAMPLE.org/A/B/", "example.org/A/B"),
        ("https://me:secret@example.org/a", "example.org/a"),
        ("https://example.org./a", "example.org/a"),
        ("http://www.org/", "org"),
        ("http://www./", "www"),
        ("  https://example.org/a  ", "example.org/a"),
        ("https://example.org/?a=1&&b=2&", "example.org?a=1&b=2"),
        ("https://example.org/?b=2&a=1", "example.org?b=2&a=1"),
        ("mailto:Ann@Example.org", "mailto:Ann@Example.org"),
        ("ftp://FTP.Example.org/A?b#c", "ftp://ftp.example.org/A?b"),
        ("urn:isbn:1", "urn:isbn:1"),
        ("localhost:8080/feed", "localhost:8080/feed"),
        ("/relative/path/", "relative/path"),
        ("", ""),
        ("#top", ""),
    ],
)
def test_a_url_has_this_one_spelling(url: str, canonical: str) -> None:
    assert canonical_url(url) == canonical


urls = st.builds(
    "{}{}{}{}{}".format,
    st.sampled_from(["http://", "https://", "HTTP://", "//", ""]),
    st.sampled_from(["example.org", "www.example.org", "EXAMPLE.org:8080", "a.b.co.uk", "localhost"]),
    st.sampled_from(["", "/", "/a", "/a/b/", "/a//b"]),
    st.sampled_from(["", "?", "?a=1", "?utm_source=x", "?a=1&fbclid=2&b"]),
    st.sampled_from(["", "#", "#top"]),
)


@settings(max_examples=300, deadline=None)
@given(urls)
def test_the_one_spelling_is_its_own_spelling(url: str) -> None:
    canonical = canonical_url(url)
    assert canonical_url(canonical) == canonical
    assert canonical_url(f"https://{canonical}") == canonical
    assert "#" not in canonical
    assert not canonical.endswith("/")


@settings(max_examples=300, deadline=None)
@given(urls)
def test_openings_are_the_ways_to_a_url_from_its_host_to_itself(url: str) -> None:
    canonical, openings = canonical_url(url), openings_of(url)
    assert openings[-1] == canonical
    assert all(canonical.startswith(opening) for opening in openings)
    assert all(canonical[len(opening)] in "/?&" for opening in openings[:-1])
    assert [len(opening) for opening in openings] == sorted({len(opening) for opening in openings})
    assert openings[0].partition(":")[0] == host_of(url)


def test_openings_stop_at_every_separator() -> None:
    assert openings_of("https://a.org/b/c?d=1&e=2") == (
        "a.org",
        "a.org/b",
        "a.org/b/c",
        "a.org/b/c?d=1",
        "a.org/b/c?d=1&e=2",
    )
    assert openings_of("") == ()


def test_a_hostile_link_has_only_its_first_openings() -> None:
    openings = openings_of("https://a.org/" + "x/" * 100_000 + "end")
    assert len(openings) == 65
    assert openings[1] == "a.org/x"
    assert openings[-1].endswith("/end"), "the link itself is always among them"
    assert len(openings_of("https://a.org/" + "x" * 5_000 + "/y")) == 2


@pytest.mark.parametrize(
    ("url", "host", "domains"),
    [
        ("https://news.bbc.co.uk/1", "news.bbc.co.uk", ("news.bbc.co.uk", "bbc.co.uk", "co.uk", "uk")),
        ("http://www.example.org:8080/", "example.org", ("example.org", "org")),
        ("example.org?x", "example.org", ("example.org", "org")),
        ("http://localhost:3000/x", "localhost", ("localhost",)),
        ("mailto:ann@example.org", "", ()),
        ("/relative", "", ()),
        ("", "", ()),
        ("http://no spaces.org/", "", ()),
        (f"http://{'a' * 300}.org/", "", ()),
    ],
)
def test_a_link_leads_to_this_host_and_these_domains(url: str, host: str, domains: tuple[str, ...]) -> None:
    assert host_of(url) == host
    assert domains_of(url) == domains


@pytest.mark.parametrize(
    "text", ["example.org", " example.org ", "a.b.c", "localhost", "EXAMPLE.ORG:80", "a.org."]
)
def test_this_names_a_host(text: str) -> None:
    assert is_host(text)


@pytest.mark.parametrize(
    "text",
    ["http://example.org", "example.org/", "example", "a..b", "a b.org", "me@example.org", "", "a.org?x"],
)
def test_this_names_no_host(text: str) -> None:
    assert not is_host(text)


def test_long_links_are_spelt_like_short_ones_without_being_kept() -> None:
    long = "https://www.Example.org/" + "x" * 5_000 + "?utm_source=y&a=1#top"
    assert canonical_url(long) == "example.org/" + "x" * 5_000 + "?a=1"
