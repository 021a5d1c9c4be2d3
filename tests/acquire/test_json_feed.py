"""JSON Feed, and JSON that nearly is."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from feedweir.acquire.parse.entries import FeedText
from feedweir.acquire.parse.json_feed import read_json_feed
from feedweir.errors import DocumentError
from feedweir.items.model import Enclosure, Item
from tests.acquire.test_parse import only, parsed


def feed(*items: Any, **about: Any) -> str:
    return json.dumps({"version": "https://jsonfeed.org/version/1.1", "items": items, **about})


def item(**said: Any) -> Item:
    return only(feed({"id": "g", **said}), url="https://a.org/feed.json")


@pytest.mark.parametrize(
    ("said", "attribute", "value"),
    [
        ({"title": "Rain &amp; snow"}, "title", "Rain & snow"),
        ({"url": "https://a.org/1"}, "link", "https://a.org/1"),
        ({"url": "/1"}, "link", "https://a.org/1"),
        ({"external_url": "https://b.org/"}, "link", "https://b.org/"),
        ({"url": "/1", "external_url": "https://b.org/"}, "links", ("https://a.org/1", "https://b.org/")),
        ({"content_html": "<p>All</p>"}, "content", "<p>All</p>"),
        ({"content_text": "1 < 2"}, "content", "1 &lt; 2"),
        ({"content_html": "<p>one</p>", "content_text": "other"}, "content", "<p>one</p>"),
        ({"summary": "<b>"}, "summary", "&lt;b&gt;"),
        ({"date_published": "2024-05-01T00:00:00Z"}, "published", datetime(2024, 5, 1, tzinfo=UTC)),
        ({"date_modified": "2024-05-01T00:00:00Z"}, "updated", datetime(2024, 5, 1, tzinfo=UTC)),
        ({"date_published": 12}, "published", None),
        ({"tags": ["rain", "", 7, None, {}]}, "categories", ("rain", "7")),
        ({"tags": "rain"}, "categories", ()),
        ({"authors": [{"name": "Ann"}, {"url": "x"}, "Bob"]}, "authors", ("Ann", "Bob")),
        ({"author": {"name": "Ann"}}, "authors", ("Ann",)),
        ({"authors": [{"name": "Ann"}], "author": {"name": "Ann"}}, "authors", ("Ann",)),
        ({"language": "en"}, "language", "en"),
        ({"image": "https://a.org/i"}, "extensions", (("json:image", "https://a.org/i"),)),
        ({"_mood": "good"}, "extensions", (("json:mood", "good"),)),
        ({"_own": {"mood": "good", "more": {"a": 1}}}, "extensions", (("own:mood", "good"), ("own:more.a", "1"))),
        ({"_tags": ["a", ["b"]]}, "extensions", (("json:tags", "a"), ("json:tags", "b"))),
        ({"_no": True, "_none": None}, "extensions", ()),
        ({"_": "x"}, "extensions", (("json:x", "x"),)),
        ({"attachments": [{"url": "/x.mp3", "mime_type": "audio/mpeg", "size_in_bytes": 5}]}, "enclosures",
         (Enclosure(url="https://a.org/x.mp3", type="audio/mpeg", length=5),)),
        ({"attachments": [{"url": "/x", "size_in_bytes": -1}, {"mime_type": "t"}, "u"]}, "enclosures",
         (Enclosure(url="https://a.org/x"),)),
        ({"attachments": [{"url": "/x", "size_in_bytes": 5.9}]}, "enclosures",
         (Enclosure(url="https://a.org/x", length=5),)),
        ({"attachments": {}}, "enclosures", ()),
        ({"title": "a\u0000b\ud800"}, "title", "ab?"),
    ],
)  # fmt: skip
def test_an_item_says_this(said: dict[str, Any], attribute: str, value: object) -> None:
    assert getattr(item(**said), attribute) == value


@pytest.mark.parametrize(
    ("about", "attribute", "value"),
    [
        ({"title": " News "}, "title", "News"),
        ({"description": "All"}, "description", "All"),
        ({"home_page_url": "https://a.org/"}, "link", "https://a.org/"),
        ({"feed_url": "https://a.org/feed"}, "self_link", "https://a.org/feed"),
        ({"language": "en"}, "language", "en"),
        ({"icon": "i", "favicon": "f"}, "icon", "i"),
        ({"favicon": "f"}, "icon", "f"),
        ({"hubs": [{"type": "WebSub", "url": "https://hub.org/"}]}, "hub", "https://hub.org/"),
        ({"hubs": "https://hub.org/"}, "hub", ""),
        ({"title": 5}, "title", "5"),
        ({"title": ["x"]}, "title", ""),
    ],
)
def test_a_feed_says_this_of_itself(about: dict[str, Any], attribute: str, value: str) -> None:
    assert getattr(parsed(feed(**about)).description, attribute) == value


def test_a_guid_that_leads_to_the_web_stands_in_for_a_link() -> None:
    assert only(feed({"id": "https://a.org/1"})).link == "https://a.org/1"
    assert only(feed({"id": 17, "title": "x"})).identity == "17"


def test_the_authors_of_a_feed_are_those_of_items_that_name_none() -> None:
    found = parsed(feed({"id": "1"}, {"id": "2", "authors": [{"name": "Eve"}]}, authors=[{"name": "Ann"}]))
    assert [one.authors for one in found.items] == [("Eve",), ("Ann",)]


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("{", "not JSON"),
        ('{"items": 5}', "not a feed"),
        ('{"title": "x"}', "not a feed"),
        ("[]", "not a feed"),
        ("[" * 100_000, "not JSON"),
    ],
)
def test_json_that_is_no_feed_is_refused(body: str, message: str) -> None:
    with pytest.raises(DocumentError, match=message):
        parsed(body)


def test_what_is_no_item_is_left_out() -> None:
    assert [one.identity for one in parsed(feed("x", {"id": "1"}, None, 5)).items] == ["1"]


def test_items_beyond_the_limit_are_left_out_with_a_warning() -> None:
    body = feed(*({"id": str(n)} for n in range(5))).encode()
    found = read_json_feed(FeedText(text=body, max_items=3))
    assert len(found.entries) == 3
    assert found.warnings == ("the document has 5 entries: only the first 3 are read",)


values = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
names = st.sampled_from(
    [
        "id",
        "url",
        "title",
        "content_html",
        "tags",
        "authors",
        "author",
        "attachments",
        "date_published",
        "_x",
        "image",
    ]
)


@settings(max_examples=300, deadline=None)
@given(st.lists(st.dictionaries(names, values, max_size=6), max_size=3))
def test_no_values_break_the_reader(items: list[dict[str, Any]]) -> None:
    assert len(parsed(feed(*items)).items) <= len(items)
