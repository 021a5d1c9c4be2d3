"""What tasks log at debug of the documents and items that pass through them."""

from __future__ import annotations

from collections import Counter

import pyarrow as pa

from feedweir.acquire.parse.parser import ParsedBatch
from feedweir.health.item_log import hand_over, is_followed
from feedweir.items.numbering import document_of


def log_parsed(
    batch: int, documents: pa.RecordBatch, parsed: ParsedBatch, news: pa.RecordBatch | None = None
) -> None:
    """Of each document how many items it has and, if that is known, how many of them are new; and those."""
    if not is_followed():
        return
    named = _by_document(parsed.items)
    new = _by_document(news) if news is not None else Counter[int]()
    refused = {number: reason for number, _, reason in parsed.failures}
    for number, source in zip(*_columns(documents, "number", "source"), strict=True):
        if number in refused:
            hand_over("refused", batch=batch, document=number, source=source, reason=refused[number])
        else:
            known = {"new": new[number]} if news is not None else {}
            hand_over("parsed", batch=batch, document=number, source=source, items=named[number], **known)
    if news is not None:
        log_new(batch, news)


def log_new(batch: int, news: pa.RecordBatch) -> None:
    """Of each new item its number and guid."""
    if not is_followed():
        return
    for seq, source, guid, revision in zip(
        *_columns(news, "seq", "source", "identity", "revision"), strict=True
    ):
        hand_over(
            "new",
            batch=batch,
            item=seq,
            document=document_of(seq),
            source=source,
            guid=guid,
            revision=revision,
        )


def log_elements(event: str, batch: int, elements: pa.Table) -> None:
    """Of each item the feeds that it is in."""
    if not is_followed():
        return
    feeds: dict[int, list[int]] = {}
    for feed, seq in zip(*_columns(elements, "feed", "seq"), strict=True):
        feeds.setdefault(seq, []).append(feed)
    for seq, ids in sorted(feeds.items()):
        hand_over(event, batch=batch, item=seq, feeds=ids)


def _columns(rows: pa.RecordBatch | pa.Table, *names: str) -> list[list[object]]:
    return [rows.column(name).to_pylist() for name in names]


def _by_document(items: pa.RecordBatch) -> Counter[int]:
    return Counter(map(document_of, items.column("seq").to_pylist()))
