"""Documents of every format become items."""

from __future__ import annotations

from datetime import UTC, datetime

import pyarrow as pa
import pytest

from feedweir.acquire.parse.parser import ParsedDocument, parse, parse_batch
from feedweir.errors import DocumentError
from feedweir.items.model import Document, Enclosure, Item
from feedweir.items.numbering import document_number, first_seq
from feedweir.items.schema import DOCUMENT_SCHEMA, ITEM_SCHEMA, items_of

ARRIVED = datetime(2024, 5, 1, 12, tzinfo=UTC)
NAMESPACES = (
    'xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:content="http://purl.org/rss/1.0/modules/content/" '
    'xmlns:media="http://search.yahoo.com/mrss/" xmlns:itunes="http://www.itunes.com/dtds/podcast-1.0.dtd" '
    'xmlns:slash="http://purl.org/rss/1.0/modules/slash/" xmlns:georss="http://www.georss.org/georss" '
    'xmlns:sy="http://purl.org/rss/1.0/modules/syndication/" xmlns:atom="http://www.w3.org/2005/Atom" '
    'xmlns:own="https://example.org/own"'
)


def document(body: str | bytes, *, media_type: str = "", url: str = "", number: int = 1) -> Document:
    data = body.encode() if isinstance(body, str) else body
    return Document(number=number, source="s", url=url, media_type=media_type, arrived=ARRIVED, body=data)


def parsed(body: str | bytes, *, media_type: str = "", url: str = "") -> ParsedDocument:
    return parse(document(body, media_type=media_type, url=url))


def rss(items: str, channel: str = "<title>Feed</title><link>https://example.org/</link>") -> str:
    return f'<?xml version="1.0"?><rss version="2.0" {NAMESPACES}><channel>{channel}{items}</channel></rss>'


def only(body: str | bytes, **more: str) -> Item:
    (item,) = parsed(body, **more).items
    return item


def test_rss_2_with_its_extensions() -> None:
    item = only(
        rss(
            """<item><title>Rain &amp; sun</title><link>https://example.org/1</link>
            <guid isPermaLink="false">g1</guid>
            <description>&lt;p onclick="x"&gt;Wet &lt;a href="/more"&gt;more&lt;/a&gt;&lt;/p&gt;</description>
            <content:encoded><![CDATA[<p>All of it</p>]]></content:encoded>
            <pubDate>Tue, 30 Apr 2024 10:00:00 +0200</pubDate><author>ann@example.org (Ann)</author>
            <dc:creator>Bob</dc:creator><category>weather</category><category domain="x">rain</category>
            <enclosure url="https://example.org/a.mp3" type="audio/mpeg" length="12"/>
            <media:thumbnail url="https://example.org/t.png"/><slash:comments>7</slash:comments>
            <georss:point>1 2</georss:point><own:mood>good</own:mood>
            <comments>https://example.org/c</comments></item>"""
        )
    )
    assert (item.title, item.link, item.identity) == ("Rain & sun", "https://example.org/1", "g1")
    assert item.summary == '<p>Wet <a href="https://example.org/more">more</a></p>'
    assert item.content == "<p>All of it</p>"
    assert item.published == datetime(2024, 4, 30, 8, tzinfo=UTC)
    assert item.authors == ("Ann", "Bob")
    assert item.categories == ("weather", "rain")
    assert item.enclosures == (Enclosure(url="https://example.org/a.mp3", type="audio/mpeg", length=12),)
    assert item.links == ("https://example.org/1", "https://example.org/more", "https://example.org/a.mp3")
    assert item.extensions == (
        ("media:thumbnail", "https://example.org/t.png"),
        ("slash:comments", "7"),
        ("georss:point", "1 2"),
        ("own:mood", "good"),
        ("rss:comments", "https://example.org/c"),
    )
    assert "<own:mood" in item.raw


def test_the_feed_describes_itself() -> None:
    said = parsed(
        rss(
            "",
            """<title>The &lt;b&gt;Feed</title><link>https://example.org/</link><description>About &amp;amp;
            more</description> <language>de</language><ttl>30</ttl><lastBuildDate>Tue, 30 Apr 2024 10:00:00
            GMT</lastBuildDate>
            <image><url>/icon.png</url></image><skipHours><hour>3</hour><hour>24</hour></skipHours>
            <skipDays><day>Sunday</day></skipDays><atom:link rel="hub" href="https://hub.example.org/"/>
            <atom:link rel="self" href="https://example.org/feed"/>""",
        ),
        url="https://example.org/feed.xml",
    ).description
    assert (said.title, said.description, said.link) == ("The Feed", "About & more", "https://example.org/")
    assert (said.language, said.ttl_s, said.icon) == ("de", 1800, "https://example.org/icon.png")
    assert said.updated == datetime(2024, 4, 30, 10, tzinfo=UTC)
    assert (said.hub, said.self_link) == ("https://hub.example.org/", "https://example.org/feed")
    assert (said.skip_hours, said.skip_days) == ((0, 3), (6,))


