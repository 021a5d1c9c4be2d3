"""Documents → items, for a document alone and for a whole batch of the landing log.

Items are made as columns: HTML made safe, links collected, every entry identified. No Python object is made for a cell
beyond those that reading made.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import accumulate, chain
from typing import Any, TypeAlias

import pyarrow as pa

from feedweir.acquire.parse.entries import NOTHING, Entries, ParsedFeed
from feedweir.acquire.parse.feed_formats import DEFAULT_LIMITS, DocumentLimits, read_feed
from feedweir.acquire.parse.id_paths import cut_of, identified
from feedweir.errors import DocumentError
from feedweir.items.gc_pause import gc_paused
from feedweir.items.identity import Claim, fingerprints, identities
from feedweir.items.model import Document, FeedDescription, Item
from feedweir.items.numbering import first_seq
from feedweir.items.schema import ITEM_SCHEMA, items_of
from feedweir.text.html import all_sanitised, are_web_links, is_web_link

_MAX_SHARED_AUTHORS = 20
_MAX_SHARED_CHARS = 200
"""Limits for what a feed states once, which is repeated in each entry."""

_OF_DOCUMENT = ("seq", "source", "arrived", "revision")
"""Columns that depend on the document, not on its content."""
_OF_ENTRIES = tuple(name for name in ITEM_SCHEMA.names if name not in _OF_DOCUMENT)
Columns: TypeAlias = dict[str, list[Any]]


class ItemRows:
    """The items of several documents, collected until they become one batch."""

    def __init__(self) -> None:
        self._columns: Columns = {name: [] for name in ITEM_SCHEMA.names}

    def add(self, feed: ParsedFeed, *, source: str, first_seq: int, arrived_us: int) -> None:
        """The items of a document in the order of the stream: the last entry is the oldest and comes first."""
        found, columns = _identified(_finished(feed)), self._columns
        count = len(found["identity"])
        for name in _OF_ENTRIES:
            columns[name] += found[name]
        columns["seq"] += range(first_seq, first_seq + count)
        columns["source"] += [source] * count
        columns["arrived"] += [arrived_us] * count
        columns["revision"] += [0] * count

    def batch(self) -> pa.RecordBatch:
        """Everything added so far."""
        return pa.record_batch(
            [_array(self._columns[field.name], field.type) for field in ITEM_SCHEMA], schema=ITEM_SCHEMA
        )


def _identified(rows: Columns) -> Columns:
    """The last row first, each under its identity instead of its guid, without those that repeat another."""
    guids = rows["identity"]
    if len(set(guids)) == len(guids) and "" not in guids:
        return {name: values[::-1] for name, values in rows.items()}
    claims = zip(guids, rows["link"], rows["fingerprint"], strict=True)
    names = identities([Claim(*claim) for claim in claims])
    kept = [place for place, name in enumerate(names) if name is not None][::-1]
    return {name: [values[place] for place in kept] for name, values in {**rows, "identity": names}.items()}


def _finished(feed: ParsedFeed) -> Columns:
    """Entries made safe, with the links inside their HTML; their identity is still the bare guid."""
    entries = feed.entries
    stated: Columns = {name: getattr(entries, name) for name in _OF_ENTRIES if name in NOTHING}
    summary, content, inside = _made_safe(entries)
    authors = entries.authors
    if feed.authors:
        shared = tuple([name[:_MAX_SHARED_CHARS] for name in feed.authors[:_MAX_SHARED_AUTHORS]])
        authors = [own or shared for own in authors]
    language = feed.description.language[:_MAX_SHARED_CHARS]
    files = [tuple([url for url, _, _ in found]) if found else () for found in entries.enclosures]
    shown = (entries.whole, entries.title, summary, content, entries.link, authors, entries.categories, files)
    return stated | {
        "identity": entries.guid,
        "fingerprint": fingerprints(_shown(*cells) for cells in zip(*shown, strict=True)),
        "summary": summary,
        "content": content,
        "links": _links(entries, inside, files),
        "authors": authors,
        "published": [
            updated if published is None else published
            for published, updated in zip(entries.published, entries.updated, strict=True)
        ],
        "language": [own or language for own in entries.language] if language else entries.language,
    }


def _shown(
    whole: str,
    title: str,
    summary: str,
    content: str,
    link: str,
    authors: tuple[str, ...],
    categories: tuple[str, ...],
    files: tuple[str, ...],
) -> tuple[str, ...]:
    """The fields a reader sees, from which an item's fingerprint is computed."""
    return (whole,) if whole else (title, summary, content, link, *authors, "", *categories, "", *files)


