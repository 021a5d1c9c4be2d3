"""OPML: nested, tolerant, and nothing of a feed is lost."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from feedweir.acquire.opml import Subscription, merged, read_opml, subscription, write_opml
from feedweir.errors import DocumentError

from .outline_documents import documents, feeds

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
    found = read_opml(SAMPLE)
    assert [(feed.url, feed.title, feed.folders) for feed in found] == [
        ("http://a/?x=1&y=2", "A", ("News", "World")),
        ("http://b/", "B", ("News",)),
        ("http://c/", "C", ()),
    ]
    assert found[0].attributes["custom"] == "kept"


@given(documents)
def test_every_attribute_of_every_feed_is_written_again(text: str) -> None:
    found = read_opml(text.encode())
    assert feeds(write_opml(found)) == feeds(text.encode())


@given(documents)
def test_what_is_written_is_read_again(text: str) -> None:
    once = read_opml(write_opml(merged((), read_opml(text.encode()))))
    assert read_opml(write_opml(once)) == once


@given(documents)
def test_a_document_merged_into_nothing_or_into_itself_is_itself(text: str) -> None:
    alone = merged((), read_opml(text.encode()))
    assert merged(alone, alone) == alone


@given(documents, documents)
def test_merging_loses_no_feed_and_merging_again_changes_nothing(first: str, second: str) -> None:
    old, new = read_opml(first.encode()), read_opml(second.encode())
    both = merged(old, new)
    assert {(feed.folders, feed.url) for feed in both} == {(feed.folders, feed.url) for feed in (*old, *new)}
    assert merged(both, new) == both
    places = [
        both.index(feed) for feed in both if (feed.folders, feed.url) in {(f.folders, f.url) for f in old}
    ]
    assert places == list(range(len(places))), "those of the first document come first"


def test_more_feeds_of_a_folder_join_it_and_the_later_attributes_count() -> None:
    more = read_opml(
        b"<opml><body><outline text='News'><outline text='B!' xmlUrl='http://b/' seen='1'/>"
        b"<!-- more --><outline text='D' xmlUrl='http://d/'/></outline></body></opml>"
    )
    written = write_opml(merged(read_opml(SAMPLE), more))
    news, c = etree.fromstring(written).findall("body/outline")
    assert [one.get("text") for one in news] == ["World", "B!", "D"]
    assert dict(news[1].attrib) == {
        "type": "rss", "text": "B!", "XMLURL": " http://b/ ", "xmlUrl": "http://b/", "seen": "1"
    }  # fmt: skip
    assert c.get("url") == "http://c/"


def test_a_feed_that_moved_says_so_wherever_it_said_its_address() -> None:
    feed = Subscription({"xmlUrl": " http://a/ ", "text": "http://a/", "htmlUrl": "http://a/home"})
    assert feed.moved("https://b/").attributes == {
        "xmlUrl": "https://b/",
        "text": "https://b/",
        "htmlUrl": "http://a/home",
    }


@pytest.mark.parametrize(
    ("attributes", "renamed"),
    [
        ({"text": "A"}, {"text": "B"}),
        ({"text": "A", "title": "A"}, {"text": "B", "title": "B"}),
        ({"text": "A", "title": "long"}, {"text": "B", "title": "long"}),
        ({"TITLE": "A"}, {"TITLE": "B"}),
        ({}, {"text": "B"}),
    ],
)
def test_a_feed_that_was_renamed_says_so_where_it_said_its_title(
    attributes: dict[str, str], renamed: dict[str, str]
) -> None:
    assert Subscription(attributes).renamed("B").attributes == renamed
    assert Subscription(attributes, ("F",)).renamed("B").folders == ("F",)


def test_a_feed_that_no_outline_named_has_what_readers_ask_for() -> None:
    assert subscription("http://d/", "D\x00", "http://site/").attributes == {
        "type": "rss", "text": "D", "title": "D", "xmlUrl": "http://d/", "htmlUrl": "http://site/"
    }  # fmt: skip
    assert subscription("http://d/", "").title == "http://d/"


def test_prefixes_of_attributes_keep_their_namespaces() -> None:
    body = SAMPLE.replace(b'type="rss" text="A"', b'text="A" fw:color="red" undeclared:x="1"')
    (a, *_) = read_opml(write_opml(read_opml(body)))
    assert a.attributes["{urn:x}color"] == "red"
    assert a.attributes["{urn:undeclared:undeclared}x"] == "1"


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
    found = read_opml(body)
    assert found[0].url == "http://a/?x=1&y=2"
    written = etree.fromstring(write_opml(found))
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
    found = read_opml(f"<opml><body>{outline}{others}</body></opml>".encode())
    assert [(feed.url, feed.title) for feed in found] == [("http://a/?x=1&y=2", "A"), ("http://b/", "B")]


def test_what_is_said_before_the_document_is_passed_over() -> None:
    assert read_opml(b"Your feeds:\n" + SAMPLE)[0].url == "http://a/?x=1&y=2"


@pytest.mark.parametrize("body", [b"", b"hello", b"<rss/>", b"\x00\x01", b"<html><body>x</body></html>"])
def test_what_is_no_opml_is_refused_with_a_reason(body: bytes) -> None:
    with pytest.raises(DocumentError, match="not OPML"):
        read_opml(body)


def test_entities_are_put_in_when_they_are_plain_text_and_never_fetched_or_multiplied() -> None:
    bomb = (
        b'<!-- a &me; --><!DOCTYPE o [<!ENTITY me "Ann"><!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;">'
        b'<!ENTITY f SYSTEM "file:///etc/passwd">]>'
    )
    body = bomb + b"<opml><body><outline text='&me;&b;&f;' xmlUrl='http://a/'/></body></opml>"
    (feed,) = read_opml(body)
    assert (feed.url, feed.title) == ("http://a/", "Ann&b;&f;")
    assert b"DOCTYPE" not in write_opml([feed])


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
        assert len(read_opml(body)) == (1 if depth == 200 else 0)


@given(st.binary(max_size=100))
def test_no_bytes_make_it_raise_anything_else(body: bytes) -> None:
    with suppress(DocumentError):
        read_opml(body)
