"""What is rendered can be read back exactly, by readers of XML and JSON that know nothing of feeds."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from html import unescape
from urllib.parse import urlsplit

import pytest
from hypothesis import given, settings
from lxml import etree

from feedweir.deliver.address import Address
from feedweir.deliver.render.entry_id import entry_id
from feedweir.deliver.render.formats import Format, render
from feedweir.deliver.render.plain import excerpt, plain_text, rfc822, rfc3339
from feedweir.deliver.render.rss import guarded
from feedweir.deliver.render.view import EntryView, FeedView
from feedweir.items.model import Item
from feedweir.text.xml_characters import legal
from tests.deliver.nasty_items import items, nasty_text, views

HERE = Address("http://weir.example")
ATOM = "{http://www.w3.org/2005/Atom}"
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
DC = "{http://purl.org/dc/elements/1.1/}"
ENCODED = "{http://purl.org/rss/1.0/modules/content/}encoded"


def texts(element: etree._Element, tag: str) -> list[str]:
    return [found.text or "" for found in element.findall(tag)]


def kept(values: tuple[str, ...]) -> list[str]:
    return [legal(value) for value in values if legal(value)]


@settings(max_examples=40, deadline=None)
@given(views())
def test_the_same_view_gives_the_same_bytes_and_they_are_utf8(view: FeedView) -> None:
    for format in Format:
        body = render(view, format, HERE)
        assert body == render(view, format, HERE)
        assert legal(body.decode()) == body.decode()


@settings(max_examples=40, deadline=None)
@given(views())
def test_rss_carries_every_attribute_exactly(view: FeedView) -> None:
    channel = etree.fromstring(render(view, Format.RSS, HERE)).find("channel")
    assert channel is not None
    assert channel.findtext("link") == (view.home_link or HERE.page(view.name))
    elements = channel.findall("item")
    assert len(elements) == len(view.entries)
    for element, entry in zip(elements, view.entries, strict=True):
        item = entry.item
        assert texts(element, "link") == kept((item.link,))
        assert texts(element, "description") == kept((item.summary,))
        assert texts(element, ENCODED) == kept((item.content,))
        assert texts(element, f"{DC}creator") == kept(item.authors)
        assert texts(element, "category") == kept(item.categories)
        assert texts(element, "guid") == [entry_id(item)]
        assert texts(element, "pubDate") == ([rfc822(item.published)] if item.published else [])
        assert texts(element, f"{ATOM}updated") == ([rfc3339(item.updated)] if item.updated else [])
        assert element.find("title") is not None or element.find("description") is not None
        media = element.findall("enclosure") + element.findall("{http://search.yahoo.com/mrss/}content")
        assert [each.get("url") for each in media] == [enclosure.url for enclosure in item.enclosures]
        # A source without an address of its own has its feed here.
        assert [each.get("url") for each in element.findall("source")] == [
            entry.source_url or HERE.feed(item.source, "rss")
        ]


@settings(max_examples=40, deadline=None)
@given(views())
def test_atom_carries_every_attribute_exactly(view: FeedView) -> None:
    feed = etree.fromstring(render(view, Format.ATOM, HERE))
    for required in ("id", "title", "updated", "author"):
        assert len(feed.findall(ATOM + required)) == 1
    for element, entry in zip(feed.findall(f"{ATOM}entry"), view.entries, strict=True):
        item = entry.item
        assert texts(element, f"{ATOM}title") == [legal(item.title)]
        assert texts(element, f"{ATOM}id") == [entry_id(item)]
        assert texts(element, f"{ATOM}summary") == kept((item.summary,))
        assert "".join(texts(element, f"{ATOM}content")) == legal(item.content)
        assert [each.get("term") for each in element.findall(f"{ATOM}category")] == _terms(item)
        assert texts(element, f"{ATOM}author/{ATOM}name") == kept(item.authors)
        assert texts(element, f"{ATOM}updated") == [rfc3339(item.updated or item.published or item.arrived)]
        links = [(link.get("rel"), link.get("href")) for link in element.findall(f"{ATOM}link")]
        assert [href for rel, href in links if rel == "alternate"] == kept((item.link,))
        assert [href for rel, href in links if rel == "enclosure"] == [each.url for each in item.enclosures]
        # RFC 4287, 4.1.2: an entry without an alternate link must have a content.
        assert item.link or element.find(f"{ATOM}content") is not None


def _terms(item: Item) -> list[str | None]:
    return [legal(category) for category in item.categories if legal(category)]


@settings(max_examples=40, deadline=None)
@given(views())
def test_json_feed_carries_every_attribute_exactly(view: FeedView) -> None:
    feed = json.loads(render(view, Format.JSON, HERE))
    assert feed["version"] == "https://jsonfeed.org/version/1.1"
    assert feed["title"]
    for found, entry in zip(feed["items"], view.entries, strict=True):
        item = entry.item
        assert found["id"] == entry_id(item)
        assert found.get("title", "") == legal(item.title)
        assert found.get("url", "") == item.link
        assert found.get("content_html", "") == legal(item.content or item.summary)
        assert ("content_html" in found) != ("content_text" in found)
        assert found.get("tags", []) == _terms(item)
        assert [each["url"] for each in found.get("attachments", [])] == [
            each.url for each in item.enclosures
        ]


@settings(max_examples=60, deadline=None)
@given(items())
def test_every_identifier_is_an_absolute_iri_that_depends_on_the_item_alone(item: Item) -> None:
    identifier = entry_id(item)
    assert urlsplit(identifier).scheme
    assert not any(character.isspace() for character in identifier)
    assert identifier == entry_id(item)


def test_equal_short_identities_of_two_sources_stay_apart() -> None:
    now = datetime(2026, 1, 1, tzinfo=UTC)
    first, second = (entry_id(Item(source=source, identity="17", arrived=now)) for source in ("A", "B"))
    assert first != second


@pytest.mark.parametrize("identity", ["post:17", "content:f54db2f4d8f81085", "id:1", "17"])
def test_what_only_looks_like_an_iri_is_not_taken_for_the_same_thing_in_two_sources(identity: str) -> None:
    now = datetime(2026, 1, 1, tzinfo=UTC)
    first, second = (entry_id(Item(source=source, identity=identity, arrived=now)) for source in ("A", "B"))
    assert first != second


@pytest.mark.parametrize("identity", ["https://x.y/1", "tag:x.y,2026:1", "urn:isbn:0451450523"])
def test_what_publishers_name_for_all_the_world_keeps_its_name(identity: str) -> None:
    item = Item(source="A", identity=identity, arrived=datetime(2026, 1, 1, tzinfo=UTC))
    assert entry_id(item) == identity


def test_every_format_lists_all_sources_of_a_story() -> None:
    now = datetime(2026, 1, 1, tzinfo=UTC)
    first, second, third = (
        Item(source=name, identity=name, seq=seq, title="A story", link=link, arrived=now)
        for seq, (name, link) in enumerate({"Alpha": "http://a/1", "Beta": "http://b/2", "Gamma": ""}.items())
    )
    told = EntryView(item=first, annotation=(("Stories.distinct", (second, third)),))
    view = FeedView(name="Stories", updated=now, entries=(told,))
    for format in Format:
        body = render(view, format, HERE).decode()
        assert all(name in body for name in ("Alpha", "Beta", "Gamma")), format
        assert "http://b/2" in body or format is Format.PAGE
    for body in (render(view, Format.RSS, HERE), render(view, Format.ATOM, HERE)):
        links = etree.fromstring(body).iter(f"{ATOM}link")
        related = [(link.get("href"), link.get("title")) for link in links if link.get("rel") == "related"]
        assert related == [("http://b/2", "A story (Beta)"), (HERE.item(2), "A story (Gamma)")]


@settings(max_examples=60, deadline=None)
@given(nasty_text)
def test_an_rss_title_means_the_same_to_readers_that_take_it_for_html(title: str) -> None:
    title = legal(title)
    guard = guarded(title)
    assert guard == title or unescape(guard) == title
    if guard == title:
        assert not any(f"<{letter}" in title for letter in "abcdefghijklmnopqrstuvwxyz/!?")


@settings(max_examples=60, deadline=None)
@given(nasty_text)
def test_an_excerpt_is_a_beginning_of_the_text(text: str) -> None:
    markup = text.replace("&", "&amp;").replace("<", "&lt;")
    whole, cut = plain_text(markup), excerpt(markup, 20)
    assert len(cut) <= 21
    assert whole.startswith(cut.removesuffix("…"))


@pytest.mark.parametrize("format", [Format.RSS, Format.ATOM, Format.JSON, Format.PAGE])
def test_an_article_that_two_sources_carry_is_one_entry(format: Format) -> None:
    link = "http://news.example/1"
    newest, oldest = (
        EntryView(item=Item(source=source, identity=link, title=f"from {source}", seq=seq, arrived=NOON))
        for seq, source in ((2, "Politics"), (1, "Home"))
    )
    view = FeedView(name="News", updated=NOON, entries=(newest, oldest))
    body = render(view, format, HERE).decode()
    assert "from Politics" in body
    assert "from Home" not in body
    alone = render(FeedView(name="News", updated=NOON, entries=(oldest,)), format, HERE).decode()
    assert "from Home" in alone
