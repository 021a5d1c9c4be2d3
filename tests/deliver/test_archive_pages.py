"""Pages of a feed: every element is on one, and none moves when others come or go."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from urllib.parse import parse_qs, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedweir.deliver.address import Address
from feedweir.deliver.pages.archive_pages import PAGE, is_edge, upto_edge
from feedweir.deliver.render.formats import Format, render
from feedweir.deliver.render.view import FeedView
from feedweir.service.installation import Weir

NOON = datetime(2026, 6, 1, 12, tzinfo=UTC)
HERE = Address("https://feeds.example")
ATOM = "{http://www.w3.org/2005/Atom}"
HISTORY = "{http://purl.org/syndication/history/1.0}"
COUNT = 1_150

Numbers = st.sets(st.integers(1, 1 << 62), min_size=200, max_size=300).map(
    lambda found: sorted(found, reverse=True)
)


def pages_of(seqs: list[int]) -> list[tuple[int, ...]]:
    """All pages from the newest element on, oldest page last."""
    pages = []
    while seqs:
        end = upto_edge(seqs) or len(seqs)
        pages.append(tuple(seqs[:end]))
        seqs = seqs[end:]
    return pages


@given(Numbers, st.integers(0, 300), st.integers(0, 300))
def test_pages_stay_when_elements_come_and_when_the_oldest_go(seqs: list[int], young: int, gone: int) -> None:
    before, after = pages_of(seqs[young:]), pages_of(seqs[: len(seqs) - gone])
    assert [seq for page in before for seq in page] == seqs[young:]
    kept = set(seqs[: len(seqs) - gone])
    # But for the one that was being filled, and the one that lost its end.
    assert {page for page in before[1:] if set(page) <= kept and page[-1] != seqs[-1]} <= set(after)


def test_pages_are_as_long_as_they_should_be() -> None:
    numbers = [document << 16 | place for document in range(40_000) for place in range(3)]
    assert 0.9 < sum(map(is_edge, numbers)) * PAGE / len(numbers) < 1.1


@pytest.fixture(scope="module")
def weir(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Weir]:
    with Weir.open(tmp_path_factory.mktemp("pages") / "data", clock=lambda: NOON) as weir:
        weir.execute(
            "register feed push://Post as Post; create feed River from Post where title contains 'river'"
        )
        for first in range(0, COUNT, 230):
            weir.push("Post", document(first, 230))
            weir.run()
        yield weir


def document(first: int, count: int, mark: str = "") -> bytes:
    items = "".join(
        f"<item><guid>g{n}</guid><title>The river on day {n}{mark}</title></item>"
        for n in reversed(range(first, first + count))
    )
    return f"<rss version='2.0'><channel><title>Post</title>{items}</channel></rss>".encode()


def shown(weir: Weir, href: str, format: Format) -> bytes:
    asked = {name: int(value) for name, (value,) in parse_qs(urlsplit(href).query).items()}
    view = weir.feed_views.page("River", **asked)
    assert isinstance(view, FeedView)
    return render(view, format, HERE)


def in_atom(body: bytes) -> tuple[list[str], dict[str, str]]:
    feed = ET.fromstring(body)
    links = {link.get("rel", ""): link.get("href", "") for link in feed.findall(f"{ATOM}link")}
    return [entry.findtext(f"{ATOM}title", "") for entry in feed.findall(f"{ATOM}entry")], links


def in_rss(body: bytes) -> tuple[list[str], dict[str, str]]:
    channel = ET.fromstring(body)[0]
    links = {link.get("rel", ""): link.get("href", "") for link in channel.findall(f"{ATOM}link")}
    return [item.findtext("title", "") for item in channel.findall("item")], links


def in_json(body: bytes) -> tuple[list[str], dict[str, str]]:
    feed = json.loads(body)
    return [item["title"] for item in feed["items"]], {"next": feed.get("next_url", "")}


def in_page(body: bytes) -> tuple[list[str], dict[str, str]]:
    text = body.decode()
    older = re.search(r'href="([^"]*)"[^>]*rel="next"|rel="next"[^>]*href="([^"]*)"', text)
    href = (older[1] or older[2]).replace("&amp;", "&") if older else ""
    return re.findall(r"The river on day \d+", text), {"next": href}


Reading = Callable[[bytes], tuple[list[str], dict[str, str]]]


def walked(weir: Weir, format: Format, reading: Reading, relation: str, begin: str) -> list[str]:
    """All titles on the way from a page to the oldest."""
    titles, href = [], begin
    while href:
        found, links = reading(shown(weir, href, format))
        assert found
        titles += found
        href = links.get(relation, "")
    return titles


@pytest.mark.parametrize("begin", ["?", "?limit=7", "?limit=1000"])
@pytest.mark.parametrize(
    ("format", "reading", "relation"),
    [
        (Format.ATOM, in_atom, "next"),
        (Format.ATOM, in_atom, "prev-archive"),
        (Format.RSS, in_rss, "next"),
        (Format.RSS, in_rss, "prev-archive"),
        (Format.JSON, in_json, "next"),
        (Format.PAGE, in_page, "next"),
    ],
)
def test_every_entry_is_reached(
    weir: Weir, format: Format, reading: Reading, relation: str, begin: str
) -> None:
    titles = walked(weir, format, reading, relation, begin)
    assert sorted(set(titles)) == sorted(f"The river on day {n}" for n in range(COUNT))
    if relation == "next":
        assert len(set(titles)) == COUNT


def test_an_archive_says_so_and_stays_as_it_is(weir: Weir) -> None:
    _, links = in_atom(shown(weir, "?", Format.ATOM))
    before: dict[str, bytes] = {}
    while href := links.get("prev-archive"):
        before[href] = shown(weir, href, Format.ATOM)
        feed = ET.fromstring(before[href])
        assert feed.find(f"{HISTORY}archive") is not None
        _, links = in_atom(before[href])
        assert links["self"] == href
        assert links["current"] == HERE.feed("River", "atom")
    assert len(before) > 10
    weir.push("Post", document(COUNT, 60))
    weir.push("Post", document(COUNT - 3, 3, mark=" *"))
    weir.run()
    assert {href: shown(weir, href, Format.ATOM) for href in before} == before
    titles, links = in_atom(shown(weir, "?", Format.ATOM))
    assert "The river on day 1149 *" in titles
    assert ET.fromstring(shown(weir, "?", Format.ATOM)).find(f"{HISTORY}archive") is None
    weir.push("Post", document(COUNT + 60, 230))
    weir.run()
    _, links = in_atom(shown(weir, "?", Format.ATOM))
    later = []
    while (href := links.get("prev-archive")) not in before:
        assert href, "what was archived is archived under the name that it had"
        later.append(href)
        _, links = in_atom(shown(weir, href, Format.ATOM))
    assert later
