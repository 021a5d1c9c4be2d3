"""Documents as publishers really write them: each oddity with what is read of it all the same."""

from __future__ import annotations

import json
from base64 import b64encode
from datetime import UTC, datetime
from html import unescape

import pytest

from feedweir.acquire.parse.parser import parse
from feedweir.errors import DocumentError
from feedweir.items.model import Document, Item
from feedweir.text.html import text_of

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def items_of(body: str) -> tuple[Item, ...]:
    """The items in the order of the document."""
    document = Document(number=1, source="S", url="https://x.example/f", arrived=NOW, body=body.encode())
    return parse(document).items[::-1]


def rss(*items: str, prolog: str = "") -> str:
    return f"{prolog}<rss version='2.0'><channel><title>F</title>{''.join(items)}</channel></rss>"


def atom(inside: str) -> str:
    entry = f"<entry><id>1</id><title>One</title>{inside}</entry>"
    return f"<feed xmlns='http://www.w3.org/2005/Atom'>{entry}</feed>"


ITEM = "<item><guid>{0}</guid><title>item {0}</title></item>"
TWO = ITEM.format(1) + ITEM.format(2)

WRAPPED = {
    "an HTML doctype": rss(TWO, prolog="<!DOCTYPE html>\n"),
    "an XML declaration and an HTML doctype": rss(
        TWO, prolog="<?xml version='1.0'?>\n<!DOCTYPE html PUBLIC '-//W3C//DTD XHTML 1.0//EN' 'http://x'>"
    ),
    "a page around it": f"<html><head><title>P</title></head><body>{rss(TWO)}</body></html>",
    "a page with a declaration inside": f"<html><body><?xml version='1.0'?>{rss(TWO)}</body></html>",
    "a doctype and a page": f"<!doctype html><html><body><p>Hi<br>{rss(TWO)}</body></html>",
    "a body alone": f"<body>{rss(TWO)}</body>",
}


@pytest.mark.parametrize("name", WRAPPED)
def test_a_feed_in_the_clothes_of_a_page_is_a_feed(name: str) -> None:
    assert [item.title for item in items_of(WRAPPED[name])] == ["item 1", "item 2"]


@pytest.mark.parametrize(
    "page",
    [
        "<!doctype html><html><body><p>no feed</p></body></html>",
        "<!doctype html><html><body><feed-list></feed-list><p>&lt;rss&gt;</p></body></html>",
        "<html><head><script>var a = '<rss version=2.0>'</script></head><body><p>x</p></body></html>",
        "<html><body><pre>" + rss().replace("<", "&lt;") + "</pre></body></html>",
    ],
)
def test_a_page_is_still_a_page(page: str) -> None:
    with pytest.raises(DocumentError, match="HTML page"):
        items_of(page)


SAID = "<p>All the <b>words</b></p>"


@pytest.mark.parametrize(
    "content",
    [
        f"<content type='text/html' mode='base64'>{b64encode(SAID.encode()).decode()}</content>",
        f"<content type='application/octet-stream' mode='base64'>\n{b64encode(SAID.encode()).decode()}\n</content>",
        f"<content type='application/xhtml+xml' mode='base64'>{b64encode(SAID.encode()).decode()}</content>",
    ],
)
def test_base64_of_text_is_read(content: str) -> None:
    (item,) = items_of(atom(content))
    assert item.content == SAID


@pytest.mark.parametrize("content", ["%%%", b64encode(b"\x89PNG\x00\xff\xfe").decode()])
def test_base64_of_no_text_is_no_content(content: str) -> None:
    (item,) = items_of(atom(f"<content type='image/png' mode='base64'>{content}</content>"))
    assert item.content == ""


def test_a_full_item_is_the_content() -> None:
    (item,) = items_of(rss(f"<item><title>t</title><fullitem><![CDATA[{SAID}]]></fullitem></item>"))
    assert item.content == SAID


BOMB = "<!ENTITY a 'ha'>" + "".join(
    f"<!ENTITY {new} '{'&' + old + ';' + '&' + old + ';'}'>"
    for old, new in zip("abcdefghijklmnopqrst", "bcdefghijklmnopqrstu", strict=True)
)
ENTITIES = {
    "<!ENTITY corp 'Acme &amp; Sons'>": "Acme & Sons!",
    '<!ENTITY corp "It&#8217;s">': "It’s!",
    "<!ENTITY corp '<b>Acme</b>'>": "Acme!",
    "<!-- <!ENTITY corp 'no'> --><!ENTITY % p 'x'><!ENTITY corp 'yes'>": "yes!",
}


