"""What is pushed to a source: a feed as it is, plain JSON items made into one, or any other document in
XML, RDF or JSON, which is an item as a whole.

Whatever is accepted here can be read later: the sender learns of a mistake while there is still somebody to tell.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from feedweir.acquire.parse.canonical import json_digest
from feedweir.acquire.parse.entries import ParsedFeed
from feedweir.acquire.parse.feed_formats import DEFAULT_LIMITS, read_feed
from feedweir.acquire.parse.id_paths import cut_of
from feedweir.acquire.parse.json_feed import DOCUMENTS
from feedweir.acquire.parse.other_documents import MEDIA_TYPE as DOCUMENT
from feedweir.acquire.parse.other_documents import document_of, whole_text
from feedweir.acquire.parse.parser import ParsedDocument, parsed
from feedweir.acquire.parse.rdf_changes import is_rdf_change
from feedweir.acquire.parse.rdf_graphs import JSON_LD, RDF_XML, rdf_type_of
from feedweir.acquire.parse.rdf_items import is_rdf_xml
from feedweir.acquire.parse.xml.xml_feed import NO_FEED
from feedweir.errors import DocumentError
from feedweir.items.model import Document
from feedweir.logs.landing import Landed
from feedweir.text.dates import date_of

VERSION = "https://jsonfeed.org/version/1.1"
MEDIA_TYPE = "application/feed+json"
MAX_ITEMS = 10_000

_NAMES = {
    "id": ("id", "guid"),
    "url": ("url", "link"),
    "title": ("title",),
    "content_html": ("content_html", "content"),
    "content_text": ("content_text", "text"),
    "summary": ("summary", "description"),
    "date_published": ("date_published", "published"),
    "date_modified": ("date_modified", "updated"),
    "tags": ("tags", "categories"),
    "authors": ("authors",),
    "author": ("author",),
    "language": ("language",),
    "attachments": ("attachments",),
    "external_url": ("external_url",),
    "image": ("image",),
    "banner_image": ("banner_image",),
}
"""What an item may contain, under JSON Feed's names and ours."""
_KNOWN = {name: key for key, names in _NAMES.items() for name in names}
_ESSENTIAL = ("id", "url", "title", "content_html", "content_text", "summary")
_RDF_ROOT = re.compile(rb"<(?:[\w.-]+:)?RDF\b")
_DATES = ("date_published", "date_modified")
_WHAT = "push a feed, an item, a list of items, or a document"


@dataclass(frozen=True, slots=True)
class Pushed:
    """The document to land, and its items."""

    document: Landed
    parsed: ParsedDocument

    @property
    def warnings(self) -> tuple[str, ...]:
        """What its sender should know of it."""
        return self.parsed.warnings


def pushed_document(source: str, body: bytes, media_type: str, now: datetime, id_path: str = "") -> Pushed:
    """The document to land; raises `DocumentError` for what cannot be read, or is empty."""
    feed: ParsedFeed | None = None
    cut = cut_of(id_path)
    kind = rdf_type_of(media_type) or (JSON_LD if _is_linked(body) else "")
    kind = kind or (RDF_XML if is_rdf_xml(body.lstrip()) else "")
    if is_rdf_change(body):
        media_type = "application/json"
    elif kind:
        media_type = media_type if rdf_type_of(media_type) else kind
    elif body.lstrip()[:1] in (b"{", b"["):
        body, media_type = _feed_of(body)
    elif body.strip() and b"<" not in body:
        raise DocumentError(
            "this is neither a JSON object or list nor XML, nor RDF by its Content-Type", hint=_WHAT
        )
    else:
        feed = _xml_feed(body, media_type)
        if feed is None:
            body, media_type = document_of(body), DOCUMENT
    document = Document(
        number=1, source=source, media_type=media_type, arrived=now, body=body, id_path=id_path
    )
    found = parsed(document, _read(body, media_type, cut) if feed is None else feed)
    if not found.items:
        raise DocumentError("the document contains no item", hint=_WHAT)
    landed = Landed(source=source, media_type=media_type, arrived=now, body=body, id_path=id_path)
    return Pushed(landed, found)


