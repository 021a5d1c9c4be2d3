"""OPML: nested, tolerant, lossless."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from feedweir.acquire.opml import Opml, Subscription, read_opml, subscriptions, write_opml
from feedweir.acquire.opml_changes import Today, with_feeds
from feedweir.acquire.opml_union import merged
from feedweir.errors import DocumentError

from .outline_documents import canonical, documents

SAMPLE = b"""<?xml version="1.0" encoding="UTF-8"?>
<!-- mine -->
<opml version="1.1" xmlns:fw="urn:x" fw:own="1">
<head><title>Mine &amp; yours</title><ownerName>Me</ownerName></head><body>
  <outline text="News" fw:color="red">
    <outline text="World" title="The world">
      <outline type="rss" text="A" xmlUrl="http://a/?x=1&amp;y=2" htmlUrl="http://a/" category="/x,y" custom="kept"/>
    </outline>
    <outline type="rss" text="B" XMLURL=" http://b/ "/>
  </outline>
  <outline type="rss" title="C" url="http://c/"/>
  <outline text="a note, no feed"/>
</body></opml>"""


def test_feeds_are_found_at_every_depth_with_their_folders() -> None:
    found = subscriptions(read_opml(SAMPLE))
    assert [(feed.url, feed.title, feed.site, feed.folders, feed.categories) for feed in found] == [
        ("http://a/?x=1&y=2", "A", "http://a/", ("News", "World"), ("/x", "y")),
        ("http://b/", "B", "", ("News",), ()),
        ("http://c/", "C", "", (), ()),
    ]


@given(documents)
def test_whatever_a_document_holds_is_written_again(text: str) -> None:
    opml = read_opml(text.encode())
    assert canonical(write_opml(opml)) == canonical(text.encode())
    assert read_opml(write_opml(opml)) == opml
    assert with_feeds(opml, Today()) == opml


@given(documents)
def test_a_document_merged_into_nothing_or_into_itself_is_itself(text: str) -> None:
    opml = read_opml(text.encode())
    assert merged(Opml(), opml) == opml
    assert merged(opml, opml) == opml


@given(documents, documents)
def test_merging_loses_no_feed_and_merging_again_changes_nothing(first: str, second: str) -> None:
    old, new = read_opml(first.encode()), read_opml(second.encode())
    both = merged(old, new)
    urls = {feed.url for feed in subscriptions(both)}
    assert urls == {feed.url for document in (old, new) for feed in subscriptions(document)}
    assert merged(both, new) == both
    assert read_opml(write_opml(both)) == both


@given(documents, documents)
def test_merging_loses_no_comment_instruction_or_unknown_element_of_either(first: str, second: str) -> None:
    both = merged(read_opml(first.encode()), read_opml(second.encode()))
    written = _oddities(write_opml(both))
    assert written >= _oddities(first.encode()) | _oddities(second.encode())


def _oddities(document: bytes) -> set[tuple[str, str]]:
    """Comments, instructions and elements that are not OPML's, wherever they are outside the head."""
    tree = etree.ElementTree(etree.fromstring(document))
    found = set()
    for node in tree.xpath("//comment()|//processing-instruction()|//*[namespace-uri()]"):
        if not node.xpath("ancestor::head"):
            found.add(
                (str(node.tag), "".join(node.itertext()) if isinstance(node.tag, str) else str(node.text))
            )
    return found


def test_more_feeds_of_a_folder_join_it_and_the_later_attributes_count() -> None:
    more = read_opml(
        b"<opml><body><outline text='News' open='no'><outline text='B' xmlUrl='http://b/' seen='1'/>"
        b"<!-- more --><outline text='D' xmlUrl='http://d/'/></outline></body></opml>"
    )
    written = write_opml(merged(read_opml(SAMPLE), more)).decode()
    assert '<outline text="News" fw:color="red" open="no">' in written
    expected = """
    <outline type="rss" text="B" XMLURL=" http://b/ " xmlUrl="http://b/" seen="1"/>
    <!-- more -->
    <outline text="D" xmlUrl="http://d/"/>
  </outline>
"""
    assert expected in written


def test_prefixes_that_mean_something_else_in_the_second_document_are_renamed() -> None:
    second = (
        b"<o:opml xmlns:o='urn:opml' xmlns:fw='urn:other' xmlns:x='urn:x'><o:body>"
        b"<o:outline text='News' fw:color='blue' x:color='green'/><fw:seen/></o:body></o:opml>"
    )
    root = etree.fromstring(write_opml(merged(read_opml(SAMPLE), read_opml(second))))
    news = root.find("body/outline")
    assert news is not None
    assert dict(news.attrib) == {"text": "News", "{urn:other}color": "blue", "{urn:x}color": "green"}
    assert root.find("body/{urn:other}seen") is not None


def test_feeds_that_moved_or_were_renamed_say_so_those_that_are_gone_are_not_there_and_new_ones_follow() -> (
    None
):
    def now(feed: Subscription) -> Subscription | None:
        if feed.title == "A":
            return replace(feed, url="https://a/", title="A & Z")
        return None if feed.title == "B" else feed

    def folder(path: tuple[str, ...]) -> str:
        return "Globe" if path == ("News", "World") else path[-1]

    opml = with_feeds(
        read_opml(SAMPLE), Today(feed=now, folder=folder), [Subscription(url="http://d/", title="D")]
    )
    assert [feed.url for feed in subscriptions(opml)] == ["https://a/", "http://c/", "http://d/"]
    expected = SAMPLE.decode()
    for old, new in (
        ('text="World"', 'text="Globe"'),
        ('text="A" xmlUrl="http://a/?x=1&amp;y=2"', 'text="A &amp; Z" xmlUrl="https://a/"'),
        ('\n    <outline type="rss" text="B" XMLURL=" http://b/ "/>', ""),
        ('no feed"/>', 'no feed"/>\n  <outline type="rss" text="D" title="D" xmlUrl="http://d/"/>'),
    ):
        assert old in expected
        expected = expected.replace(old, new)
    assert write_opml(opml).decode() == expected + "\n"