@pytest.mark.parametrize("declared", ENTITIES)
def test_entities_that_a_document_declares_are_put_in(declared: str) -> None:
    body = rss("<item><title>&corp;!</title><guid>1</guid></item>", prolog=f"<!DOCTYPE rss [{declared}]>")
    assert [item.title for item in items_of(body)] == [ENTITIES[declared]]


@pytest.mark.parametrize(
    "declared", ["<!ENTITY x SYSTEM 'file:///etc/hostname'>", "<!ENTITY x PUBLIC 'p' 'http://127.0.0.1/'>"]
)
def test_entities_from_elsewhere_are_not_expanded(declared: str) -> None:
    body = rss("<item><title>a &x; b</title></item>", prolog=f"<!DOCTYPE rss [{declared}]>")
    assert [item.title for item in items_of(body)] == ["a &x; b"]


@pytest.mark.parametrize("declared", ["<!ENTITY x '&x;'>", "<!ENTITY x '&y;'><!ENTITY y '&x;'>", BOMB])
def test_entities_made_of_others_are_refused(declared: str) -> None:
    with pytest.raises(DocumentError, match="entity bomb"):
        items_of(rss("<item><title>a &x; b</title></item>", prolog=f"<!DOCTYPE rss [{declared}]>"))


def test_many_uses_of_a_long_entity_are_bounded() -> None:
    long = "x" * 5_000
    item = "<item><title>" + "&corp;" * 20_000 + "</title><guid>1</guid></item>"
    (read,) = items_of(rss(item, prolog=f"<!DOCTYPE rss [<!ENTITY corp '{long}'>]>"))
    assert len(read.raw) < 4_000_000


def test_a_link_of_atom_may_be_text() -> None:
    (item,) = items_of(atom("<link> http://x.example/1 </link>"))
    assert item.link == "http://x.example/1"
    (item,) = items_of(atom("<link href='/2'>http://x.example/1</link>"))
    assert item.link == "https://x.example/2"


@pytest.mark.parametrize("reference", ["&#X41;", "&#x41;", "&#65;"])
def test_a_capital_x_refers_to_a_character(reference: str) -> None:
    (item,) = items_of(
        rss(f"<item><title>{reference}BC</title><description>x{reference}</description></item>")
    )
    assert (item.title, item.summary) == ("ABC", "xA")


def test_items_of_feedsync_are_all_there() -> None:
    sync = (
        "<sx:sync id='{}' updates='3' deleted='{}' noconflicts='true'><sx:history sequence='3'/>{}</sx:sync>"
    )
    conflict = "<sx:conflicts><item><title>a conflict</title></item></sx:conflicts>"
    items = [
        f"<item><title>one</title>{sync.format('a', 'false', conflict)}</item>",
        f"<item><title>two</title>{sync.format('b', 'false', '')}</item>",
        f"<item><title>two</title>{sync.format('c', 'false', '')}</item>",
        f"<item><title>gone</title>{sync.format('d', 'true', '')}</item>",
    ]
    body = rss(*items).replace("<rss", "<rss xmlns:sx='http://feedsync.org/2007/feedsync'")
    found = items_of(body)
    assert [(item.identity, item.title) for item in found] == [
        ("a", "one"),
        ("b", "two"),
        ("c", "two"),
        ("d", "gone"),
    ]


WHOLE = [ITEM.format(number) for number in range(6)]


@pytest.mark.parametrize("dialect", ["rss", "atom"])
def test_a_document_that_breaks_off_keeps_every_whole_item(dialect: str) -> None:
    body = rss(*WHOLE)
    if dialect == "atom":
        inside = "".join(f"<entry><id>{n}</id><title>item {n}</title></entry>" for n in range(6))
        body = f"<feed xmlns='http://www.w3.org/2005/Atom'><title>F</title>{inside}</feed>"
    closing = "</item>" if dialect == "rss" else "</entry>"
    first = body.index(closing) + len(closing)
    for end in range(first, len(body)):
        whole = body[:end].count(closing)
        assert [item.title for item in items_of(body[:end])] == [f"item {n}" for n in range(whole)], body[
            :end
        ]


@pytest.mark.parametrize(
    "end",
    ["<item><title>a &am", "<item><description><![CDATA[ <b> </item> ", "<item><link ", "<!-- x </item>"],
)
def test_whatever_it_breaks_off_in(end: str) -> None:
    assert [item.title for item in items_of(rss(TWO).partition("</channel>")[0] + end)] == [
        "item 1",
        "item 2",
    ]