def _read(body: bytes, media_type: str, cut: str = "") -> ParsedFeed:
    return read_feed(body, media_type=media_type, url="", limits=DEFAULT_LIMITS, cut=cut)


def _xml_feed(body: bytes, media_type: str) -> ParsedFeed | None:
    """XML as a feed, perhaps an empty one; None for a document of another kind, `DocumentError` for a broken feed."""
    try:
        found = _read(body, media_type)
    except DocumentError as error:
        if NO_FEED in str(error):
            return None
        raise
    # RSS 1.0 is RDF, but not all RDF is RSS.
    return found if len(found.entries) or _RDF_ROOT.search(body[:2_000]) is None else None


def _is_linked(body: bytes) -> bool:
    """Whether JSON is JSON-LD, whatever it is called."""
    return body.lstrip()[:1] == b"{" and b'"@context"' in body[:2_000] and isinstance(_value(body), dict)


def _feed_of(body: bytes) -> tuple[bytes, str]:
    """A JSON Feed as it is; an item, or items, as the JSON Feed that holds them; with its media type."""
    value = _value(body)
    if isinstance(value, dict) and "version" in value and "items" in value:
        return body, MEDIA_TYPE
    if isinstance(value, dict) and isinstance(value.get("items"), list):
        value = value["items"]
    items = value if isinstance(value, list) else [value]
    if len(items) > MAX_ITEMS:
        raise DocumentError(f"there are {len(items)} items, and {MAX_ITEMS} may be pushed at a time")
    feed = {
        "version": VERSION,
        "items": [_item(item, place) for place, item in enumerate(items, 1)],
        "wholes": [json_digest(item) for item in items],
    }
    return json.dumps(feed, ensure_ascii=False).encode(), DOCUMENTS


def _value(body: bytes) -> Any:
    try:
        return json.loads(body)
    except UnicodeDecodeError:
        raise DocumentError("the JSON is not UTF-8 text") from None
    except RecursionError:
        raise DocumentError("the JSON is nested too deep") from None
    except ValueError as error:
        raise DocumentError(f"this is not JSON: {error}") from None


def _item(item: Any, place: int) -> dict[str, Any]:
    if not isinstance(item, dict):
        raise DocumentError(f"item {place} is not an object", hint='{"title": "…", "url": "https://…"}')
    known = {_KNOWN[name]: value for name, value in item.items() if name in _KNOWN and value is not None}
    if not any(_has_value(known.get(name)) for name in _ESSENTIAL):
        # JSON of any other form: all its text is the title, as with other documents.
        known["title"] = whole_text(item)
    if not any(_has_value(known.get(name)) for name in _ESSENTIAL):
        raise DocumentError(f"item {place} has no content", hint='{"title": "…", "url": "https://…"}')
    for name, value in item.items():
        is_date = _KNOWN.get(name) in _DATES and value is not None
        if is_date and (not isinstance(value, str) or date_of(value) is None):
            raise DocumentError(
                f"item {place}: {name} is not a date: {str(value)[:60]!r}", hint="2024-05-01T12:00:00Z"
            )
    known["tags"] = _texts(known.get("tags"))
    # Every other attribute is kept as an extension, under its own name.
    others = {f"_{name}": value for name, value in item.items() if name not in _KNOWN and name[:1] != "_"}
    extensions = {name: value for name, value in item.items() if name[:1] == "_"}
    return {**known, **others, **extensions}


def _texts(value: Any) -> list[Any]:
    if isinstance(value, str):
        return [part.strip() for part in value.split(",") if part.strip()]
    return list(value) if isinstance(value, Iterable) and not isinstance(value, dict) else []


def _has_value(value: Any) -> bool:
    return isinstance(value, str | int | float) and bool(str(value).strip())
