"""The tape says of a document what lxml says, or says nothing."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import etree

from feedweir.acquire.entries import Feed
from feedweir.acquire.lxml_element import LxmlElement
from feedweir.acquire.tape import tape_of
from feedweir.acquire.tape_element import TapeElement
from feedweir.acquire.xml_element import XmlElement
from feedweir.acquire.xml_feed import read_xml_feed
from feedweir.acquire.xml_tree import strictly_parsed
from feedweir.errors import DocumentError

NAMES = [
    "title", "link", "guid", "description", "pubDate", "category", "author", "enclosure", "x", "language", "summary",
    "content", "id", "dc:creator", "dc:date", "content:encoded", "media:content", "media:group", "atom:link",
    "atom:author", "atom:name", "atom:title", "atom:content", "atom:updated", "own:x",
]  # fmt: skip
NAMESPACES = (
    'xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:content="http://purl.org/rss/1.0/modules/content/" '
    'xmlns:media="http://search.yahoo.com/mrss/" xmlns:atom="http://www.w3.org/2005/Atom" '
    "xmlns:own='https://example.org/own?a=1&amp;b=2'"
)
TEXTS = [
    "", " ", "a", "Rain &amp; sun", "&lt;b&gt;x&lt;/b&gt; ", "<![CDATA[<p>all &amp; ]] of it</p>]]>", "\r\n a\rb  c\n",
    "é\u00a0", "\u3000x", "&#233;&#x20AC;&#10;", "&#10; a", "https://a.org/1", "/relative", "2024-04-30T10:00:00+02:00",
    "Tue, 30 Apr 2024 10:00:00 GMT", "<!-- not --><![CDATA[]]>", "&apos;&quot;&gt;", "a]b]]c", "mail@a.org (Ann)", "\t",
]  # fmt: skip
ATTRIBUTES = [
    "", ' type="html"', " type='text'", ' rel="self" href="https://a.org/self"', ' href="/b?a=1&amp;b=2"',
    ' url="https://a.org/f.mp3" length="12"', ' isPermaLink="false"', ' xml:base="https://b.org/c/"', ' xml:lang="de"',
    ' xmlns:own="urn:other"', ' xmlns="http://www.w3.org/2005/Atom"', ' value = "a\nb\t&#10;c"', ' xmlns=""',
    ' term="t" own:label="l"', ' type="xhtml"', ' src="/s"',
]  # fmt: skip

DAMAGE = [*"<>&/\"'=:; !-[]?#x", "\x00", "\x0b", "\ufffe", "é", "xmlns", "]]>", "<a>", "&#x0;", "&nbsp;"]


def element(inside: st.SearchStrategy[str], names: list[str] = NAMES) -> st.SearchStrategy[str]:
    parts = st.tuples(st.sampled_from(names), st.sampled_from(ATTRIBUTES), st.lists(inside, max_size=3))
    return parts.map(lambda part: f"<{part[0]}{part[1]}>{''.join(part[2])}</{part[0]}>")


text = st.sampled_from(TEXTS)
leaf = element(text) | st.builds("<{}{}/>".format, st.sampled_from(NAMES), st.sampled_from(ATTRIBUTES))
inner = leaf | element(leaf | text)
entry = element(inner, ["item", "item", "atom:entry"]) | st.lists(leaf, max_size=8).map(
    lambda leaves: f"<item>{''.join(leaves)}</item>"
)
document = st.builds(
    "{}<rss{} {}><channel>{}{}</channel></rss>{}".format,
    st.sampled_from(
        ["", '<?xml version="1.0" encoding="utf-8"?>\n', "<!-- a -->\n<?xml-stylesheet href='x'?>"]
    ),
    st.sampled_from(["", ' version="2.0"', ' xml:base="https://a.org/"', ' xml:lang="fr"']),
    st.just(NAMESPACES),
    st.lists(leaf, max_size=4).map("".join),
    st.lists(entry, max_size=5).map("\n".join),
    st.sampled_from(["", "\n", "<!-- z -->"]),
)


def same_element(ours: XmlElement, theirs: XmlElement) -> None:
    assert (ours.key, ours.name, dict(ours.attributes)) == (theirs.key, theirs.name, dict(theirs.attributes))
    assert (ours.text, ours.lead) == (theirs.text, theirs.lead)
    assert without_namespaces(ours.html) == without_namespaces(theirs.html)
    assert canonical(ours.raw) == canonical(theirs.raw)
    assert ours.is_parent == theirs.is_parent
    for one, two in zip(ours, theirs, strict=True):
        same_element(one, two)


def without_namespaces(html: str) -> str:
    """HTML without what every way of cleaning it leaves out: in which order namespaces are declared."""
    return re.sub(r' xmlns(:[a-z]+)?="[^"]*"', "", html)


def canonical(raw: bytes) -> bytes:
    return etree.tostring(etree.fromstring(raw), method="c14n", with_comments=False)


def feed_of(root: XmlElement) -> Feed | str:
    try:
        return read_xml_feed(root, url="https://example.org/feed", has_bases=True, max_items=100)
    except DocumentError as error:
        return str(error)


def same_feed(ours: Feed | str, theirs: Feed | str) -> None:
    if isinstance(ours, str) or isinstance(theirs, str):
        assert ours == theirs
        return
    assert (ours.description, ours.authors) == (theirs.description, theirs.authors)
    for entries in (ours.entries, theirs.entries):
        entries.raw = [canonical(raw) for raw in entries.raw]
        entries.summary = [without_namespaces(html) for html in entries.summary]
        entries.content = [without_namespaces(html) for html in entries.content]
    assert ours.entries == theirs.entries


@settings(max_examples=250, deadline=None)
@given(document)
def test_the_tape_says_what_the_tree_says(body: str) -> None:
    data = body.encode()
    tape, tree = tape_of(data), strictly_parsed(data)
    if tree is None:
        assert tape is None
        return
    assert tape is not None
    same_element(TapeElement(tape, 0), LxmlElement(tree))
    same_feed(feed_of(TapeElement(tape, 0)), feed_of(LxmlElement(tree)))


@settings(max_examples=250, deadline=None)
@given(document, st.lists(st.tuples(st.integers(0, 4000), st.sampled_from(DAMAGE)), min_size=1, max_size=3))
def test_a_damaged_document_has_a_tape_only_if_it_is_still_well_formed(
    body: str, damage: list[tuple[int, str]]
) -> None:
    for place, what in damage:
        place %= len(body)
        body = body[:place] + what + body[place + 1 :]
    data = body.lstrip().encode()
    tape, tree = tape_of(data), strictly_parsed(data)
    if tape is not None:
        assert tree is not None
        same_element(TapeElement(tape, 0), LxmlElement(tree))


@pytest.mark.parametrize(
    "body",
    [
        "<!DOCTYPE a><a/>", "<a><b></a></b>", "<a>&nbsp;</a>", "<a b='1' b='2'/>", "<a b='<'/>", "<a b=1/>", "<a/><b/>",
        "<a>]]></a>", "<a>\x01</a>", "<a>\ufffe</a>", "<a>&#1;</a>", "<x:a/>", "<a x:b='1'/>", "<a><?x?></a>", "<a",
        "<a xmlns:x=''/>", "<a xmlns:x='u' xmlns:y='u' x:b='1' y:b='2'/>", "<a><!-- -- --></a>", "a<b/>", "", "<a>",
        "<é/>", "<a:b:c/>", "</a>", "<![CDATA[x]]>", "<a><![CDATA[x]]</a>", "<a b='1'c='2'/>",
        "<?x?l y?><a/>", "<a>" * 200 + "</a>" * 200, '<?xml version="1.1"?><a/>',
    ],
)  # fmt: skip
def test_what_is_unusual_has_no_tape(body: str) -> None:
    assert tape_of(body.encode()) is None


def test_a_usual_document_has_a_tape() -> None:
    tape = tape_of(
        b"<rss><channel><item><title>a</title></item><item><title>b</title></item></channel></rss>"
    )
    assert tape is not None
    assert [element.shape for element in next(iter(TapeElement(tape, 0)))] == [(3,), (3,)]