def test_what_was_inside_a_feed_that_is_gone_takes_its_place() -> None:
    inside = b"b<!--c--><outline text='kept'/> "
    body = b"<opml><head/><body>a<outline xmlUrl='http://gone/'>" + inside + b"</outline>d</body></opml>"
    assert b'<body>ab<!--c--><outline text="kept"/>d</body>' in write_opml(
        with_feeds(read_opml(body), Today(feed=lambda _: None))
    )


@given(documents, st.sets(st.integers(0, 5)))
def test_only_feeds_go_when_feeds_go(text: str, gone: set[int]) -> None:
    opml = read_opml(text.encode())
    urls = {f"https://h{number}.example/{number}" for number in gone}
    left = with_feeds(opml, Today(feed=lambda feed: None if feed.url in urls else feed))
    assert [feed.url for feed in subscriptions(left)] == [
        f.url for f in subscriptions(opml) if f.url not in urls
    ]
    assert _oddities(write_opml(left)) == _oddities(text.encode())
    assert _text(write_opml(left)) == _text(text.encode())


def _text(document: bytes) -> list[str]:
    return "".join(etree.fromstring(document).itertext()).split()


@pytest.mark.parametrize(
    "body",
    [
        b"\n\n" + SAMPLE,
        b"\xef\xbb\xbf" + SAMPLE,
        SAMPLE.decode().replace("UTF-8", "UTF-16").encode("utf-16"),
        SAMPLE.replace(b"&amp;", b"&"),
        SAMPLE.replace(b"</body></opml>", b""),
        SAMPLE.replace(b"<head>", b"<head><br>"),
        SAMPLE.replace(b'xmlns:fw="urn:x"', b""),
        SAMPLE.replace(b"Mine", b"M\xe9\x00&nbsp;"),
        b"<opml><outline text='x'><outline xmlUrl='http://a/?x=1&amp;y=2'/></outline></opml>",
        b"<body><outline text='x'><outline xmlUrl='http://a/?x=1&amp;y=2'/></outline></body>",
        b"<outline text='x'><outline xmlUrl='http://a/?x=1&amp;y=2'/></outline>",
    ],
)
def test_what_people_really_export_is_read(body: bytes) -> None:
    opml = read_opml(body)
    assert subscriptions(opml)[0].url == "http://a/?x=1&y=2"
    written = etree.fromstring(write_opml(opml))
    assert written.find("body/outline") is not None


@pytest.mark.parametrize(
    "outline",
    [
        "<outline text=A xmlUrl=http://a/?x=1&y=2 folder=F/>",
        "<outline text=A xmlUrl=http://a/?x=1&amp;y=2/>",
        "<outline text='A'xmlUrl='http://a/?x=1&amp;y=2'/>",
        '<outline text="A" hidden xmlUrl="http://a/?x=1&amp;y=2"/>',
        '<outline text="A" text="again" xmlUrl="http://a/?x=1&amp;y=2"/>',
        "<outline text=“A” xmlUrl=“http://a/?x=1&amp;y=2”/>",
    ],
)
def test_attributes_that_are_not_quite_xml_lose_no_feed(outline: str) -> None:
    others = "<!-- a=b --><outline text='B' xmlUrl='http://b/'/>"
    opml = read_opml(f"<opml><body>{outline}{others}</body></opml>".encode())
    found = [(feed.url, feed.title) for feed in subscriptions(opml)]
    assert found == [("http://a/?x=1&y=2", "A"), ("http://b/", "B")]
    assert b"<!-- a=b -->" in write_opml(opml)


def test_what_is_said_before_the_document_is_passed_over() -> None:
    assert subscriptions(read_opml(b"Your feeds:\n" + SAMPLE))[0].url == "http://a/?x=1&y=2"


@pytest.mark.parametrize("body", [b"", b"hello", b"<rss/>", b"\x00\x01", b"<html><body>x</body></html>"])
def test_what_is_no_opml_is_refused_with_a_reason(body: bytes) -> None:
    with pytest.raises(DocumentError, match="not OPML"):
        read_opml(body)


def test_entities_are_put_in_when_they_are_plain_text_and_never_fetched_or_multiplied() -> None:
    bomb = (
        b'<!-- a &me; --><!DOCTYPE o [<!ENTITY me "Ann"><!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;">'
        b'<!ENTITY f SYSTEM "file:///etc/passwd">]>'
    )
    body = (
        bomb
        + b"<opml><head><title>&me;&b;&f;</title></head><body><outline xmlUrl='http://a/'/></body></opml>"
    )
    opml = read_opml(body)
    assert subscriptions(opml)[0].url == "http://a/"
    written = write_opml(opml)
    assert b"<title>Ann&amp;b;&amp;f;</title>" in written
    assert b"<!-- a &me; -->" in written
    assert b"DOCTYPE" not in written


def test_outlines_may_be_nested_deep_and_without_end_they_are_cut() -> None:
    for depth in (200, 5_000):
        inner = b"<outline xmlUrl='http://deep/'/>"
        body = (
            b"<opml><body>"
            + b"<outline text='x'>" * depth
            + inner
            + b"</outline>" * depth
            + b"</body></opml>"
        )
        assert len(subscriptions(read_opml(body))) == (1 if depth == 200 else 0)


@given(st.binary(max_size=100))
def test_no_bytes_make_it_raise_anything_else(body: bytes) -> None:
    with suppress(DocumentError):
        read_opml(body)
