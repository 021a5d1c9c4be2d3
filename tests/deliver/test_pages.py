"""Pages, and the small decisions behind them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Literal

import lxml.html
import pytest
from hypothesis import given, settings

from feedweir.deliver.address import Address
from feedweir.deliver.pages.page_feeds import FeedSection, render_feeds_page
from feedweir.deliver.pages.page_item import render_item_page
from feedweir.deliver.pages.page_subscription import SubscriptionView, replay_message
from feedweir.deliver.render.formats import Format, render
from feedweir.deliver.render.markup import Html, sanitised, tag, web_link
from feedweir.deliver.render.plain import language_tag, plain_text, rfc822, rfc3339
from feedweir.deliver.render.view import EntryView, FeedSummary, FeedView
from feedweir.items.model import Enclosure, Item
from tests.deliver.nasty_items import nasty_text, views

NOW = datetime(2026, 3, 1, 12, 30, tzinfo=UTC)
ACTIVE = ("script", "iframe", "object", "embed", "form", "style")


@settings(max_examples=40, deadline=None)
@given(views())
def test_no_page_has_active_content_whatever_the_items_say(view: FeedView) -> None:
    pages = [render(view, Format.PAGE, Address())]
    pages += [render_item_page(entry, Address()) for entry in view.entries]
    for page in pages:
        root = lxml.html.document_fromstring(page.decode())
        for element in root.iter():
            assert element.tag not in ACTIVE
            assert not any(name.startswith("on") for name in element.attrib)
            assert (
                not element.get("href", "").strip().lower().startswith(("javascript:", "data:", "vbscript:"))
            )
            assert "src" not in element.attrib or element.get("src", "").startswith(
                ("http:", "https:", "/assets/")
            )


@settings(max_examples=60, deadline=None)
@given(nasty_text, nasty_text)
def test_text_and_attributes_stay_what_they_are(text: str, title: str) -> None:
    element = lxml.html.fragment_fromstring(tag("p", "x" + text, title="x" + title))
    assert [child.tag for child in element] == []
    assert element.text_content().replace("\r", "\n")[:1] == "x"


def test_markup_is_kept_and_text_is_escaped() -> None:
    assert tag("p", Html("<b>a</b>"), "<b>", class_="x", title=None) == '<p class="x"><b>a</b>&lt;b&gt;</p>'
    assert tag("img", src="a&b") == '<img src="a&amp;b">'


def test_foreign_html_is_sanitised_at_the_last_door() -> None:
    cleaned = sanitised('<p onclick="x">a<script>b</script><a href="javascript:c">d</a></p>')
    assert "script" not in cleaned
    assert "onclick" not in cleaned
    assert "<p>" in cleaned


@pytest.mark.parametrize(
    "url", ["javascript:x", "data:text/html,x", "JAVASCRIPT:x", "x", "", "//host/x", "vbscript:x"]
)
def test_links_that_a_browser_should_not_follow_are_not_links(url: str) -> None:
    assert web_link(url) is None


def test_an_item_page_shows_sound_size_details_and_the_way_to_the_original() -> None:
    item = Item(
        source="A",
        identity="1",
        seq=4,
        title="Song",
        content="<p>La</p>",
        link="http://a.example/1",
        arrived=NOW,
        enclosures=(Enclosure(url="http://a.example/s.mp3", type="audio/mpeg", length=2_400_000),),
        extensions=(("itunes:duration", "3:07"),),
    )
    page = render_item_page(EntryView(item=item, source_title="Source A"), Address()).decode()
    for text in ("<audio", "2.4 MB", "itunes:duration", "3:07", 'href="http://a.example/1"', "Source A"):
        assert text in page


def test_the_list_shows_what_is_there_and_what_is_wrong() -> None:
    feeds = (
        FeedSummary(name="A", kind="source", item_count=1234, last_item=NOW),
        FeedSummary(name="B", kind="source", failure="gone", failure_count=2),
    )
    section = FeedSection(kind="source", feeds=feeds, total=99, next_after="B")
    page = render_feeds_page([section, FeedSection(kind="virtual", feeds=(), total=0)], Address()).decode()
    for text in ("1,234 items", "1 Mar 2026, 12:30", "gone", "2 times in a row", "after=B", "None yet"):
        assert text in page


def test_an_untitled_item_is_called_by_how_it_begins() -> None:
    item = Item(source="A", identity="1", summary="<p>First words of a note.</p>", arrived=NOW)
    view = FeedView(name="N", updated=NOW, entries=(EntryView(item=item),))
    assert "First words of a note." in render(view, Format.PAGE, Address()).decode()


def test_plain_text_keeps_words_apart_and_entities_meant() -> None:
    assert (
        plain_text("<p>one</p><p>two<br>three</p> &amp; <b>fo</b>ur &lt;tag&gt;")
        == "one two three & four <tag>"
    )


def test_dates_are_written_in_utc_in_both_shapes() -> None:
    time = datetime.fromisoformat("2026-03-01T23:30:00.250000+05:30")
    assert rfc3339(time) == "2026-03-01T18:00:00.250000Z"
    assert rfc822(time) == "Sun, 01 Mar 2026 18:00:00 GMT"


def test_only_what_looks_like_a_language_is_one() -> None:
    assert [language_tag(text) for text in ("en", "pt_BR", " zh-Hant ", "english please", "")] == [
        "en",
        "pt-BR",
        "zh-Hant",
        "",
        "",
    ]


def test_addresses_are_quoted() -> None:
    address = Address("http://h")
    assert address.feed("a b/ü", "rss") == "http://h/feeds/a%20b%2F%C3%BC.rss"
    assert Address().home() == "/"


def test_a_title_that_says_nothing_gives_way_to_the_name() -> None:
    assert FeedView(name="N", title="\x00 \x1f", updated=NOW).shown_title == "N"
    assert FeedSummary(name="N", kind="source", title="").shown_title == "N"


@pytest.mark.parametrize(
    ("count", "status", "message"),
    [
        (0, "active", "0 items will be sent again."),
        (1, "active", "1 item will be sent again."),
        (1_200, "active", "1,200 items will be sent again."),
        (
            2,
            "paused",
            "2 items will be sent again when the subscription is resumed (alter subscription Mine resume).",
        ),
    ],
)
def test_the_answer_to_a_replay_says_how_much_is_sent_and_when(
    count: int, status: Literal["active", "paused"], message: str
) -> None:
    view = SubscriptionView(
        id=1, name="Mine", feed="River", channel="file", target="a.rss", status=status, created=NOW
    )
    assert replay_message(count, view) == message
