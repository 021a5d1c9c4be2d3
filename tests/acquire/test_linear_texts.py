"""No text takes more than its share of time: eight times the length, about eight times the work."""

from __future__ import annotations

import gc
import gzip
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from html import escape

import pyarrow as pa
import pytest
from benchmarks._hostile_documents import hostile_documents, nested, numbered, repeated

from feedweir.acquire.fetch.discovery import discover, looks_like_html
from feedweir.acquire.fetch.http_rules import decoded as decompressed
from feedweir.acquire.opml import merged, read_opml, write_opml
from feedweir.acquire.parse.encodings import decoded
from feedweir.acquire.parse.entries import FeedText
from feedweir.acquire.parse.html_page import feed_in_page, is_html_page
from feedweir.acquire.parse.json_feed import read_json_feed
from feedweir.acquire.parse.other_documents import document_of
from feedweir.acquire.parse.parser import parse_batch
from feedweir.acquire.parse.xml.element_text import author_name
from feedweir.acquire.parse.xml.tolerance import (
    closed_entries,
    is_entity_bomb,
    repaired,
    with_entities,
    with_sound_tags,
    without_surroundings,
)
from feedweir.deliver.render.plain import excerpt, plain_text
from feedweir.errors import DocumentError
from feedweir.items.identity import Claim, identities
from feedweir.items.links import canonical_url, domains_of, host_of, openings_of
from feedweir.items.model import Item
from feedweir.items.schema import DOCUMENT_SCHEMA
from feedweir.items.structured_data import structured_data
from feedweir.items.tree import tree_of
from feedweir.items.triples import triples_of
from feedweir.match.meaning.spans import spans_of
from feedweir.plan.predicates import Contains, Matches, Predicate, Term
from feedweir.text.dates import epoch_us
from feedweir.text.html import (
    absolute,
    all_sanitised,
    are_web_links,
    is_web_link,
    sanitised,
    text_of,
    title_text,
    unescape,
)
from feedweir.text.markup_bounds import is_crowded, is_too_deep
from feedweir.text.placed_words import fold, words, words_of_html
from feedweir.text.redact import without_secrets

_SIZE = 20_000
_GROWTH = 8
_MAX_RATIO = 24.0
"""What is quadratic takes 64 times as long; a noisy machine does not make three times of once."""
_FLOOR_S = 0.01
_TRIES = 4
_NOW = datetime(2026, 1, 1, tzinfo=UTC)

_HTML = (
    "<!--", "<!-- ", "<!-->", "-->", "<a ", "<", "</", "<p ", "<br ", "<p", "<script>", "<script ", "</script ",
    "<style", "<div>", "<b>", "<b></p>", "<b><p>", "<a href='x'>", '<a href="', ' href="', '<i href="x" ',
    "<p title='", "<a b", "<a=", "<table><b>", "<svg><", "<?", "<![CDATA[", "&#", "&#1", "&a", "&amp;", "&amp;lt;",
    "&#x", "<a<", "<a\n", "\x00", "\xa0", "<li><ul>", "<button><p>", "a.b ",
    "<svg ", "<svg>", "<math><mi>", "</svg",
)  # fmt: skip
_DATA = (
    "<i itemscope itemref='a' id='a'>", "<p itemscope itemref='a'></p>", "<i itemprop='urn:a' itemscope>",
    "<i itemprop='urn:a'>x", "<b typeof='schema:A' property='schema:b'>x", "<b property='schema:b'>x", "<b vocab='a:' ",
    '<script type="application/ld+json">{"@context":"https://schema.org"}</script>', "<p itemscope></p>",
)  # fmt: skip
_URLS = (
    "http://@", "http://a ", "@", ".", "[", "a.", "//", "/", "?", "&utm_a", "a:", "http://[", "http://a.", "#", "../",
    "..", "-.", "a@", " ", "%", "utm_", "a-", "http://a.b/c d\n",
)  # fmt: skip
_NAMES = ("<a@", "@", "a@b (", "a@b<", "a <", "<!--", "( ", "a@", "a@b.c (d) ", "<", ")", "@ ")
_XML = (
    "<!--", "<?", "<?xml ", "<![CDATA[", "<!DOCTYPE ", "<!DOCTYPE a [", "<!ENTITY ", "<!ENTITY a ", "<!ENTITY a '&b",
    '<!ENTITY a "', "<", "<a", "a", "<a ", "<a b=", '<a b="', "<a b='c' ", "<a b c", "&", "&a", "&#1", "]]>", "-->",
    "'",    " ", "<a:", "<item", "</item ", "</a:", "=“", "a= ", "?>", "<rss ", "<a.b-",
)  # fmt: skip
_DATES = ("1 ", "May ", "1:", "(", "20-", ".", "1.", "May 1 ", "a", "１")
_WORDS = ("a", "é", "\u0301\u0323", "ﬁ", "™", "漢", "a-", "\u200d", "ﷺ", "'", "ΐ")

