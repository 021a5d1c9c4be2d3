"""What no cure could make readable: feedparser, slow and patient, given bytes and never an address."""

from __future__ import annotations

import calendar
from typing import Any

import feedparser

from feedweir.acquire.entries import Entry, Feed, entries_of
from feedweir.items.html import absolute, one_line, title_text
from feedweir.items.model import FeedDescription


def read_with_feedparser(body: bytes, *, url: str, max_items: int) -> Feed | None:
    """The feed that feedparser finds; nothing when it finds no entries either."""
    try:
        found = feedparser.parse(body, sanitize_html=False, resolve_relative_uris=False)
    except Exception:  # it raises whatever its parsers raise, and this is only a last attempt
        return None
    entries = [_entry(said, url) for said in found.entries[:max_items]]
    said = found.feed
    description = FeedDescription(
        title=title_text(said.get("title", "")),
        description=one_line(said.get("subtitle", "")),
        link=absolute(said.get("link", ""), url),
        language=said.get("language", ""),
    )
    return Feed(description, entries_of(entries), warnings=("read by the last resort",)) if entries else None


def _entry(said: Any, url: str) -> Entry:
    contents = said.get("content") or [{}]
    return Entry(
        guid=said.get("id", ""),
        title=title_text(said.get("title", "")),
        summary=said.get("summary", ""),
        content=contents[0].get("value", ""),
        link=absolute(said.get("link", ""), url),
        authors=tuple(
            name for name in (author.get("name", "") for author in said.get("authors", [])) if name
        ),
        categories=tuple(term for term in (tag.get("term") for tag in said.get("tags", [])) if term),
        published_us=_moment_us(said.get("published_parsed")),
        updated_us=_moment_us(dict.get(said, "updated_parsed")),  # its own `get` answers with another date
        enclosures=tuple(
            (address, file.get("type", ""), 0)
            for file in said.get("enclosures", [])
            if (address := absolute(file.get("href", ""), url))
        ),
        base=url,
    )


def _moment_us(moment: Any) -> int | None:
    return calendar.timegm(moment) * 1_000_000 if moment else None
