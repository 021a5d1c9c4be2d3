"""HTML pages in place of feeds: the error for them names where their feeds are, or may be."""

from __future__ import annotations

import re

from feedweir.acquire.fetch.discovery import Candidate, Confidence, discover
from feedweir.errors import DocumentError

_IS_PAGE = re.compile(
    rb"\s*+(?:<\?xml[^>]*+>\s*+)?+(?:(?><!--.*?-->)\s*+)*+<(?:!doctype\s+html|html|head|body)\b",
    re.IGNORECASE | re.DOTALL,
)
_FEED_ROOT = re.compile(rb"<((?:[A-Za-z][\w.-]*:)?(?:rss|feed|RDF))(?=[\s>])")
_MOST_NAMED = 5
_HINTS = {
    Confidence.DECLARED: "it advertises",
    Confidence.LINKED: "it advertises no feed, but links to",
    Confidence.USUAL: "it advertises no feed; a site may have one at",
}


def is_html_page(body: bytes) -> bool:
    return _IS_PAGE.match(body[:4096]) is not None


def feed_in_page(body: bytes) -> bytes:
    """The feed that a page is wrapped around, from its opening tag to its closing tag, or to the end of a page that is
    cut off; empty when there is none."""
    root = _FEED_ROOT.search(body)
    if root is None:
        return b""
    end = body.rfind(b"</" + root[1] + b">", root.end())
    return body[root.start() :] if end < 0 else body[root.start() : end] + b"</" + root[1] + b">"


def html_page_error(body: bytes, url: str) -> DocumentError:
    """The error for a page (in UTF-8), whose hint names its feeds.

    Those that are not declared are only named: a guess is the user's to try, not ours to ask a server for.
    """
    found = discover(body, url, "text/html; charset=utf-8")
    return DocumentError("the document is an HTML page, not a feed", hint=_hint(found))


def _hint(found: tuple[Candidate, ...]) -> str:
    if not found:
        return "it advertises no feed"
    surest = [candidate for candidate in found if candidate.confidence is found[0].confidence]
    return f"{_HINTS[surest[0].confidence]} {', '.join(one.url for one in surest[:_MOST_NAMED])}"