Function = Callable[[str], object]


def _bytes(read: Callable[[bytes], object]) -> Function:
    return lambda text: read(text.encode())


def _item(text: str) -> Item:
    raw = f'<item a="{text}"><title>x</title></item>'
    extensions = tuple((f"n{number}:a", "1") for number in range(50))
    return Item(source="s", identity="i", arrived=_NOW, title=text, link=text, raw=raw, extensions=extensions)


def _places(asked: Predicate, text: str) -> object:
    item = Item(source="s", identity="i", arrived=_NOW, title=text, summary=text)
    return list(spans_of(asked, item))


def _outline(text: str) -> object:
    feeds = read_opml(f"<opml><body><outline text='a'>{text}</outline></body></opml>".encode())
    return write_opml(merged(feeds, feeds))


def _json_of(text: str) -> object:
    item = f'{{"id": "1", "title": "{text}", "url": "{text}", "_{text}": {{"a": 1, "b": 2}}}}'
    return read_json_feed(
        FeedText(text=f'{{"items": [{item}]}}'.encode(), url="https://h.example/", max_items=9)
    )


def _structured(text: str) -> object:
    return structured_data(f"<item><description>{escape(text)}</description></item>", "https://h.example/")


def _same_guid(text: str) -> object:
    return identities([Claim("same", f"link{place % 7}", place) for place in range(len(text) // 10)])


_FUNCTIONS: dict[str, tuple[Function, tuple[str, ...]]] = {
    "sanitised": (lambda text: sanitised(text, base="https://h.example/"), _HTML),
    "all_sanitised": (lambda text: all_sanitised([text], bases=["https://h.example/"]), _HTML),
    "text_of": (text_of, _HTML),
    "title_text": (title_text, _HTML),
    "unescape": (unescape, _HTML),
    "is_too_deep": (is_too_deep, _HTML),
    "is_crowded": (is_crowded, _HTML),
    "words_of_html": (words_of_html, _HTML),
    "absolute": (lambda text: absolute(text, "https://h.example/a/b"), _URLS),
    "absolute to a long base": (lambda text: absolute("../x", f"https://h.example/{text}"), _URLS),
    "is_web_link": (lambda text: is_web_link(f"http://{text} x"), _URLS),
    "are_web_links": (lambda text: are_web_links([f"http://{part}" for part in text.split("\n")]), _URLS),
    "structured_data": (_structured, (*_HTML, *_DATA)),
    "canonical_url": (canonical_url, _URLS),
    "host_of": (host_of, _URLS),
    "openings_of": (openings_of, _URLS),
    "domains_of": (domains_of, _URLS),
    "author_name": (author_name, _NAMES),
    "author_name, closed": (lambda text: author_name(f"{text}>"), _NAMES),
    "triples_of": (lambda text: triples_of(_item(text)), ("a.", "a:", "about", " xmlns:a=", "-", "xmlns:")),
    "tree_of": (lambda text: tree_of(_item(text)), (*_XML, *_HTML)),
    "tree_of, not XML": (
        lambda text: tree_of(Item(source="s", identity="i", arrived=_NOW, title=text, raw="{}")),
        ("a", "<", "\x00"),
    ),
    "without_secrets": (
        without_secrets,
        (*_URLS, "http://", "http://a", "?a=", "&", "?key=", "&amp;", "?amp;", "x=y"),
    ),
    "plain_text": (plain_text, _HTML),
    "excerpt": (lambda text: excerpt(text, 200), ("<br ", "<p>", "a", "&amp;")),
    "places of words": (lambda text: _places(Contains(None, (Term("a"),), 1), text), (*_WORDS, *_HTML)),
    "places of an expression": (lambda text: _places(Matches(None, "a|b", "i"), text), (*_WORDS, *_HTML)),
    "epoch_us": (epoch_us, _DATES),
    "words": (words, _WORDS),
    "fold": (fold, _WORDS),
    "is_html_page": (_bytes(is_html_page), (*_XML, "<!---->", "<!--a--> ")),
    "feed_in_page": (_bytes(feed_in_page), (*_XML, "<rss>", "</rss", "<a:rss", "<feed ")),
    "looks_like_html": (_bytes(looks_like_html), _XML),
    "discover": (
        lambda text: discover(f"<html><body>{text}".encode(), "https://h.example/"),
        (*_HTML, '<a href="/feed">', "<area href='/feed'><b>", '<a href="/rss"><font>'),
    ),
    "discover, many attributes": (lambda text: discover(f"<p {text}>".encode(), ""), ("a#=1 ", "a# ")),
    "decompressed": (lambda text: decompressed(gzip.compress(b"") * len(text), "gzip", 1 << 20), ("a",)),
    "decoded": (_bytes(decoded), (*_XML, "é", "\x1b")),
    "decoded, by its header": (
        lambda text: decoded(b"a", f"text/xml; {text}"),
        ("charset ", "charset=", " "),
    ),
    "repaired": (repaired, _XML),
    "with_entities": (with_entities, _XML),
    "with_sound_tags": (with_sound_tags, _XML),
    "without_surroundings": (without_surroundings, _XML),
    "closed_entries": (closed_entries, _XML),
    "is_entity_bomb": (_bytes(is_entity_bomb), _XML),
    "document_of": (_bytes(lambda body: document_of(b"<a>" + body + b"</a>")), _XML),
    "read_opml": (_bytes(read_opml), _XML),
    "outlines": (
        _outline,
        ("x", "<!--x-->y", "<outline text='b'/>", "<a:b/>", "<o xmlns:p#='u:#'/>", "<outline text='#'/>"),
    ),
    "JSON feed": (_json_of, ("a", "<!-- ", "/", "@")),
    "identities": (_same_guid, ("x",)),
}
_CASES = [
    pytest.param(function, unit, id=f"{name}: {unit!r}")
    for name, (function, units) in _FUNCTIONS.items()
    for unit in units
]


@pytest.mark.parametrize(("function", "unit"), _CASES)
def test_the_time_of_a_text_grows_with_its_length(function: Function, unit: str) -> None:
    _assert_linear(function, lambda size: _made(unit, size))


@pytest.mark.parametrize("name", ["div", "b", "font", "x", "blockquote", "svg", "ul"])
def test_the_time_of_nested_html_grows_with_its_length(name: str) -> None:
    _assert_linear(sanitised, lambda size: nested(name, size))


_SHAPES = tuple(hostile_documents(100))


@pytest.mark.parametrize("shape", _SHAPES)
def test_the_time_of_a_document_grows_with_its_length(shape: str) -> None:
    documents = {size: hostile_document(shape, size) for size in (_SIZE, _GROWTH * _SIZE)}
    _assert_linear(lambda size: parse_batch(documents[int(size)]), lambda size: str(size))


def hostile_document(shape: str, size: int) -> pa.RecordBatch:
    row = {"number": 1, "source": "s", "url": "https://h.example/f", "media_type": "", "arrived": _NOW}
    return pa.RecordBatch.from_pylist(
        [{**row, "body": hostile_documents(size)[shape]}], schema=DOCUMENT_SCHEMA
    )


@pytest.mark.parametrize("shape", _SHAPES)
def test_what_is_read_of_a_document_is_not_much_longer_than_it(shape: str) -> None:
    batch = hostile_document(shape, _GROWTH * _SIZE)
    assert parse_batch(batch).items.nbytes < 20 * batch.nbytes + 100_000


def test_a_news_item_whose_link_has_a_space_is_read() -> None:
    batch = parse_batch(hostile_document("a link with a space after good links", _SIZE))
    assert batch.items["link"][0].as_py() == "https://hostile.example/a story/with a space"
    assert batch.items["links"][0].as_py() == []
    assert batch.items["links"][1].as_py() == batch.items["link"][1:2].to_pylist()


def test_html_that_is_nested_too_deep_is_shown_as_its_text() -> None:
    assert sanitised(nested("div", 20_000, "one &lt; two")) == "one &lt; two"
    assert sanitised(nested("div", 2_000)).startswith("<div><div>")


def test_html_whose_tag_has_too_many_attributes_is_shown_as_its_text() -> None:
    assert sanitised(f"<p{numbered(' a#=1', 20_000)}>one <b>two</b></p>") == "one two"
    assert sanitised(f"<x y='{repeated('a ', 20_000)}'><b>two</b></x>") == "<b>two</b>"


def test_a_page_with_crowded_tags_is_not_searched() -> None:
    crowded = f"<html><a{numbered(' a#=1', 20_000)} href='/feed.xml'>"
    assert all(not candidate.is_declared for candidate in discover(crowded.encode(), "https://h.example/"))


def test_a_reference_with_many_digits_is_read() -> None:
    assert title_text(f"A&#{'0' * 9000}65;&#x{'0' * 50}42;") == "AAB"
    assert title_text(f"A&#{'9' * 9000};") == "A\ufffd"


def test_a_document_that_declares_too_many_namespaces_is_refused_or_read_without_them() -> None:
    for shape in ("a long xmlns and items", "many xmlns and items"):
        batch = hostile_document(shape, 400_000)
        assert parse_batch(batch).items.nbytes < 2 * batch.nbytes


def test_a_document_that_is_refused_for_its_cost_is_not_read_by_the_last_resort(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[object] = []
    monkeypatch.setattr(
        "feedweir.acquire.parse.xml.xml_reader.read_with_feedparser", lambda *_, **__: asked.append(1)
    )
    ((_, _, told),) = parse_batch(hostile_document("a long xmlns and items", 400_000)).failures
    assert "declares namespaces" in told
    assert not asked


def _made(unit: str, size: int) -> str:
    is_numbered = "#" in unit and "&#" not in unit and unit != "#"
    return numbered(unit, size) if is_numbered else repeated(unit, size)


def _assert_linear(function: Function, make: Callable[[int], str]) -> None:
    small, large = make(_SIZE), make(_GROWTH * _SIZE)
    for _ in range(_TRIES):
        before, after = _seconds(function, small), _seconds(function, large)
        if after < max(before * _MAX_RATIO, _FLOOR_S * _GROWTH):
            return
    raise AssertionError(f"{before:.4f} s became {after:.4f} s with {_GROWTH} times the text")


def _seconds(function: Function, text: str) -> float:
    gc.disable()
    try:
        start = time.process_time()
        with suppress(DocumentError):
            function(text)
        return time.process_time() - start
    finally:
        gc.enable()
