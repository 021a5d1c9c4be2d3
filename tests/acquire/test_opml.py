"""OPML: nested, tolerant, lossless."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedweir.acquire.opml import Opml, Outline, opml_of, read_opml, subscriptions, write_opml
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
    head=st.lists(st.tuples(st.sampled_from(["title", "ownername"]), names.map(str.strip)), max_size=2).map(
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


def test_feeds_written_by_folder_are_read_back_the_same() -> None:
    found = subscriptions(read_opml(SAMPLE))
    again = subscriptions(read_opml(write_opml(opml_of(found))))
    assert [(f.url, f.title, f.folders, f.categories) for f in again] == [
        (f.url, f.title, f.folders, f.categories) for f in found
    ]
    assert again[0].outline.get("custom") == "kept"


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
