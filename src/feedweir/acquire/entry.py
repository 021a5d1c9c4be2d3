"""An entry as it is read: the one shape that every format is brought to before it becomes an item."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from feedweir.items.html import is_web_link, links_in, sanitised
from feedweir.items.identity import Claim, fingerprint, identities
from feedweir.items.model import FeedDescription


@dataclass(slots=True)
class Entry:
    """What one entry says, filled in while its elements are read. HTML is not yet sanitised, links are
    absolute."""

    guid: str = ""
    title: str = ""
    summary: str = ""
    content: str = ""
    link: str = ""
    related: list[str] = field(default_factory=list)
    """Other links of the entry itself."""
    authors: list[str] = field(default_factory=list)
    categories: list[str] = field(default_factory=list)
    published_us: int | None = None
    updated_us: int | None = None
    language: str = ""
    enclosures: list[tuple[str, str, int]] = field(default_factory=list)
    """(url, type, length)"""
    extensions: list[tuple[str, str]] = field(default_factory=list)
    base: str = ""
    raw: str = ""


@dataclass(frozen=True, slots=True)
class Feed:
    """A document as it is read: entries in document order."""

    description: FeedDescription
    entries: Sequence[Entry]
    authors: tuple[str, ...] = ()
    """Whose entries these are when they do not say."""
    warnings: tuple[str, ...] = ()


class Row(NamedTuple):
    """A finished entry: what `ITEM_SCHEMA` holds of it apart from its number and its document."""

    identity: str
    fingerprint: int
    title: str
    summary: str
    content: str
    link: str
    links: list[str]
    authors: list[str]
    categories: list[str]
    published: int | None
    """Times are microseconds since 1970."""
    updated: int | None
    language: str
    enclosures: list[tuple[str, str, int]]
    extensions: list[tuple[str, str]]
    raw: str


def rows_of(feed: Feed) -> list[Row]:
    """The entries of a document in the order of the stream: the last entry is the oldest and comes first."""
    rows = [_row(entry, feed) for entry in feed.entries]
    claims = [Claim(row.identity, row.link, row.fingerprint) for row in rows]
    result = [
        row if identity == row.identity else row._replace(identity=identity)
        for identity, row in zip(identities(claims), rows, strict=True)
        if identity is not None
    ]
    result.reverse()
    return result


def _row(entry: Entry, feed: Feed) -> Row:
    """An entry made safe; its identity is the bare guid as yet."""
    summary = sanitised(entry.summary, base=entry.base)
    content = summary if entry.content == entry.summary else sanitised(entry.content, base=entry.base)
    authors = entry.authors or list(feed.authors)
    files = [url for url, _, _ in entry.enclosures]
    seen = fingerprint(entry.title, summary, content, entry.link, *authors, "", *entry.categories, "", *files)
    published = entry.updated_us if entry.published_us is None else entry.published_us
    return Row(
        entry.guid,
        seen,
        entry.title,
        summary,
        content,
        entry.link,
        _links(entry, summary, content, files),
        authors,
        entry.categories,
        published,
        entry.updated_us,
        entry.language or feed.description.language,
        entry.enclosures,
        entry.extensions,
        entry.raw,
    )


def _links(entry: Entry, summary: str, content: str, files: list[str]) -> list[str]:
    """Every absolute link once, in order."""
    inside = links_in(summary) + (links_in(content) if content is not summary else [])
    if not inside and not files and not entry.related:
        return [entry.link] if is_web_link(entry.link) else []
    every = dict.fromkeys([entry.link, *entry.related, *inside, *files])
    return [url for url in every if is_web_link(url)]
