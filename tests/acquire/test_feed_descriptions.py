"""What documents say of the feed itself, in every format."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from feedweir.items.model import FeedDescription
from tests.acquire.test_parse import NAMESPACES, parsed


def rss_channel(inside: str) -> FeedDescription:
    return parsed(f"<rss version='2.0' {NAMESPACES}><channel>{inside}</channel></rss>").description


def atom(inside: str) -> FeedDescription:
    return parsed(f'<feed xmlns="http://www.w3.org/2005/Atom" {NAMESPACES}>{inside}</feed>').description


@pytest.mark.parametrize(
    ("inside", "attribute", "value"),
    [
        ("<title>News &amp;amp; views</title>", "title", "News & views"),
        ("<dc:title>News</dc:title>", "title", "News"),
        ("<description>&lt;b&gt;All&lt;/b&gt; there is</description>", "description", "All there is"),
        ("<itunes:summary>All</itunes:summary>", "description", "All"),
        ("<link>https://a.org/</link>", "link", "https://a.org/"),
        ("<atom:link href='https://a.org/'/>", "link", "https://a.org/"),
        ("<atom:link rel='self' href='https://a.org/feed'/>", "self_link", "https://a.org/feed"),
        ("<atom:link rel='hub' href='https://hub.org/'/>", "hub", "https://hub.org/"),
        ("<language>en-GB</language>", "language", "en-GB"),
        ("<image><url>https://a.org/i.png</url></image>", "icon", "https://a.org/i.png"),
        ("<itunes:image href='https://a.org/i.png'/>", "icon", "https://a.org/i.png"),
        ("<lastBuildDate>1 May 2024</lastBuildDate>", "updated", datetime(2024, 5, 1, tzinfo=UTC)),
        ("<pubDate>1 May 2024</pubDate>", "updated", datetime(2024, 5, 1, tzinfo=UTC)),
        ("<ttl>60</ttl>", "ttl_s", 3_600),
        ("<ttl> 60 </ttl>", "ttl_s", 3_600),
        ("<ttl>-60</ttl>", "ttl_s", 0),
        ("<ttl>an hour</ttl>", "ttl_s", 0),
        ("<ttl>99999999999</ttl>", "ttl_s", 31_536_000),
        ("<sy:updatePeriod>daily</sy:updatePeriod>", "ttl_s", 86_400),
        ("<sy:updatePeriod>DAILY</sy:updatePeriod><sy:updateFrequency>4</sy:updateFrequency>", "ttl_s", 21_600),
        ("<sy:updatePeriod>hourly</sy:updatePeriod><sy:updateFrequency>0</sy:updateFrequency>", "ttl_s", 3_600),
        ("<sy:updatePeriod>sometimes</sy:updatePeriod>", "ttl_s", 0),
        ("<ttl>1</ttl><sy:updatePeriod>daily</sy:updatePeriod>", "ttl_s", 60),
        ("<skipHours><hour>0</hour><hour>24</hour><hour>07</hour><hour>25</hour></skipHours>", "skip_hours", (0, 7)),
        ("<skipHours><hour>x</hour></skipHours>", "skip_hours", ()),
        ("<skipDays><day>Sunday</day><day>monday</day><day>Someday</day></skipDays>", "skip_days", (0, 6)),
        ("<item><title>x</title></item>", "title", ""),
    ],
)  # fmt: skip
def test_a_channel_says_this(inside: str, attribute: str, value: object) -> None:
    assert getattr(rss_channel(inside), attribute) == value


@pytest.mark.parametrize(
    ("inside", "attribute", "value"),
    [
        ("<title>News</title>", "title", "News"),
        ("<title type='html'>&lt;b&gt;News&lt;/b&gt;</title>", "title", "News"),
        ("<subtitle>All</subtitle>", "description", "All"),
        ("<subtitle type='html'>&lt;b&gt;All&lt;/b&gt;</subtitle>", "description", "All"),
        ("<tagline>All</tagline>", "description", "All"),
        ("<link href='https://a.org/'/>", "link", "https://a.org/"),
        ("<link rel='alternate' href='https://a.org/'/>", "link", "https://a.org/"),
        ("<link rel='self' href='https://a.org/feed'/>", "self_link", "https://a.org/feed"),
        ("<link rel='hub' href='https://hub.org/'/><link rel='hub' href='https://hub2.org/'/>", "hub",
         "https://hub.org/"),
        ("<icon>https://a.org/i.png</icon>", "icon", "https://a.org/i.png"),
        ("<logo>https://a.org/l.png</logo>", "icon", "https://a.org/l.png"),
        ("<updated>2024-05-01T00:00:00Z</updated>", "updated", datetime(2024, 5, 1, tzinfo=UTC)),
    ],
)  # fmt: skip
def test_a_feed_of_atom_says_this(inside: str, attribute: str, value: object) -> None:
    assert getattr(atom(inside), attribute) == value


def test_the_language_of_a_feed_may_be_an_attribute() -> None:
    body = '<feed xmlns="http://www.w3.org/2005/Atom" xml:lang="de"><entry><id>1</id></entry></feed>'
    found = parsed(body)
    assert found.description.language == "de"
    assert [item.language for item in found.items] == ["de"]


def test_the_authors_of_an_atom_feed_are_those_of_entries_that_name_none() -> None:
    body = (
        '<feed xmlns="http://www.w3.org/2005/Atom"><author><name>Ann</name></author><author><name>Bob</name></author>'
        "<entry><id>1</id></entry><entry><id>2</id><author><name>Eve</name></author></entry></feed>"
    )
    assert [item.authors for item in parsed(body).items] == [("Eve",), ("Ann", "Bob")]


def test_the_editor_of_a_channel_is_no_author() -> None:
    editor = "<managingEditor>a@b.c (Ed)</managingEditor>"
    body = f"<rss version='2.0'><channel>{editor}<item><title>x</title></item></channel></rss>"
    assert parsed(body).items[0].authors == ()


def test_relative_links_of_a_feed_are_relative_to_where_it_was() -> None:
    body = "<rss version='2.0'><channel><link>/</link><image><url>/i.png</url></image></channel></rss>"
    described = parsed(body, url="https://a.org/feeds/rss").description
    assert (described.link, described.icon) == ("https://a.org/", "https://a.org/i.png")
