"""JSON Feed 1.0 and 1.1, and JSON that is nearly a JSON Feed."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import islice
from typing import Any

from feedweir.acquire.parse.entries import FeedText, ParsedFeed, entries_of
from feedweir.acquire.parse.xml.extensions import MAX_EXTENSIONS
from feedweir.acquire.parse.xml.xml_element import MAX_TEXT_CHARS
from feedweir.errors import DocumentError
from feedweir.items.model import FeedDescription
from feedweir.text.dates import date_of, epoch_us
from feedweir.text.html import absolute, escaped, one_line, title_text

_MAX_NAME_CHARS = 200
"""Of an extension's name, which every name inside it repeats."""
_CONTROLS = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")


DOCUMENTS = "application/vnd.feedweir.documents+json"
"""The media type of landed feeds whose items were made from JSON that is not a feed. `wholes` holds a digest of each
item's complete JSON."""


def is_json(document: FeedText) -> bool:
    return document.text[:1] in (b"{", b"[")


def read_json_feed(document: FeedText) -> ParsedFeed:
    """The entries of a JSON feed."""
    value, most = _document(document.text), document.max_items
    items = [item for item in _list(value.get("items")) if isinstance(item, dict)]
    kept = items[:most]
    warnings = (
        ()
        if len(kept) == len(items)
        else (f"the document has {len(items)} entries: only the first {most} are read",)
    )
    base = document.url or _text(value.get("home_page_url"))
    entries = entries_of([_entry(item, base) for item in kept])
    if document.media_type.startswith(DOCUMENTS):
        entries.whole = [_text(whole) for whole in _list(value.get("wholes"))][: len(entries)]
    return ParsedFeed(_description(value), entries, _authors(value), warnings)


def _document(body: bytes) -> dict[str, Any]:
    try:
        document = json.loads(body, strict=False)
    except (ValueError, RecursionError) as error:
        raise DocumentError(f"the document is not JSON: {error}") from None
    if not isinstance(document, dict) or not isinstance(document.get("items"), list):
        raise DocumentError(
            "the JSON document is not a feed", hint="a JSON Feed is an object with a list of items"
        )
    return document


def _description(document: dict[str, Any]) -> FeedDescription:
    hubs = (hub for hub in _list(document.get("hubs")) if isinstance(hub, dict))
    return FeedDescription(
        title=one_line(_text(document.get("title"))),
        description=one_line(_text(document.get("description"))),
        link=_text(document.get("home_page_url")),
        language=_text(document.get("language")),
        icon=_text(document.get("icon")) or _text(document.get("favicon")),
        updated=date_of(_text(document.get("date_modified"))),
        hub=next((_text(hub.get("url")) for hub in hubs), ""),
        self_link=_text(document.get("feed_url")),
    )


def _entry(item: dict[str, Any], base: str) -> dict[str, Any]:
    """An item's values, by field of an entry."""
    content = _text(item.get("content_html")) or escaped(_text(item.get("content_text")))
    other = absolute(_text(item.get("external_url")), base)
    link = absolute(_text(item.get("url")), base) or other
    guid = _text(item.get("id"))
    return {
        "guid": guid,
        "title": title_text(_text(item.get("title"))),
        "summary": escaped(_text(item.get("summary"))),
        "content": content,
        "link": link or (guid if guid.startswith(("http://", "https://")) else ""),
        "related": (other,) if other else (),
        "authors": _authors(item),
        "categories": tuple(tag for tag in map(_text, _list(item.get("tags"))) if tag),
        "published": epoch_us(_text(item.get("date_published"))),
        "updated": epoch_us(_text(item.get("date_modified"))),
        "language": _text(item.get("language")),
        "enclosures": tuple(_attachments(item, base)),
        "extensions": tuple(islice(_extensions(item), MAX_EXTENSIONS)),
        "base": base,
        "raw": json.dumps(item, ensure_ascii=False).encode("utf-8", "replace"),
    }


def _authors(value: dict[str, Any]) -> tuple[str, ...]:
    """Version 1.0 has one author, 1.1 several."""
    people = [*_list(value.get("authors")), value.get("author")]
    names = (_text(person.get("name")) if isinstance(person, dict) else _text(person) for person in people)
    return tuple(dict.fromkeys(one_line(name) for name in names if name))


def _attachments(item: dict[str, Any], base: str) -> Iterator[tuple[str, str, int]]:
    for attachment in _list(item.get("attachments")):
        if isinstance(attachment, dict) and (url := absolute(_text(attachment.get("url")), base)):
            size = attachment.get("size_in_bytes")
            length = int(size) if isinstance(size, int | float) and 0 <= size < 1 << 60 else 0
            yield url, _text(attachment.get("mime_type")), length


def _extensions(item: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Images, and values whose names begin with an underscore, as extensions do in this format."""
    for key in ("image", "banner_image"):
        if _text(item.get(key)):
            yield f"json:{key}", _text(item[key])
    for key, value in item.items():
        if key.startswith("_"):
            yield from _leaves(key[1:_MAX_NAME_CHARS] or "x", value, depth=0)


def _leaves(prefix: str, value: Any, depth: int) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict) and depth < 8:
        for key, inner in value.items():
            name = f"{prefix}.{key}" if ":" in prefix else f"{prefix}:{key}"
            yield from _leaves(name[:_MAX_NAME_CHARS], inner, depth + 1)
    elif isinstance(value, list) and depth < 8:
        for inner in value:
            yield from _leaves(prefix, inner, depth + 1)
    elif _text(value):
        yield (prefix if ":" in prefix else f"json:{prefix}"), one_line(_text(value))


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _text(value: Any) -> str:
    """Texts and numbers as text, without lone surrogates and control characters; empty for other kinds of values."""
    if isinstance(value, str):
        text = _CONTROLS.sub("", value).strip()[:MAX_TEXT_CHARS]
        return text if text.isascii() else text.encode("utf-8", "replace").decode()
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else ""
