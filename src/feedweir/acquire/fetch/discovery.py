"""Find feeds on a page: what it declares, what its links look like, and where feeds usually are."""

from __future__ import annotations

import re
from collections.abc import Container, Iterator
from dataclasses import dataclass
from enum import Enum
from itertools import chain

from lxml import html
from lxml.etree import LxmlError

from feedweir.acquire.fetch.http_rules import wire_url
from feedweir.text.markup_bounds import is_crowded

FEED_TYPES = {
    "application/rss+xml": "RSS",
    "application/atom+xml": "Atom",
    "application/feed+json": "JSON Feed",
    "application/rdf+xml": "RDF",
    "application/x.atom+xml": "Atom",
    "application/x-atom+xml": "Atom",
    "text/rss+xml": "RSS",
}
_LOOSE_TYPES = frozenset({"application/json", "application/xml", "text/xml"})
WELL_KNOWN_PATHS = (
    "/feed",
    "/rss",
    "/atom.xml",
    "/feed.xml",
    "/rss.xml",
    "/index.xml",
    "/feed.json",
    "/feed/",
)

_FEED_LIKE = re.compile(
    r"(?:^|[/._?&=-])(?:rss2?|atom|feeds?|rdf|syndication)(?:[/._&=-]|$|\d)|\.(?:rss|atom|rdf)(?:$|\?)",
    re.IGNORECASE,
)
_PAGE_LIKE = re.compile(r"\.(?:png|jpe?g|gif|svg|css|js|pdf|zip|mp3|mp4)(?:$|\?)", re.IGNORECASE)
_MAX_PAGE_BYTES = 4 << 20
_MAX_FOUND = 50


class Confidence(Enum):
    DECLARED = "declared by the page"
    LINKED = "linked from the page"
    USUAL = "a usual place for feeds"


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """An address that may be a feed; only fetching it will show."""

    url: str
    title: str = ""
    kind: str = ""
    confidence: Confidence

    @property
    def is_declared(self) -> bool:
        return self.confidence is Confidence.DECLARED


def discover(page: bytes, url: str, media_type: str = "") -> tuple[Candidate, ...]:
    """Candidates from an HTML page that was fetched from `url`, the surest first, each address once.

    A page that cannot be read still yields the usual places.
    """
    found: dict[str, Candidate] = {}
    for candidate in chain(_from_page(page, url, media_type, found), usual_places(url)):
        found.setdefault(candidate.url, candidate)
        if len(found) == _MAX_FOUND:
            break
    return tuple(found.values())


def usual_places(url: str) -> tuple[Candidate, ...]:
    """Usual addresses of feeds on a site; suggestions to try."""
    base = wire_url(url)
    if base is None:
        return ()
    places = (wire_url(path, base) for path in WELL_KNOWN_PATHS)
    return tuple(Candidate(url=place, confidence=Confidence.USUAL) for place in places if place)


def looks_like_html(body: bytes, media_type: str = "") -> bool:
    """Whether a document is a page for people: then feeds are to be found on it, not in it."""
    start = body[:2048].lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    if start.startswith((b"<?xml", b"<rss", b"<feed", b"<rdf", b"{")):
        return b"<html" in start and b"<rss" not in start and b"<feed" not in start
    return start.startswith((b"<!doctype html", b"<html")) or "text/html" in media_type.lower()


def _from_page(page: bytes, url: str, media_type: str, known: Container[str]) -> Iterator[Candidate]:
    """Candidates on the page that are not known yet."""
    tree = _tree(page[:_MAX_PAGE_BYTES], media_type)
    if tree is not None:
        base = _base(tree, url)
        yield from _declared(tree, base, known)
        yield from _linked(tree, base, known)


def _tree(page: bytes, media_type: str) -> html.HtmlElement | None:
    if is_crowded(page.decode("latin-1")):
        return None  # lxml compares each attribute of a tag with all before it
    charset = re.search(r"charset=[\"']?([\w.:-]+)", media_type, re.IGNORECASE)
    try:
        parser = html.HTMLParser(encoding=charset[1] if charset else None, no_network=True, huge_tree=False)
    except LookupError:
        parser = html.HTMLParser(no_network=True, huge_tree=False)
    try:
        return html.document_fromstring(page, parser=parser)
    except (LxmlError, ValueError, AssertionError):
        return None


def _base(tree: html.HtmlElement, url: str) -> str:
    declared = next((element.get("href", "") for element in tree.iter("base")), "")
    return wire_url(declared, url) or url


def _declared(tree: html.HtmlElement, base: str, known: Container[str]) -> Iterator[Candidate]:
    for element in tree.iter("link"):
        rels = element.get("rel", "").lower().split()
        kind = element.get("type", "").partition(";")[0].strip().lower()
        is_feed = kind in FEED_TYPES or "feed" in rels or (kind in _LOOSE_TYPES and _is_feed_like(element))
        if is_feed and {"alternate", "feed", "service.feed"} & set(rels):
            yield from _candidate(element, base, known, Confidence.DECLARED, FEED_TYPES.get(kind, ""))


def _linked(tree: html.HtmlElement, base: str, known: Container[str]) -> Iterator[Candidate]:
    for element in tree.iter("a", "area"):
        if _is_feed_like(element):
            yield from _candidate(element, base, known, Confidence.LINKED)


def _is_feed_like(element: html.HtmlElement) -> bool:
    href = element.get("href", "")
    kind = element.get("type", "").partition(";")[0].strip().lower()
    return kind in FEED_TYPES or bool(_FEED_LIKE.search(href) and not _PAGE_LIKE.search(href))


def _candidate(
    element: html.HtmlElement, base: str, known: Container[str], confidence: Confidence, kind: str = ""
) -> Iterator[Candidate]:
    url = wire_url(element.get("href", ""), base) if element.get("href", "").strip() else None
    if url and url not in known:  # the text of one element may be as long as the page
        title = " ".join((element.get("title") or element.text_content() or "").split())[:200]
        yield Candidate(url=url, title=title, kind=kind, confidence=confidence)
