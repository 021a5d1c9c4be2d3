"""Entries → rows: HTML made safe, links collected, every entry identified."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

from feedweir.acquire.entries import Entries, Feed, File
from feedweir.items.html import all_sanitised, are_web_links, is_web_link
from feedweir.items.identity import Claim, fingerprints, identities

_MAX_SHARED_AUTHORS = 20
_MAX_SHARED_CHARS = 200
"""What a feed says once for all of its entries is repeated in each of them."""


@dataclass(slots=True)
class Rows:
    """Finished entries: what `ITEM_SCHEMA` holds of them apart from their numbers and their document."""

    identity: list[str]
    fingerprint: list[int]
    title: list[str]
    summary: list[str]
    content: list[str]
    link: list[str]
    links: list[Sequence[str]]
    authors: list[tuple[str, ...]]
    categories: list[tuple[str, ...]]
    published: list[int | None]
    """Times are microseconds since 1970."""
    updated: list[int | None]
    language: list[str]
    enclosures: list[tuple[File, ...]]
    extensions: list[tuple[tuple[str, str], ...]]
    raw: list[bytes]
    """In UTF-8."""

    def __len__(self) -> int:
        return len(self.identity)


COLUMNS = tuple(column.name for column in fields(Rows))


def rows_of(feed: Feed) -> Rows:
    """The entries of a document in the order of the stream: the last entry is the oldest and comes first."""
    rows = _rows(feed)
    guids = set(rows.identity)
    if len(guids) == len(rows) and "" not in guids:
        return Rows(*[getattr(rows, name)[::-1] for name in COLUMNS])
    claims = zip(rows.identity, rows.link, rows.fingerprint, strict=True)
    names = identities([Claim(*claim) for claim in claims])
    kept = [place for place, name in enumerate(names) if name is not None][::-1]
    finished = Rows(*[[values[place] for place in kept] for values in _columns(rows)])
    finished.identity = [name for name in names[::-1] if name is not None]
    return finished


def _columns(rows: Rows) -> list[list[Any]]:
    return [getattr(rows, name) for name in COLUMNS]


def _rows(feed: Feed) -> Rows:
    """Entries made safe, with the links inside their HTML; their identity is the bare guid as yet."""
    entries = feed.entries
    summaries, contents, inside = _made_safe(entries)
    authors = entries.authors
    if feed.authors:
        shared = tuple([name[:_MAX_SHARED_CHARS] for name in feed.authors[:_MAX_SHARED_AUTHORS]])
        authors = [said or shared for said in authors]
    language = feed.description.language[:_MAX_SHARED_CHARS]
    files = [tuple([url for url, _, _ in found]) if found else () for found in entries.enclosures]
    return Rows(
        entries.guid,
        fingerprints(
            (whole,) if whole else (title, summary, content, link, *people, "", *categories, "", *urls)
            for whole, title, summary, content, link, people, categories, urls in zip(
                entries.whole,
                entries.title,
                summaries,
                contents,
                entries.link,
                authors,
                entries.categories,
                files,
                strict=True,
            )
        ),
        entries.title,
        summaries,
        contents,
        entries.link,
        _links(entries, inside, files),
        authors,
        entries.categories,
        [
            updated if published is None else published
            for published, updated in zip(entries.published_us, entries.updated_us, strict=True)
        ],
        entries.updated_us,
        [said or language for said in entries.language] if language else entries.language,
        entries.enclosures,
        entries.extensions,
        entries.raw,
    )


def _made_safe(entries: Entries) -> tuple[list[str], list[str], list[Sequence[str]]]:
    """(summaries, contents, links inside both) of HTML that is safe. A content that is the summary once more need not
    be made safe twice."""
    count = len(entries)
    own = [
        "" if content == summary else content
        for content, summary in zip(entries.content, entries.summary, strict=True)
    ]
    htmls, links = all_sanitised(entries.summary + own, bases=entries.base * 2)
    summaries, contents = htmls[:count], htmls[count:]
    if own != entries.content:
        contents = [
            summary if not mine and said else content
            for summary, content, mine, said in zip(summaries, contents, own, entries.content, strict=True)
        ]
    inside = [
        (*one, *two) if one and two else one or two
        for one, two in zip(links[:count], links[count:], strict=True)
    ]
    return summaries, contents, inside


def _links(
    entries: Entries, inside: list[Sequence[str]], files: list[tuple[str, ...]]
) -> list[Sequence[str]]:
    """Every web link of an entry once, in order; those inside the HTML are known to be some."""
    if not any(entries.related) and not any(files) and are_web_links(entries.link):
        return [
            list(dict.fromkeys((link, *found))) if found else (link,)
            for link, found in zip(entries.link, inside, strict=True)
        ]
    return [
        _web_links(link, related, found, urls)
        for link, related, found, urls in zip(entries.link, entries.related, inside, files, strict=True)
    ]


def _web_links(
    link: str, related: tuple[str, ...], inside: Sequence[str], files: tuple[str, ...]
) -> Sequence[str]:
    own = [url for url in (link, *related) if is_web_link(url)]
    return list(dict.fromkeys((*own, *inside, *[url for url in files if is_web_link(url)])))
