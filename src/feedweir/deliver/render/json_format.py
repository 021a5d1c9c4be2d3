"""A feed as JSON Feed 1.1."""

from __future__ import annotations

import json
from typing import Any

from feedweir.deliver.address import Address
from feedweir.deliver.pages.page_links import older_address
from feedweir.deliver.render.entry_id import entry_id
from feedweir.deliver.render.plain import language_tag, plain_text, rfc3339
from feedweir.deliver.render.view import EntryView, FeedView
from feedweir.items.model import Enclosure, Item
from feedweir.items.rdf_terms import Node
from feedweir.text.xml_characters import legal


def render_json(view: FeedView, address: Address) -> bytes:
    """The feed as a JSON Feed document."""
    feed = {
        "version": "https://jsonfeed.org/version/1.1",
        "title": view.shown_title,
        "home_page_url": view.home_link or address.page(view.name),
        "feed_url": address.feed(view.name, "json"),
        "next_url": older_address(view, address, "json"),
        "description": view.description,
        "language": language_tag(view.language),
        "hubs": [{"type": "WebSub", "url": view.hub}] if view.hub else [],
        "_feedweir": {"name": view.name, "definition": view.definition},
        "items": [_item(entry) for entry in view.entries],
    }
    return json.dumps(_kept(feed, {"items"}), ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def _item(entry: EntryView) -> dict[str, Any]:
    item = entry.item
    # The format wants exactly one body; a summary that stands alone is that body.
    body = item.content or item.summary
    return {
        "id": entry_id(item),
        "url": item.link,
        "title": item.title,
        "content_html": body,
        "content_text": "" if body else item.title or " ",
        "summary": plain_text(item.summary) if item.content else "",
        "date_published": rfc3339(item.published) if item.published else "",
        "date_modified": rfc3339(item.updated) if item.updated else "",
        "authors": [{"name": author} for author in item.authors],
        "tags": list(item.categories),
        "language": language_tag(item.language),
        "attachments": [_attachment(enclosure) for enclosure in item.enclosures],
        "_feedweir": _origin(entry),
    }


def _attachment(enclosure: Enclosure) -> dict[str, Any]:
    media_type = enclosure.type or "application/octet-stream"
    return {"url": enclosure.url, "mime_type": media_type, "size_in_bytes": enclosure.length or None}


def _origin(entry: EntryView) -> dict[str, Any]:
    """What the format has no words for: the source, the revision, partners, constructed XML, the extensions."""
    return {
        "source": {
            "name": entry.item.source,
            "title": entry.source_title,
            "url": entry.source_url,
            "home_page_url": entry.source_link,
        },
        "revision": entry.item.revision,
        "document": entry.item.raw if entry.item.made_of else "",
        "joined": {name: [_partner(item) for item in items] for name, items in entry.annotation},
        "bindings": [{name: _term(node) for name, node in bound} for bound in entry.bindings],
        "extensions": [{"name": name, "value": value} for name, value in entry.item.extensions],
    }


def _term(node: Node) -> dict[str, str]:
    """A term as SPARQL's results in JSON have it."""
    kind = {"iri": "uri", "blank": "bnode"}.get(node.kind, "literal")
    return {"type": kind, "value": node.value, "datatype": node.datatype, "xml:lang": node.language}


def _partner(item: Item) -> dict[str, Any]:
    return {"id": entry_id(item), "url": item.link, "title": item.title, "source": item.source}


_EMPTY: tuple[Any, ...] = ("", [], {}, None)


def _kept(value: Any, always: set[str]) -> Any:
    """The value with legal characters and without what is empty, except the names that must be there."""
    if isinstance(value, str):
        return legal(value)
    if isinstance(value, list):
        return [part for part in (_kept(part, set()) for part in value) if part not in _EMPTY]
    if isinstance(value, dict):
        kept = {legal(name): _kept(part, set()) for name, part in value.items()}
        return {name: part for name, part in kept.items() if name in always or part not in _EMPTY}
    return value