def test_a_period_of_syndication_is_a_time_to_wait() -> None:
    channel = "<sy:updatePeriod>daily</sy:updatePeriod><sy:updateFrequency>4</sy:updateFrequency>"
    assert parsed(rss("", channel)).description.ttl_s == 21600


RDF = """<?xml version="1.0"?>
<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://purl.org/rss/1.0/"
 xmlns:dc="http://purl.org/dc/elements/1.1/">
<channel rdf:about="https://example.org/"><title>Feed</title><link>https://example.org/</link>
<items><rdf:Seq><rdf:li resource="https://example.org/1"/></rdf:Seq></items></channel>
<item rdf:about="https://example.org/1"><title>One</title><link>https://example.org/1</link>
<description>First</description><dc:date>2024-04-30T10:00:00Z</dc:date><dc:creator>Ann</dc:creator>
<dc:subject>rain</dc:subject></item></rdf:RDF>"""


def test_rss_1_keeps_its_items_beside_the_channel() -> None:
    item = only(RDF)
    assert (item.identity, item.title, item.summary) == ("https://example.org/1", "One", "First")
    assert (item.authors, item.categories) == (("Ann",), ("rain",))
    assert item.published == datetime(2024, 4, 30, 10, tzinfo=UTC)
    assert parsed(RDF).description.title == "Feed"


def test_rss_090_and_091_are_read() -> None:
    rss_090 = RDF.replace("http://purl.org/rss/1.0/", "http://my.netscape.com/rdf/simple/0.9/")
    assert only(rss_090).title == "One"
    rss_091 = """<?xml version="1.0" encoding="ISO-8859-1"?>
    <!DOCTYPE rss PUBLIC "-//Netscape Communications//DTD RSS 0.91//EN" "http://example.org/rss-0.91.dtd">
    <rss
    version="0.91"><channel><title>F</title><item><title>Caf&eacute;</title></item> </channel></rss>"""
    assert only(rss_091).title == "Café"


ATOM = """<feed xmlns="http://www.w3.org/2005/Atom" xml:lang="en" xml:base="https://example.org/blog/">
<title type="html">The &lt;i&gt;Feed&lt;/i&gt;</title><link href="./"/><link rel="self" href="feed.atom"/>
<author><name>Owner</name></author><updated>2024-04-30T10:00:00Z</updated>
<entry><id>tag:example.org,2024:1</id><title>Less &lt; more</title><link href="1"/>
<link rel="enclosure" href="a.mp3" type="audio/mpeg" length="5"/><link rel="via" href="https://other.org/"/>
<category term="rain" label="Rain"/><updated>2024-04-30T10:00:00Z</updated>
<summary>Plain &amp; simple</summary>
<content type="xhtml"><div xmlns="http://www.w3.org/1999/xhtml"><p>Hi <a href="x">x</a></p></div></content></entry>
</feed>"""


def test_atom_1_with_relative_links_under_xml_base() -> None:
    item = only(ATOM)
    assert (item.identity, item.title) == ("tag:example.org,2024:1", "Less < more")
    assert item.link == "https://example.org/blog/1"
    assert item.content == '<div><p>Hi <a href="https://example.org/blog/x">x</a></p></div>'
    assert item.summary == "Plain &amp; simple"
    assert item.authors == ("Owner",)
    assert item.categories == ("Rain",)
    assert item.language == "en"
    assert item.published == item.updated == datetime(2024, 4, 30, 10, tzinfo=UTC)
    assert item.enclosures[0].url == "https://example.org/blog/a.mp3"
    assert "https://other.org/" in item.links
    assert parsed(ATOM).description.title == "The Feed"


def test_atom_03_is_read() -> None:
    item = only(
        """<feed version="0.3" xmlns="http://purl.org/atom/ns#"><title>F</title><entry><title mode="escaped"
        type="text/html">A &amp;lt;b&amp;gt;</title><link rel="alternate" href="https://example.org/1"/><id>i</id>
        <issued>2024-04-30T10:00:00Z</issued><modified>2024-04-30T11:00:00Z</modified>
        <content type="text/html" mode="escaped">&lt;b&gt;x&lt;/b&gt;</content></entry></feed>"""
    )
    assert item.content == "<b>x</b>"
    assert (item.published, item.updated) == (
        datetime(2024, 4, 30, 10, tzinfo=UTC),
        datetime(2024, 4, 30, 11, tzinfo=UTC),
    )


