"""A feed of ours that another of us reads gives the same items back."""

from __future__ import annotations

from datetime import UTC, datetime

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from feedweir.acquire.parse.parser import parse
from feedweir.deliver.address import Address
from feedweir.deliver.render.entry_id import entry_id
from feedweir.deliver.render.formats import Format, render
from feedweir.deliver.render.plain import plain_text
from feedweir.deliver.render.view import FeedView
from feedweir.items.model import Document, Item
from feedweir.text.xml_characters import legal
from tests.deliver.nasty_items import calm_text, items, views

NOW = datetime(2091, 1, 1, tzinfo=UTC)
HERE = Address("http://weir.example")


def words(plain: str) -> str:
    return " ".join(legal(plain).split())


def read(view: FeedView, format: Format) -> list[Item]:
    body = render(view, format, HERE)
    document = Document(number=1, source="S", media_type=format.media_type, arrived=NOW, body=body)
    return list(reversed(parse(document).items))


@settings(max_examples=60, deadline=None)
@given(views(items(text=calm_text)), st.sampled_from((Format.RSS, Format.ATOM, Format.JSON)))
def test_our_own_reader_reads_the_same_items(view: FeedView, format: Format) -> None:
    distinct = {entry_id(entry.item): entry.item for entry in view.entries}
    assume(len(distinct) == len(view.entries))
    found = {item.identity: item for item in read(view, format)}
    assert list(found) == list(distinct)
    for identity, item in distinct.items():
        again = found[identity]
        assert words(again.title) == words(item.title)
        assert again.link == item.link or not item.link
        assert again.published == item.published or item.published is None
        assert again.updated == item.updated or item.updated is None
        assert _said(again.categories) == _said(item.categories)
        assert _said(again.authors) == _said(item.authors) or not _said(item.authors)
        assert _urls(again) == _urls(item)
        body, body_again = item.content or item.summary, again.content or again.summary
        assert plain_text(body_again) == plain_text(body) or not plain_text(body)


def _said(values: tuple[str, ...]) -> list[str]:
    """Readers may take names for HTML, and drop those that say nothing or say it twice."""
    return list(dict.fromkeys(text for text in map(plain_text, values) if text))


def _urls(item: Item) -> list[str]:
    return list(dict.fromkeys(enclosure.url for enclosure in item.enclosures))
