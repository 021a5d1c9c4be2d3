"""Documents → items, for a document alone and for a whole batch of the landing log."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TypeAlias

import pyarrow as pa

from feedweir.acquire.parse.entries import Feed
from feedweir.acquire.parse.feed_formats import DEFAULT_LIMITS, DocumentLimits, read_feed
from feedweir.acquire.parse.id_paths import cut_of, identified
from feedweir.acquire.parse.item_rows import ItemRows
from feedweir.errors import DocumentError
from feedweir.items.gc_pause import gc_paused
from feedweir.items.model import Document, FeedDescription, Item
from feedweir.items.numbering import first_seq
from feedweir.items.schema import items_of

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


def parsed(document: Document, feed: Feed) -> ParsedDocument:
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
