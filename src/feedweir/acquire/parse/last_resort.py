"""Documents that could not be repaired, read by feedparser: slow and tolerant. It is given bytes, never an address."""

from __future__ import annotations

import calendar
from typing import Any

import feedparser

from feedweir.acquire.parse.entries import Feed, entries_of
from feedweir.items.model import FeedDescription
from feedweir.text.html import absolute, one_line, title_text


def read_with_feedparser(body: bytes, *, url: str, max_items: int) -> Feed | None:
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
        Feed(description, entries_of(entries), warnings=("parsed with feedparser, as a last resort",))
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
