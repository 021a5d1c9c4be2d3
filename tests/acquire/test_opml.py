"""OPML: nested, tolerant, lossless."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedweir.acquire.opml import (
    Opml,
    Outline,
    Subscription,
    merged,
    read_opml,
    subscriptions,
    with_feeds,
    write_opml,
)
from feedweir.errors import DocumentError

SAMPLE = b"""<?xml version="1.0" encoding="UTF-8"?>
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

names = st.text(st.characters(codec="utf-8", categories=("L", "N", "P", "Zs")), max_size=12)
attributes = st.dictionaries(
    st.sampled_from(["text", "xmlUrl", "htmlUrl", "title", "x", "y-z", "{urn:x}own"]), names, max_size=4
).map(lambda found: tuple(found.items()))
outlines = st.recursive(
    st.builds(Outline, attributes=attributes),
    lambda children: st.builds(
        Outline, attributes=attributes, children=st.lists(children, max_size=3).map(tuple)
    ),
    max_leaves=8,
)
documents = st.builds(
    Opml,
    head=st.lists(st.tuples(st.sampled_from(["title", "ownerName"]), names.map(str.strip)), max_size=2).map(
        tuple
    ),
    outlines=st.lists(outlines, max_size=4).map(tuple),
)


def test_feeds_are_found_at_every_depth_with_their_folders() -> None:
    found = subscriptions(read_opml(SAMPLE))
    assert [(feed.url, feed.title, feed.site, feed.folders, feed.categories) for feed in found] == [
        ("http://a/?x=1&y=2", "A", "http://a/", ("News", "World"), ("/x", "y")),
        ("http://b/", "B", "", ("News",), ()),
        ("http://c/", "C", "", (), ()),
    ]


@given(documents)
def test_what_is_written_is_read_back_with_every_attribute(opml: Opml) -> None:
    assert read_opml(write_opml(opml)) == opml


def test_unknown_attributes_and_outlines_survive_a_round_trip() -> None:
    opml = read_opml(SAMPLE)
    assert read_opml(write_opml(opml)) == opml
    assert b"custom" in write_opml(opml)
    assert b"a note, no feed" in write_opml(opml)


@given(documents)
def test_a_document_merged_into_nothing_or_into_itself_is_itself(opml: Opml) -> None:
    assert merged(Opml(), opml) == opml
    assert merged(opml, opml) == opml
    assert with_feeds(opml, lambda url: url) == opml


@given(documents, documents)
def test_merging_loses_no_feed_and_merging_again_changes_nothing(old: Opml, new: Opml) -> None:
    both = merged(old, new)
    urls = {feed.url for feed in subscriptions(both)}
    assert urls == {feed.url for document in (old, new) for feed in subscriptions(document)}
    assert merged(both, new) == both


def test_more_feeds_of_a_folder_join_it_and_the_later_attributes_count() -> None:
    more = read_opml(
        b"<opml><body><outline text='News' open='no'><outline text='B' xmlUrl='http://b/' seen='1'/>"
        b"<outline text='D' xmlUrl='http://d/'/></outline></body></opml>"
    )
    found = merged(read_opml(SAMPLE), more)
    news = found.outlines[0]
    assert [child.get("text") for child in news.children] == ["World", "B", "D"]
    assert news.get("open") == "no"
    assert news.children[1].get("seen") == "1"


def test_feeds_that_moved_are_written_where_they_are_those_that_are_gone_are_not_and_new_ones_follow() -> (
    None
):
    where = {"http://a/?x=1&y=2": "https://a/", "http://b/": None}
    opml = with_feeds(
        read_opml(SAMPLE), lambda url: where.get(url, url), [Subscription(url="http://d/", title="D")]
    )
    assert [feed.url for feed in subscriptions(opml)] == ["https://a/", "http://c/", "http://d/"]
    assert subscriptions(opml)[0].outline.get("custom") == "kept"
    assert opml.outlines[2].get("text") == "a note, no feed"


@pytest.mark.parametrize(
    "body",
    [
        b"\n\n" + SAMPLE,
        SAMPLE.replace(b"&amp;", b"&"),
        SAMPLE.replace(b"</body></opml>", b""),
        SAMPLE.replace(b"<head>", b"<head><br>"),
        b"<opml><outline text='x'><outline xmlUrl='http://a/?x=1&amp;y=2'/></outline></opml>",
    ],
)
def test_what_people_really_export_is_read(body: bytes) -> None:
    assert subscriptions(read_opml(body))[0].url == "http://a/?x=1&y=2"


@pytest.mark.parametrize("body", [b"", b"hello", b"<rss/>", b"\x00\x01", b"<html><body>x</body></html>"])
def test_what_is_no_opml_is_refused_with_a_reason(body: bytes) -> None:
    with pytest.raises(DocumentError, match="not OPML"):
        read_opml(body)


def test_entities_are_neither_expanded_nor_fetched() -> None:
    bomb = b'<!DOCTYPE o [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;"><!ENTITY f SYSTEM "file:///etc/passwd">]>'
    body = bomb + b"<opml><head><title>&b;&f;</title></head><body><outline xmlUrl='http://a/'/></body></opml>"
    opml = read_opml(body)
    assert subscriptions(opml)[0].url == "http://a/"
    assert b"root:" not in write_opml(opml)


def test_outlines_nested_without_end_are_cut() -> None:
    body = b"<opml><body>" + b"<outline text='x'>" * 200 + b"</outline>" * 200 + b"</body></opml>"
    assert read_opml(body).outlines


@given(st.binary(max_size=100))
def test_no_bytes_make_it_raise_anything_else(body: bytes) -> None:
    with suppress(DocumentError):
        read_opml(body)
