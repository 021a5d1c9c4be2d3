"""A page where a feed was expected: said so, with the feeds that the page advertises."""

from __future__ import annotations

import re

from feedweir.errors import DocumentError
from feedweir.items.html import absolute

_IS_PAGE = re.compile(
    rb"\s*(?:<\?xml[^>]*>\s*)?(?:<!--.*?-->\s*)*<(?:!doctype\s+html|html|head|body)\b",
    re.IGNORECASE | re.DOTALL,
)
_LINK = re.compile(r"<link\b[^>]*>", re.IGNORECASE)
_ATTRIBUTE = re.compile(r"""([a-zA-Z]+)\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))""")
_FEED_TYPES = ("application/rss+xml", "application/atom+xml", "application/feed+json", "application/rdf+xml")
_HEAD_BYTES = 200_000


def is_html_page(body: bytes) -> bool:
    return _IS_PAGE.match(body[:4096]) is not None


def html_page_error(body: bytes, url: str) -> DocumentError:
    """The error for a page, whose hint names its feeds."""
    feeds = advertised_feeds(body, url)
    hint = f"it advertises: {', '.join(feeds[:5])}" if feeds else "it advertises no feed"
    return DocumentError("the document is an HTML page, not a feed", hint=hint)


def advertised_feeds(body: bytes, url: str) -> list[str]:
    """The addresses of the feeds that a page links to in its head."""
    head = body[:_HEAD_BYTES].decode("utf-8", "replace")
    links = (_attributes(link) for link in _LINK.findall(head))
    feeds = [link for link in links if link.get("type", "").lower() in _FEED_TYPES and link.get("href")]
    return list(dict.fromkeys(absolute(link["href"].replace("&amp;", "&"), url) for link in feeds))


def _attributes(tag: str) -> dict[str, str]:
    return {name.lower(): one or two or three for name, one, two, three in _ATTRIBUTE.findall(tag)}
