"""The formats that documents are written in: how each is recognised, and what reads it.

Whatever a document is, the outcome is a feed or a `DocumentError` with a reason.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from feedweir.acquire.parse.encodings import decoded
from feedweir.acquire.parse.entries import FeedText, ParsedFeed
from feedweir.acquire.parse.generation import marked
from feedweir.acquire.parse.json_feed import is_json, read_json_feed
from feedweir.acquire.parse.other_documents import is_document, read_document
from feedweir.acquire.parse.rdf_changes import is_rdf_change_document, read_rdf_changes
from feedweir.acquire.parse.rdf_items import is_rdf, read_rdf
from feedweir.acquire.parse.xml.xml_reader import read_xml
from feedweir.errors import DocumentError
from feedweir.items.numbering import MAX_ITEMS_PER_DOCUMENT


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentLimits:
    """How much of a document is read."""

    max_bytes: int = 32 << 20
    max_depth: int = 256
    max_items: int = 10_000


DEFAULT_LIMITS = DocumentLimits()


class FeedFormat(NamedTuple):
    """How a format is recognised, and what reads it."""

    is_written: Callable[[FeedText], bool]
    read: Callable[[FeedText], ParsedFeed]


def read_feed(
    body: bytes,
    *,
    media_type: str,
    url: str,
    limits: DocumentLimits,
    formats: Sequence[FeedFormat] = (),
    cut: str = "",
) -> ParsedFeed:
    """A document as entries that are not yet items."""
    if len(body) > limits.max_bytes:
        raise DocumentError(
            f"the document has {len(body)} bytes, more than the {limits.max_bytes} that are read"
        )
    if not body.strip():
        raise DocumentError("the document is empty")
    found = decoded(body, media_type)
    text = FeedText(
        text=found.body.lstrip(),
        media_type=media_type,
        url=url,
        max_items=min(limits.max_items, MAX_ITEMS_PER_DOCUMENT),
        max_depth=limits.max_depth,
        cut=cut,
    )
    read = next(read for is_written, read in formats or FORMATS if is_written(text))
    return marked(read(text), media_type).warned(found.warning)


def _is_anything(document: FeedText) -> bool:
    """Everything else is read as XML; that reader also recognises what is often mistaken for a feed."""
    return True


FORMATS: tuple[FeedFormat, ...] = (
    FeedFormat(is_document, read_document),
    FeedFormat(is_rdf_change_document, read_rdf_changes),
    FeedFormat(is_rdf, read_rdf),
    FeedFormat(is_json, read_json_feed),
    FeedFormat(_is_anything, read_xml),
)
"""In the order in which they are tried; the first that recognises a document reads it."""
