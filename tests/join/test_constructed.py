"""What XSCL makes: read as an item, shown in every format, handed to stylesheets, read by name."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from feedweir.deliver.address import Address
from feedweir.deliver.pages.page_feed import render_page
from feedweir.deliver.render.element_document import element_document
from feedweir.deliver.render.formats import Format, render
from feedweir.items.model import Item
from feedweir.join.constructed import constructed, item_of
from feedweir.logs.joined_log import Construction
from feedweir.service.installation import Weir

NOON = datetime(2026, 6, 1, 12, tzinfo=UTC)
BOOK = Item(
    source="Books",
    identity="b",
    seq=1,
    title="Joins & streams",
    link="http://books.example/1",
    links=("http://books.example/1",),
    authors=("Ann",),
    published=NOON,
    arrived=NOON + timedelta(hours=1),
    raw="<book><author>Ann</author><title>Joins &amp; streams</title></book>",
)
BLOG = replace(
    BOOK,
    source="Blogs",
    identity="g",
    seq=2,
    title="On joins",
    link="http://blogs.example/1",
    links=("http://blogs.example/1",),
    published=NOON - timedelta(hours=3),
    arrived=NOON + timedelta(hours=2),
    raw="<blog><author>Ann</author></blog>",
)
ITEMS = {1: BOOK, 2: BLOG}


def made(select: str, **values: str) -> Item:
    return item_of(constructed([BOOK, BLOG], select, values), ITEMS)


def test_without_select_both_documents_stand_under_one_root() -> None:
    item = made("")
    assert item.raw == f"<result>{BOOK.raw}{BLOG.raw}</result>"
    assert (item.title, item.authors, item.link) == ("On joins", ("Ann",), BLOG.link)
    assert item.links == (BOOK.link, BLOG.link)
    assert (item.seq, item.made_of) == (2, (1, 2))
    assert (item.time, item.arrived) == (BOOK.time, BLOG.arrived)


def test_the_values_of_variables_are_text_wherever_they_stand() -> None:
    item = made("<a b='{$x}' c=\"{ y }\">{$x}</a>", x="'<&>\"", y="it's")
    assert item.raw == ("<a b='&apos;&lt;&amp;&gt;&quot;' c=\"it&apos;s\">&apos;&lt;&amp;&gt;&quot;</a>")
    assert item.title == "'<&>\""


def test_a_selected_document_is_read_as_an_item_of_a_feed() -> None:
    select = (
        "<n><title>{$t}</title><link>http://x.example/</link><author>{$a}</author><category>c</category>"
        "<description>&lt;p onclick='x'&gt;{$t}&lt;/p&gt;</description></n>"
    )
    item = made(select, t="New", a="Bob")
    assert (item.title, item.link, item.authors, item.categories) == (
        "New",
        "http://x.example/",
        ("Bob",),
        ("c",),
    )
    assert item.summary == "<p>New</p>"


def test_a_selected_document_without_a_title_has_its_text_for_it() -> None:
    item = made("<pair><b>{$x}</b> and {$y}</pair>", x="one", y="two")
    assert (item.title, item.link) == ("one and two", BLOG.link)


def test_equal_documents_are_one_and_different_ones_two() -> None:
    assert constructed([BOOK, BLOG], "<a>{$x}</a>", {"x": "1"}) == Construction((1, 2), "<a>1</a>", True)
    one, other, root = (made(*each) for each in (("<a>1</a>",), ("<a>2</a>",), ("",)))
    assert len({one.identity, other.identity, root.identity}) == 3


def test_what_was_constructed_can_be_constructed_with_again() -> None:
    inner = made("<pair/>")
    outer = item_of(constructed([inner, BOOK], "", {}), ITEMS)
    assert outer.raw == f"<result><pair/>{BOOK.raw}</result>"
    assert outer.made_of == (1, 2, 1)


STATEMENTS = """
register feed http://example.org/a as A;
register feed http://example.org/b as B;
SELECT <item><title>{$t} / {$u}</title><by>{$a}</by></item>
FROM A//item[author->a][title->t] FOLLOWED BY{a=b, 1 day} B//item[author->b][title->u] PUBLISH Pairs;
A//item[author->a] FOLLOWED BY{a=b, 1 day} B//item[author->b] PUBLISH Plain;
create feed Words from Pairs where title contains 'second';
SELECT * FROM Pairs WHERE (?x, title, ?t) PUBLISH Known;
SELECT <again>{$w}</again> FROM Pairs/item[by->w] PUBLISH Again;
"""


def rss(*entries: tuple[str, str]) -> bytes:
    items = "".join(
        f"<item><guid>{title}</guid><title>{title}</title><author>{author}</author></item>"
        for title, author in entries
    )
    return f"<rss version='2.0'><channel><title>t</title>{items}</channel></rss>".encode()


@pytest.fixture
def weir(tmp_path: Path) -> Iterator[Weir]:
    times = iter(NOON + timedelta(hours=number) for number in range(1_000))
    with Weir.open(tmp_path, clock=lambda: next(times)) as weir:
        weir.execute(STATEMENTS)
        weir.push("A", rss(("second", "ann"), ("first", "ann")))
        weir.push("B", rss(("third", "ann")))
        weir.run()
        yield weir


def test_a_published_stream_is_read_by_name_by_every_kind_of_query(weir: Weir) -> None:
    titles = {
        name: sorted(item.title for item in weir.items(name))
        for name in ("Pairs", "Plain", "Words", "Known", "Again")
    }
    assert titles == {
        "Pairs": ["first / third", "second / third"],
        "Plain": ["third", "third"],
        "Words": ["second / third"],
        "Known": ["first / third", "second / third"],
        "Again": ["ann", "ann"],
    }


def test_constructed_documents_are_shown_in_every_format(weir: Weir) -> None:
    view = weir.feed_views.feed("Words", 10)
    assert view is not None
    (entry,) = view.entries
    assert [(name, [item.title for item in items]) for name, items in entry.annotation] == [
        ("pattern", ["second", "third"])
    ]
    document = "<item><title>second / third</title><by>ann</by></item>"
    shown = {each: render(view, each, Address("http://weir.example")).decode() for each in Format}
    for format_ in (Format.RSS, Format.ATOM):
        together = "".join(line.strip() for line in shown[format_].splitlines())
        assert "<title>second / third</title><by>ann</by></item></weir:document>" in together
    assert json.loads(shown[Format.JSON])["items"][0]["_feedweir"]["document"] == document
    assert "&lt;by&gt;ann&lt;/by&gt;" in render_page(view, Address("http://weir.example")).decode()
    assert f"<original>{document}</original>" in element_document(view).decode()


def test_previews_and_back_tests_show_constructed_documents(weir: Weir) -> None:
    text = "SELECT <x>{$t}</x> FROM A//item[author->a][title->t] JOIN{a=b, 1 day} B//item[author->b]"
    for trial in (weir.ask.preview(text), weir.ask.backtest(text)):
        assert trial.hits == 1
        assert sorted(sample.item.raw for sample in trial.samples) == ["<x>first</x>", "<x>second</x>"]


def test_an_element_with_several_documents_is_delivered_once_with_all_of_them(weir: Weir) -> None:
    feed = weir.catalog.feeds.named("Pairs").id
    (seq,) = weir.store.seqs(feed).tolist()
    entries = weir.feed_views.elements(feed, [seq])[seq]
    assert sorted(entry.item.title for entry in entries) == ["first / third", "second / third"]
