"""Changes of RDF as Wikidata streams them (`rdf-streaming-updater.mutation`): an item for each, with the triples that
were added, and those that were deleted under properties of their own (`items.rdf_values`)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pyoxigraph

from feedweir.acquire.parse.canonical import rdf_digest
from feedweir.acquire.parse.entries import FeedText, ParsedFeed, entries_of
from feedweir.acquire.parse.rdf_graphs import distinct, graphs_of, rdf_type_of
from feedweir.acquire.parse.rdf_items import raw_of
from feedweir.errors import DocumentError
from feedweir.items.model import FeedDescription
from feedweir.items.rdf_terms import is_iri
from feedweir.items.rdf_values import DELETED, OPERATION
from feedweir.text.dates import epoch_us

_ADDED = ("rdf_added_data", "rdf_linked_shared_data")
_DELETED = ("rdf_deleted_data", "rdf_unlinked_shared_data")
_ENTITY = "http://www.wikidata.org/entity/"
_HEAD = 100_000


def is_rdf_change(text: bytes) -> bool:
    """Whether a text looks like such a change, or a list of them."""
    start = text.lstrip()[:_HEAD]
    is_stream = b'"rdf-streaming-updater' in start or b"/mediawiki/wikibase/entity/rdf_change" in start
    return start[:1] in (b"{", b"[") and (
        is_stream or any(f'"{name}"'.encode() in start for name in _ADDED + _DELETED)
    )


def is_rdf_change_document(document: FeedText) -> bool:
    return is_rdf_change(document.text)


def read_rdf_changes(document: FeedText) -> ParsedFeed:
    """The changes of a document, each as an entry."""
    try:
        value = json.loads(document.text)
    except (ValueError, RecursionError) as error:
        raise DocumentError(f"this is not JSON: {error}") from None
    changes = [one for one in (value if isinstance(value, list) else [value]) if isinstance(one, dict)]
    kept = changes[: document.max_items]
    warnings: list[str] = []
    if len(kept) < len(changes):
        warnings.append(f"the document has {len(changes)} entries: only the first {len(kept)} are read")
    entries = [_entry(change, warnings) for change in kept]
    return ParsedFeed(
        FeedDescription(link=document.url), entries_of(entries), (), tuple(dict.fromkeys(warnings))
    )


def _entry(change: dict[str, Any], warnings: list[str]) -> dict[str, Any]:
    told = change.get("meta")
    meta: dict[str, Any] = told if isinstance(told, dict) else {}
    name, operation = str(change.get("item") or ""), str(change.get("operation") or "")
    # Parts of large changes follow each other under the same revision.
    number = f"{change.get('revision_id') or ''}.{change.get('sequence') or 0}"
    address = name if is_iri(name) else _ENTITY + name
    triples = list(_triples(change, warnings))
    if operation and is_iri(address):
        said = pyoxigraph.NamedNode(address), pyoxigraph.NamedNode(OPERATION), pyoxigraph.Literal(operation)
        triples.insert(0, pyoxigraph.Triple(*said))
    return {
        "guid": str(meta.get("id") or f"{name}/{number}"),
        "title": f"{name}: {operation}" if name else operation,
        "link": address if address.startswith(("http://", "https://")) else "",
        "published": epoch_us(str(change.get("event_time") or meta.get("dt") or "")),
        "raw": raw_of(triples),
        "whole": rdf_digest(triples),
    }


def _triples(change: dict[str, Any], warnings: list[str]) -> Iterator[pyoxigraph.Triple]:
    for names, is_deleted in ((_ADDED, False), (_DELETED, True)):
        for name in names:
            part = change.get(name)
            if not isinstance(part, dict) or not isinstance(part.get("data"), str):
                continue
            kind = rdf_type_of(str(part.get("mime_type") or "text/turtle"))
            if not kind:
                raise DocumentError(
                    f"{name} is of the type {part.get('mime_type')!r:.100}", hint="as text/turtle"
                )
            found = graphs_of(part["data"].encode("utf-8", "replace"), kind)
            warnings += found.warnings
            for triple in distinct(one for graph in found.graphs.values() for one in graph):
                yield _deleted(triple) if is_deleted else triple


def _deleted(triple: pyoxigraph.Triple) -> pyoxigraph.Triple:
    return pyoxigraph.Triple(
        triple.subject, pyoxigraph.NamedNode(DELETED + triple.predicate.value), triple.object
    )