def _made_safe(entries: Entries) -> tuple[list[str], list[str], list[Sequence[str]]]:
    """(summaries, contents, links inside both) of HTML that is safe. A content that repeats the summary is
    not sanitised twice."""
    count = len(entries)
    own = [
        "" if content == summary else content
        for content, summary in zip(entries.content, entries.summary, strict=True)
    ]
    htmls, links = all_sanitised(entries.summary + own, bases=entries.base * 2)
    summaries, contents = htmls[:count], htmls[count:]
    if own != entries.content:
        contents = [
            summary if not mine and whole else content
            for summary, content, mine, whole in zip(summaries, contents, own, entries.content, strict=True)
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


def _array(values: Sequence[Any], kind: pa.DataType) -> pa.Array:
    if pa.types.is_timestamp(kind):
        return pa.array(values, pa.int64()).cast(kind)
    if not pa.types.is_list(kind):
        return pa.array(values, kind)
    offsets = pa.array([0, *accumulate(map(len, values))], pa.int32())
    return pa.ListArray.from_arrays(
        offsets, _values(list(chain.from_iterable(values)), kind.value_type), type=kind
    )


def _values(values: list[Any], kind: pa.DataType) -> pa.Array:
    """The flat values of a list column; structs come as tuples in the order of their fields."""
    if not pa.types.is_struct(kind):
        return pa.array(values, kind)
    fields = [kind.field(i) for i in range(kind.num_fields)]
    parts = zip(*values, strict=True) if values else ([] for _ in fields)
    return pa.StructArray.from_arrays(
        [pa.array(part, field.type) for part, field in zip(parts, fields, strict=True)], fields=fields
    )


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


Watch: TypeAlias = Callable[[int, int], None]
"""Called with the row and the size of each document before it is read, and at the end with those of all together."""


def _unwatched(row: int, size: int) -> None:
    """No limit on what reading may cost."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedDocument:
    """The content of a document. Items are numbered in the order of the stream, the oldest first."""

    description: FeedDescription
    items: tuple[Item, ...]
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedBatch:
    """The content of a batch of documents; failures and warnings name the document's number and its source."""

    items: pa.RecordBatch
    failures: tuple[tuple[int, str, str], ...]
    descriptions: tuple[tuple[str, FeedDescription], ...]
    warnings: tuple[tuple[int, str, str], ...] = ()


def parse(document: Document, *, limits: DocumentLimits = DEFAULT_LIMITS) -> ParsedDocument:
    """The feed and the items of one document; raises `DocumentError` when it is not a feed."""
    return parsed(
        document,
        read_feed(
            document.body,
            media_type=document.media_type,
            url=document.url,
            limits=limits,
            cut=cut_of(document.id_path),
        ),
    )


def parsed(document: Document, feed: ParsedFeed) -> ParsedDocument:
    """The items of a document, given the feed that it was read as."""
    feed = identified(feed, document.id_path)
    rows = ItemRows()
    arrived_us = (document.arrived - _EPOCH) // _MICROSECOND
    rows.add(feed, source=document.source, first_seq=first_seq(document.number), arrived_us=arrived_us)
    items = tuple(items_of(rows.batch()))
    return ParsedDocument(description=feed.description, items=items, warnings=feed.warnings)


def parse_batch(
    documents: pa.RecordBatch | pa.Table,
    *,
    limits: DocumentLimits = DEFAULT_LIMITS,
    watch: Watch = _unwatched,
) -> ParsedBatch:
    """The items of many documents as columns; a document that cannot be read is recorded as a
    failure."""
    with gc_paused():
        return _parse_batch(documents, limits, watch)


def _parse_batch(documents: pa.RecordBatch | pa.Table, limits: DocumentLimits, watch: Watch) -> ParsedBatch:
    rows = ItemRows()
    failures: list[tuple[int, str, str]] = []
    descriptions: list[tuple[str, FeedDescription]] = []
    warnings: list[tuple[int, str, str]] = []
    row = size = 0
    rows_read = enumerate(_documents(documents))
    for row, (number, source, url, media_type, arrived_us, id_path, body) in rows_read:
        watch(row, len(body))
        size += len(body)
        try:
            read = read_feed(body, media_type=media_type, url=url, limits=limits, cut=cut_of(id_path))
            feed = identified(read, id_path)
            rows.add(feed, source=source, first_seq=first_seq(number), arrived_us=arrived_us)
        except DocumentError as error:
            failures.append((number, source, str(error)))
            continue
        except MemoryError:  # the owner of the process decides what to do
            raise
        except Exception as error:  # a hostile document that finds a fault in our code fails alone
            failures.append((number, source, f"the document could not be read: {error!r}"))
            continue
        descriptions.append((source, feed.description))
        warnings += [(number, source, warning) for warning in feed.warnings]
    watch(row + 1, size)
    return ParsedBatch(
        items=rows.batch(),
        failures=tuple(failures),
        descriptions=tuple(descriptions),
        warnings=tuple(warnings),
    )


def _documents(batch: pa.RecordBatch | pa.Table) -> Iterator[tuple[int, str, str, str, int, str, bytes]]:
    """The rows of `DOCUMENT_SCHEMA`, bodies one at a time."""
    arrived = batch["arrived"].cast(pa.int64())
    names = ("number", "source", "url", "media_type", "id_path")
    columns = [batch[name].to_pylist() for name in names]
    rows = zip(*columns, arrived.to_pylist(), batch["body"], strict=True)
    for number, source, url, media_type, id_path, arrived_us, body in rows:
        yield number, source, url or "", media_type or "", arrived_us, id_path or "", body.as_py() or b""