def test_json_feed_is_read() -> None:
    item = only(
        """{"version": "https://jsonfeed.org/version/1.1", "title": "F", "home_page_url": "https://example.org/",
        "authors": [{"name": "Owner"}], "language": "en", "items": [{"id": 7, "url": "/1", "title": "One",
        "content_text": "a < b", "summary": "s", "tags": ["rain"], "date_published": "2024-04-30T10:00:00Z",
        "attachments": [{"url": "https://example.org/a.mp3", "mime_type": "audio/mpeg", "size_in_bytes": 5}],
        "_own": {"mood": "good"}}]}"""
    )
    assert (item.identity, item.link, item.content) == ("7", "https://example.org/1", "a &lt; b")
    assert (item.authors, item.categories, item.language) == (("Owner",), ("rain",), "en")
    assert item.extensions == (("own:mood", "good"),)
    assert item.enclosures[0].length == 5


def test_a_batch_has_the_items_of_its_documents_one_by_one() -> None:
    bodies = [
        rss("<item><title>a</title></item><item><title>b</title></item>"),
        "rubbish",
        ATOM,
        RDF,
        rss(""),
    ]
    numbers = [document_number(3, row) for row in range(len(bodies))]
    batch = documents(bodies, numbers)
    result = parse_batch(batch)
    assert result.items.schema == ITEM_SCHEMA
    expected = []
    for number, body in zip(numbers, bodies, strict=True):
        if body != "rubbish":
            expected += parse(document(body, number=number)).items
    assert list(items_of(result.items)) == expected
    assert [failure[0] for failure in result.failures] == [numbers[1]]
    assert [source for source, _ in result.descriptions] == ["s"] * 4


def documents(bodies: list[str], numbers: list[int]) -> pa.RecordBatch:
    rows = [
        {"number": n, "source": "s", "url": "", "media_type": "", "arrived": ARRIVED, "body": b.encode()}
        for n, b in zip(numbers, bodies, strict=True)
    ]
    return pa.RecordBatch.from_pylist(rows, schema=DOCUMENT_SCHEMA)


def test_the_last_entry_is_the_oldest_and_comes_first() -> None:
    items = parsed(rss("<item><title>new</title></item><item><title>old</title></item>")).items
    assert [item.title for item in items] == ["old", "new"]
    assert [item.seq for item in items] == [first_seq(1), first_seq(1) + 1]


def test_a_batch_without_items_is_an_empty_batch() -> None:
    assert parse_batch(documents([], [])).items.num_rows == 0
    assert parse_batch(documents([rss("")], [1])).items.schema == ITEM_SCHEMA


def test_the_fingerprint_changes_with_what_a_reader_sees_and_with_nothing_else() -> None:
    def fingerprint(item: str) -> int:
        return parse_batch(documents([rss(f"<item>{item}</item>")], [1])).items["fingerprint"][0].as_py()

    before = fingerprint("<title>a</title><guid>g</guid><slash:comments>1</slash:comments>")
    assert (
        fingerprint("<title>a</title><guid>g</guid><slash:comments>2</slash:comments><pubDate>2024</pubDate>")
        == before
    )
    assert fingerprint("<title>b</title><guid>g</guid><slash:comments>1</slash:comments>") != before


def test_a_document_that_is_no_feed_says_why() -> None:
    for body, reason in {
        "": "empty",
        "hello": "not XML",
        "<svg/>": "root element is <svg>",
        "<opml version='2.0'><body/></opml>": "feedweir import URL",
        "{}": "not a feed",
        "{": "not JSON",
        "<!doctype html><title>x</title>": "HTML page",
    }.items():
        with pytest.raises(DocumentError, match=reason):
            parsed(body)


@pytest.mark.parametrize(
    ("page", "hint"),
    [
        (
            '<base href="/posts/"><link rel=alternate type="application/rss+xml" href="feed?a=1&amp;b">',
            "it advertises https://example.org/posts/feed?a=1&b",
        ),
        ('<a href="/all.rss">x</a>', "it advertises no feed, but links to https://example.org/all.rss"),
        ("<p>nothing", "it advertises no feed; a site may have one at https://example.org/feed, "),
    ],
)
def test_an_html_page_names_its_feeds_the_surest_only(page: str, hint: str) -> None:
    with pytest.raises(DocumentError, match="HTML page") as caught:
        parsed(f"<html><head>{page}</html>", url="https://example.org/blog/")
    assert caught.value.hint.startswith(hint)
