"""One spelling for each URL."""

from __future__ import annotations

import pytest

from feedweir.items.links import canonical_url


@pytest.mark.parametrize(
    "url",
    [
        "https://WWW.Example.org:443/a/?id=7#top",
        "http://example.org/a?utm_source=rss&id=7&utm_medium=feed",
        "https://example.org/a?id=7&at_medium=RSS&at_campaign=KARANGA",
        "https://example.org/a?id=7&xtor=RSS-16",
        "https://example.org/a?pk_campaign=rss&id=7",
        "https://example.org/a?id=7&msclkid=1&_hsenc=p2&mc_cid=3&FBCLID=4&igsh=5&igshid=6&gbraid=7",
        "//example.org/a?id=7",
        "example.org/a/?id=7&",
    ],
)
def test_ways_to_one_page_are_one_link(url: str) -> None:
    assert canonical_url(url) == "example.org/a?id=7"


@pytest.mark.parametrize(
    "query",
    [
        "ref=rss",
        "source=rss",
        "pk=7",
        "at_home=yes",
        "utm=1",
        "igs=1",
        "xtorx=1",
        "ns_page=2",
        "a=utm_source",
    ],
)
def test_what_may_mean_something_to_a_page_stays(query: str) -> None:
    assert canonical_url(f"https://example.org/a?{query}") == f"example.org/a?{query}"
