"""Documents → items: the one way in, for a document alone and for a whole batch of the landing log.

The order of attempts: strict and fast; cured of the usual illnesses; forgiving; feedparser. Whatever a
document is, the outcome is items or one `DocumentError` with a reason.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, TypeAlias

import pyarrow as pa

from feedweir.acquire.columns import ItemColumns
from feedweir.acquire.documents import MEDIA_TYPE as DOCUMENT
from feedweir.acquire.documents import read_document
from feedweir.acquire.encodings import decoded
from feedweir.acquire.entries import Feed
from feedweir.acquire.generation import marked
from feedweir.acquire.html_page import feed_in_page, html_page_error, is_html_page
from feedweir.acquire.id_paths import identified
from feedweir.acquire.json_feed import DOCUMENTS, read_json_feed
from feedweir.acquire.last_resort import read_with_feedparser
from feedweir.acquire.lxml_element import LxmlElement
from feedweir.acquire.rows import COLUMNS, rows_of
from feedweir.acquire.tape import tape_of
from feedweir.acquire.tape_element import TapeElement
from feedweir.acquire.tape_kernels import MAX_DEPTH
from feedweir.acquire.tolerant import closed_entries, is_entity_bomb
from feedweir.acquire.xml_feed import read_xml_feed
from feedweir.acquire.xml_tree import xml_tree
from feedweir.errors import DocumentError
from feedweir.items.model import Document, Enclosure, FeedDescription, Item
from feedweir.items.numbering import MAX_ITEMS_PER_DOCUMENT, first_seq
from feedweir.items.uncollected import uncollected

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How much of a document is read."""

    max_bytes: int = 32 << 20
    max_depth: int = 256
    max_items: int = 10_000


DEFAULT_LIMITS = Limits()

Watch: TypeAlias = Callable[[int, int], None]
"""Told the row and the size of each document before it is read, and in the end those of all together."""


def _unwatched(row: int, size: int) -> None:
    """Nobody limits what reading may cost."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedDocument:
    """What a document says. Items are in the order of the stream, the oldest first, and numbered."""

    description: FeedDescription
    items: tuple[Item, ...]
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedBatch:
    """What a batch of documents says; failures and warnings name the document's number and its source."""

    items: pa.RecordBatch
    failures: tuple[tuple[int, str, str], ...]
    descriptions: tuple[tuple[str, FeedDescription], ...]
    warnings: tuple[tuple[int, str, str], ...] = ()


def parse(document: Document, *, limits: Limits = DEFAULT_LIMITS) -> ParsedDocument:
    """The feed and the items of one document; raises `DocumentError` when it is no feed."""
    feed = read_feed(document.body, media_type=document.media_type, url=document.url, limits=limits)
    feed = identified(feed, document.id_path)
    rows = rows_of(feed)
    cells = zip(*[getattr(rows, name) for name in COLUMNS], strict=True)
    items = [_item(document, place, dict(zip(COLUMNS, row, strict=True))) for place, row in enumerate(cells)]
    return ParsedDocument(description=feed.description, items=tuple(items), warnings=feed.warnings)


def parse_batch(
    documents: pa.RecordBatch | pa.Table, *, limits: Limits = DEFAULT_LIMITS, watch: Watch = _unwatched
) -> ParsedBatch:
    """The items of many documents as columns; a document that cannot be read is a failure and nothing
    more."""
    with uncollected():
        return _parse_batch(documents, limits, watch)


def _parse_batch(documents: pa.RecordBatch | pa.Table, limits: Limits, watch: Watch) -> ParsedBatch:
    columns = ItemColumns()
    failures: list[tuple[int, str, str]] = []
    descriptions: list[tuple[str, FeedDescription]] = []
    warnings: list[tuple[int, str, str]] = []
    row = size = 0
    rows_read = enumerate(_documents(documents))
    for row, (number, source, url, media_type, arrived_us, id_path, body) in rows_read:
        watch(row, len(body))
        size += len(body)
        try:
            feed = identified(read_feed(body, media_type=media_type, url=url, limits=limits), id_path)
            rows = rows_of(feed)
        except DocumentError as error:
            failures.append((number, source, str(error)))
            continue
        except MemoryError:  # what is left of the process is for its owner to judge
            raise
        except Exception as error:  # what a hostile document found in our code is still only its own failure
            failures.append((number, source, f"the document could not be read: {error!r}"))
            continue
        columns.add(rows, source=source, first_seq=first_seq(number), arrived_us=arrived_us)
        descriptions.append((source, feed.description))
        warnings += [(number, source, warning) for warning in feed.warnings]
    watch(row + 1, size)
    return ParsedBatch(
        items=columns.batch(),
        failures=tuple(failures),
        descriptions=tuple(descriptions),
        warnings=tuple(warnings),
    )


