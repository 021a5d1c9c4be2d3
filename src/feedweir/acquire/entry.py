"""An entry as it is read: the one shape that every format is brought to before it becomes an item."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from feedweir.items.html import all_sanitised, is_web_link
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
    related: tuple[str, ...] = ()
    """Other links of the entry itself."""
    authors: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    published_us: int | None = None
    updated_us: int | None = None
    language: str = ""
    enclosures: tuple[tuple[str, str, int], ...] = ()
    """(url, type, length)"""
    extensions: tuple[tuple[str, str], ...] = ()
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
    links: Sequence[str]
    authors: tuple[str, ...]
    categories: tuple[str, ...]
    published: int | None
    """Times are microseconds since 1970."""
    updated: int | None
    language: str
    enclosures: tuple[tuple[str, str, int], ...]
    extensions: tuple[tuple[str, str], ...]
    raw: str


def rows_of(feed: Feed) -> list[Row]:
    """The entries of a document in the order of the stream: the last entry is the oldest and comes first."""
    entries = feed.entries
    bases = [entry.base for entry in entries]
    summaries, summary_links = all_sanitised([entry.summary for entry in entries], bases=bases)
    contents, content_links = all_sanitised([_own_content(entry) for entry in entries], bases=bases)
    rows = [
        _row(feed, entry, summary, content, (*in_summary, *in_content))
        for entry, summary, content, in_summary, in_content in zip(
            entries, summaries, contents, summary_links, content_links, strict=True
        )
    ]
    return _identified(rows)[::-1]


def _identified(rows: list[Row]) -> list[Row]:
    """Rows with their identities, without those that only repeat another."""
    guids = {row.identity for row in rows}
    if len(guids) == len(rows) and "" not in guids:
        return rows
    claims = [Claim(row.identity, row.link, row.fingerprint) for row in rows]
    return [
        row if identity == row.identity else row._replace(identity=identity)
        for identity, row in zip(identities(claims), rows, strict=True)
        if identity is not None
    ]


def _own_content(entry: Entry) -> str:
    """The content where it is not the summary once more, which need not be made safe twice."""
    return "" if entry.content == entry.summary else entry.content


def _row(feed: Feed, entry: Entry, summary: str, content: str, inside: tuple[str, ...]) -> Row:
    """An entry made safe, with the links inside its HTML; its identity is the bare guid as yet."""
    content = summary if entry.content == entry.summary else content
    authors = entry.authors or feed.authors
    files = [url for url, _, _ in entry.enclosures] if entry.enclosures else ()
    seen = fingerprint(entry.title, summary, content, entry.link, *authors, "", *entry.categories, "", *files)
    return Row(
        entry.guid,
        seen,
        entry.title,
        summary,
        content,
        entry.link,
        _links((entry.link, *entry.related), inside, files),
        authors,
        entry.categories,
        entry.updated_us if entry.published_us is None else entry.published_us,
        entry.updated_us,
        entry.language or feed.description.language,
        entry.enclosures,
        entry.extensions,
        entry.raw,
    )


def _links(own: tuple[str, ...], inside: tuple[str, ...], files: Sequence[str]) -> Sequence[str]:
    """Every web link once, in order; those inside the HTML are known to be some."""
    web = [url for url in own if is_web_link(url)]
    if inside:
        web += inside
    if files:
        web += [url for url in files if is_web_link(url)]
    return list(dict.fromkeys(web)) if len(web) > 1 else web