def test_an_item_inside_a_text_does_not_count_for_one() -> None:
    text = "<description>&lt;/item&gt; <![CDATA[</item>]]></description>"
    body = rss(f"<item><title>1</title>{text}</item><item><title>2</title>{text}</item>")
    assert [item.title for item in items_of(body.partition("</channel>")[0])] == ["1", "2"]


SVG = "<svg xmlns='http://www.w3.org/2000/svg'><title>Chart</title><script>bad()</script><text>42 units</text></svg>"
MATH = "<math xmlns='http://www.w3.org/1998/Math/MathML'><mi>x</mi><mo>=</mo><mn>2</mn></math>"
DIV = f"<div xmlns='http://www.w3.org/1999/xhtml'><p>Before</p>{SVG}{MATH}<p>After</p></div>"


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (f"<content type='xhtml'>{DIV}</content>", "Before Chart 42 units x=2 After"),
        (f"<content type='html'><![CDATA[{DIV}]]></content>", "Before Chart 42 units x=2 After"),
        (f"<content type='image/svg+xml'>{SVG}</content>", "Chart 42 units"),
        (f"<content type='application/mathml+xml'>{MATH}</content>", "x=2"),
    ],
)
def test_the_text_of_drawings_and_formulas_is_kept(content: str, words: str) -> None:
    (item,) = items_of(atom(content))
    assert text_of(item.content) == words
    assert "svg" not in item.content


def test_a_page_around_a_feed_may_be_cut_off() -> None:
    whole = f"<html><body>{rss(TWO)}"
    assert [item.title for item in items_of(whole.partition("</channel>")[0])] == ["item 1", "item 2"]


def test_many_parts_share_one_bound_for_declared_entities() -> None:
    part = "&corp;" * 600 + "<![CDATA[ ]]>"
    prolog = f"<!DOCTYPE rss [<!ENTITY corp '{'x' * 2000}'>]>"
    (item,) = items_of(
        rss(f"<item><guid>1</guid><description>{part * 20}</description></item>", prolog=prolog)
    )
    assert len(item.raw) < 2_000_000


def test_the_link_of_an_atom_feed_may_be_text() -> None:
    body = "<feed xmlns='http://www.w3.org/2005/Atom'><link>/home</link><entry><id>1</id></entry></feed>"
    document = Document(number=1, source="S", url="https://x.example/f", arrived=NOW, body=body.encode())
    assert parse(document).description.link == "https://x.example/home"


SCRIPTS = (
    "javascript:alert(1)",
    " JavaScript:alert(1)",
    "java\nscript:alert(1)",
    "vbscript:x",
    "data:text/html,&lt;script>alert(1)&lt;/script>",
)


@pytest.mark.parametrize("script", SCRIPTS)
def test_what_a_browser_would_run_is_no_link(script: str) -> None:
    media = "xmlns:media='http://search.yahoo.com/mrss/' xmlns:itunes='http://www.itunes.com/dtds/podcast-1.0.dtd'"
    said = script.replace("\n", "&#10;")
    documents = [
        rss(
            f"<item {media}><guid isPermaLink='true'>1</guid><title>Data: more, and more</title>"
            f"<link>{said}</link><comments>{said}</comments><enclosure url='{said}' type='a/b' length='1'/>"
            f"<media:content url='{said}'/><media:thumbnail url='{said}'/><itunes:image href='{said}'/>"
            "<itunes:subtitle>Data: more, and more</itunes:subtitle></item>"
        ),
        atom(
            f"<link href='{said}'/><link rel='enclosure' href='{said}'/><link rel='related' href='{said}'/>"
        ),
        json.dumps(
            {
                "version": "https://jsonfeed.org/version/1.1",
                "items": [
                    {
                        "id": "1",
                        "url": unescape(script),
                        "title": "x",
                        "external_url": unescape(script),
                        "attachments": [{"url": unescape(script), "mime_type": "a/b"}],
                    }
                ],
            }
        ),
    ]
    for document in documents:
        (item,) = items_of(document)
        shown = (item.link, item.links, item.enclosures, [value for _, value in item.extensions])
        assert shown[:3] == ("", (), ())
        assert not any("alert" in value or "script" in value for value in shown[3])
    (podcast,) = items_of(documents[0])
    assert dict(podcast.extensions)["itunes:subtitle"] == "Data: more, and more"