def read_feed(body: bytes, *, media_type: str, url: str, limits: Limits) -> Feed:
    """A document as entries that are not yet items."""
    if len(body) > limits.max_bytes:
        raise DocumentError(
            f"the document has {len(body)} bytes, more than the {limits.max_bytes} that are read"
        )
    if not body.strip():
        raise DocumentError("the document is empty")
    if media_type.startswith(DOCUMENT):
        return read_document(body, url=url)
    max_items = min(limits.max_items, MAX_ITEMS_PER_DOCUMENT)
    text = decoded(body, media_type)
    start = text.body.lstrip()[:1]
    if start in (b"{", b"["):
        are_documents = media_type.startswith(DOCUMENTS)
        feed = read_json_feed(text.body, url=url, max_items=max_items, are_documents=are_documents)
    else:
        feed = _read_xml(text.body.lstrip(), url, limits, max_items)
    return marked(feed, media_type).warned(text.warning)


def _read_xml(body: bytes, url: str, limits: Limits, max_items: int) -> Feed:
    if is_html_page(body):
        return _read_wrapped(body, url, limits, max_items)
    tape = tape_of(body) if limits.max_depth >= MAX_DEPTH else None
    if tape is not None:
        return read_xml_feed(TapeElement(tape, 0), url=url, has_bases=tape.has_bases, max_items=max_items)
    return _read_tree(body, url, limits, max_items)


def _read_wrapped(body: bytes, url: str, limits: Limits, max_items: int) -> Feed:
    """A feed inside a page, or behind the doctype of one; raises `DocumentError` for any other page."""
    inside = feed_in_page(body)
    try:
        feed = _read_xml(inside, url, limits, max_items) if inside else None
    except DocumentError:
        feed = None
    if feed is None or not len(feed.entries):
        raise html_page_error(body, url)
    return feed.warned("the feed is inside an HTML page")


def _read_tree(body: bytes, url: str, limits: Limits, max_items: int) -> Feed:
    """The way of every document that has no tape."""
    if is_entity_bomb(body):
        raise DocumentError(
            "the document declares entities made of other entities, as an entity bomb does",
            hint="feeds have no use for them; ask the publisher",
        )
    try:
        tree = xml_tree(body, max_depth=limits.max_depth)
        feed = read_xml_feed(
            LxmlElement(tree.root),
            url=url,
            has_bases=b"xml:base" in body,
            max_items=max_items,
            closed_entries=tree.closed_entries,
        )
    except DocumentError:
        rescued = _rescued(body, url, max_items)
        if rescued is None:
            raise
        return rescued
    if not len(feed.entries) and tree.closed_entries is not None:
        feed = _rescued(body, url, max_items) or feed
    return feed.warned(tree.warning)


def _rescued(body: bytes, url: str, max_items: int) -> Feed | None:
    """The last resort, asked only when there is at least one whole entry to find."""
    whole = closed_entries(body.decode("utf-8", "replace"))
    return read_with_feedparser(body, url=url, max_items=min(whole, max_items)) if whole else None


def _documents(batch: pa.RecordBatch | pa.Table) -> Iterator[tuple[int, str, str, str, int, str, bytes]]:
    """The rows of `DOCUMENT_SCHEMA`, bodies one at a time."""
    arrived = batch["arrived"].cast(pa.int64())
    names = ("number", "source", "url", "media_type", "id_path")
    columns = [batch[name].to_pylist() for name in names]
    rows = zip(*columns, arrived.to_pylist(), batch["body"], strict=True)
    for number, source, url, media_type, id_path, arrived_us, body in rows:
        yield number, source, url or "", media_type or "", arrived_us, id_path or "", body.as_py() or b""


def _item(document: Document, place: int, row: dict[str, Any]) -> Item:
    return Item(
        source=document.source,
        identity=row["identity"],
        seq=first_seq(document.number) + place,
        title=row["title"],
        summary=row["summary"],
        content=row["content"],
        link=row["link"],
        links=tuple(row["links"]),
        authors=row["authors"],
        categories=row["categories"],
        published=_moment(row["published"]),
        updated=_moment(row["updated"]),
        arrived=document.arrived,
        language=row["language"],
        enclosures=tuple(Enclosure(url=url, type=kind, length=size) for url, kind, size in row["enclosures"]),
        extensions=row["extensions"],
        raw=row["raw"].decode(),
    )


def _moment(microseconds: int | None) -> datetime | None:
    return None if microseconds is None else _EPOCH + timedelta(microseconds=microseconds)
