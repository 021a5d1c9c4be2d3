"""RSS, RDF and Atom documents → feeds, well-formed or not.

A document is read strictly and fast if possible; then with the usual errors repaired; then by a tolerant parser; then
by feedparser. No parser here reads a DTD, expands an entity that a document declares, or opens anything outside the
document.
"""

from __future__ import annotations

import calendar
from dataclasses import dataclass, replace
from typing import Any

import feedparser
from lxml import etree

from feedweir.acquire.parse.entries import FeedText, ParsedFeed, entries_of
from feedweir.acquire.parse.html_page import feed_in_page, html_page_error, is_html_page
from feedweir.acquire.parse.xml.tolerance import closed_entries, is_entity_bomb, repaired
from feedweir.acquire.parse.xml.xml_element import RefusedError, XmlElement
from feedweir.acquire.parse.xml.xml_feed import read_xml_feed
from feedweir.errors import DocumentError
from feedweir.items.model import FeedDescription
from feedweir.text.html import absolute, one_line, title_text


def read_xml(document: FeedText) -> ParsedFeed:
    """RSS, RDF or Atom, well-formed or not."""
    text, url = document.text, document.url
    if is_html_page(text):
        return _read_wrapped(document)
    if is_entity_bomb(text):
        raise DocumentError(
            "the document declares entities made of other entities, as an entity bomb does",
            hint="feeds do not need them; report it to the publisher",
        )
    try:
        tree = _tree(text, max_depth=document.max_depth)
        feed = read_xml_feed(
            XmlElement(tree.root),
            url=url,
            has_bases=b"xml:base" in text,
            max_items=document.max_items,
            closed_entries=tree.closed_entries,
        )
    except RefusedError:
        raise
    except DocumentError:
        rescued = _rescued(document)
        if rescued is None:
            raise
        return rescued
    if not len(feed.entries) and tree.closed_entries is not None:
        feed = _rescued(document) or feed
    return feed.warned(tree.warning)


def _read_wrapped(document: FeedText) -> ParsedFeed:
    """A feed inside a page, or behind the doctype of one; raises `DocumentError` for any other page."""
    inside = feed_in_page(document.text)
    try:
        feed = read_xml(replace(document, text=inside)) if inside else None
    except DocumentError:
        feed = None
    if feed is None or not len(feed.entries):
        raise html_page_error(document.text, document.url)
    return feed.warned("the feed is inside an HTML page")


def _rescued(document: FeedText) -> ParsedFeed | None:
    """The last resort, tried only when there is at least one whole entry to find."""
    whole = closed_entries(document.text.decode("utf-8", "replace"))
    most = min(whole, document.max_items)
    return read_with_feedparser(document.text, url=document.url, max_items=most) if whole else None


@dataclass(frozen=True, slots=True)
class _XmlTree:
    """`closed_entries` is None for a well-formed document, else how many of its entries are known to be
    whole."""

    root: etree._Element
    closed_entries: int | None = None
    warning: str = ""


def _tree(body: bytes, *, max_depth: int) -> _XmlTree:
    """The tree of a document in UTF-8."""
    if b"<!DOCTYPE" not in body[:4096] and b"<!doctype" not in body[:4096]:
        root = _strictly_parsed(body)
        if root is not None:
            return _XmlTree(_checked(root, max_depth))
    text = repaired(body.decode("utf-8", "replace"))
    fixed = text.encode("utf-8", "replace")
    root = _strictly_parsed(fixed)
    if root is not None:
        return _XmlTree(_checked(root, max_depth), warning="not well-formed XML, repaired")
    root = _parsed(fixed, _FORGIVING)
    if root is None:
        raise DocumentError("the document is not XML", hint="check what the address returns")
    return _XmlTree(
        _checked(root, max_depth), closed_entries(text), "not well-formed XML, read as far as possible"
    )


def _parser(*, is_forgiving: bool) -> etree.XMLParser:
    return etree.XMLParser(
        encoding="utf-8",
        resolve_entities=False,
        no_network=True,
        load_dtd=False,
        remove_comments=True,
        remove_pis=True,
        collect_ids=False,
        recover=is_forgiving,
    )


_STRICT = _parser(is_forgiving=False)
_FORGIVING = _parser(is_forgiving=True)


def _strictly_parsed(body: bytes) -> etree._Element | None:
    """The root of a well-formed document in UTF-8."""
    return _parsed(body, _STRICT)


def _parsed(body: bytes, parser: etree.XMLParser) -> etree._Element | None:
    try:
        return etree.fromstring(body, parser)
    except (etree.XMLSyntaxError, ValueError):
        return None


def _checked(root: etree._Element, max_depth: int) -> etree._Element:
    """libxml2 refuses trees deeper than 256 by itself; a smaller limit is checked here."""
    if max_depth < 256:
        deep = root.xpath(f"boolean(//*[count(ancestor::*) >= {max_depth}])")
        if deep:
            raise DocumentError(f"the document is nested deeper than {max_depth} elements")
    return root


def read_with_feedparser(body: bytes, *, url: str, max_items: int) -> ParsedFeed | None:
    """The feed that feedparser finds; None when it finds no entries either."""
    try:
        found = feedparser.parse(body, sanitize_html=False, resolve_relative_uris=False)
    except Exception:  # it raises whatever its parsers raise, and this is only a last attempt
        return None
    entries = [_entry(entry, url) for entry in found.entries[:max_items]]
    feed = found.feed
    description = FeedDescription(
        title=title_text(feed.get("title", "")),
        description=one_line(feed.get("subtitle", "")),
        link=absolute(feed.get("link", ""), url),
        language=feed.get("language", ""),
    )
    return (
        ParsedFeed(description, entries_of(entries), warnings=("parsed with feedparser, as a last resort",))
        if entries
        else None
    )


def _entry(entry: Any, url: str) -> dict[str, Any]:
    """An entry's values, by field."""
    contents = entry.get("content") or [{}]
    names = (author.get("name", "") for author in entry.get("authors", []))
    terms = (tag.get("term") for tag in entry.get("tags", []))
    return {
        "guid": entry.get("id", ""),
        "title": title_text(entry.get("title", "")),
        "summary": entry.get("summary", ""),
        "content": contents[0].get("value", ""),
        "link": absolute(entry.get("link", ""), url),
        "authors": tuple(name for name in names if name),
        "categories": tuple(term for term in terms if term),
        "published": _moment_us(entry.get("published_parsed")),
        "updated": _moment_us(dict.get(entry, "updated_parsed")),  # its own `get` answers with another date
        "enclosures": tuple(
            (address, file.get("type", ""), 0)
            for file in entry.get("enclosures", [])
            if (address := absolute(file.get("href", ""), url))
        ),
        "base": url,
    }


def _moment_us(moment: Any) -> int | None:
    return calendar.timegm(moment) * 1_000_000 if moment else None
