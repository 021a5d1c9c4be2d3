"""What is rendered is understood by a parser that was not written here."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import feedparser
from hypothesis import given, settings
from hypothesis import strategies as st

from feedweir.deliver.address import Address
from feedweir.deliver.render.entry_id import entry_id
from feedweir.deliver.render.formats import Format, render
from feedweir.deliver.render.plain import plain_text
from feedweir.deliver.render.view import FeedView
from feedweir.text.xml_characters import legal
from tests.deliver.nasty_items import calm_text, items, views

HERE = Address("http://weir.example")


def words(text: str) -> str:
    return " ".join(legal(text).split())


def shown(detail: Any) -> str:
    """The text of a feedparser detail, whatever it thinks its type is."""
    return words(plain_text(detail["value"]) if "html" in detail["type"] else detail["value"])


def time_of(parsed: Any) -> datetime:
    return datetime(*parsed[:6], tzinfo=UTC)


@settings(max_examples=60, deadline=None)
@given(views(items(text=calm_text)), st.sampled_from((Format.RSS, Format.ATOM)))
def test_feedparser_reads_the_same_items(view: FeedView, format: Format) -> None:
    parsed = feedparser.parse(render(view, format, HERE))
    assert not parsed.bozo
    assert parsed.version == {Format.RSS: "rss20", Format.ATOM: "atom10"}[format]
    assert len(parsed.entries) == len(view.entries)
    for found, entry in zip(parsed.entries, view.entries, strict=True):
        item = entry.item
        assert found.id == entry_id(item)
        assert found.get("link", "") == item.link or not item.link
        if item.title.strip() and "title_detail" in found:
            assert shown(found.title_detail) == words(item.title)
        if item.published:
            assert time_of(found.published_parsed) == item.published
        if item.updated:
            assert time_of(found.updated_parsed) == item.updated
        terms = [words(tag.term) for tag in found.get("tags", []) if words(tag.term)]
        assert terms == [words(category) for category in dict.fromkeys(item.categories) if words(category)]
        contents = found.get("content", [])
        if contents and item.content:
            assert words(plain_text(contents[0].value)) == words(plain_text(legal(item.content)))
