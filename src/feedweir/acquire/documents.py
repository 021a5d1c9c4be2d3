"""A document that is no feed, as one item: any XML, any RDF, any JSON object that somebody pushes.

The item's own XML is the document, so that tree patterns, graph patterns and joins see all of it; its attributes are
read from it as from an item of a feed (`title`, `link`, `dc:creator`, …). Without a title its whole text is its title.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from typing import Any

import pyoxigraph
from lxml import etree

from feedweir.acquire.canonical import rdf_digest, xml_digest
from feedweir.acquire.encodings import decoded
from feedweir.acquire.entries import Feed
from feedweir.acquire.html_page import html_page_error, is_html_page
from feedweir.acquire.lxml_element import LxmlElement
from feedweir.acquire.tolerant import with_entities
from feedweir.acquire.xml_element import XML_BASE, XML_LANG
from feedweir.acquire.xml_feed import read_xml_feed
from feedweir.errors import DocumentError
from feedweir.items.namespaces import NAMESPACES

MEDIA_TYPE = "application/vnd.feedweir.document+xml"
"""Under which a document is landed that is one item as a whole."""

_TITLE_CHARS = 300
_RDF = f"{{{NAMESPACES['rdf']}}}"
_FORMATS = {
    "text/turtle": pyoxigraph.RdfFormat.TURTLE,
    "application/x-turtle": pyoxigraph.RdfFormat.TURTLE,
    "application/n-triples": pyoxigraph.RdfFormat.N_TRIPLES,
    "application/n-quads": pyoxigraph.RdfFormat.N_QUADS,
    "application/trig": pyoxigraph.RdfFormat.TRIG,
    "text/n3": pyoxigraph.RdfFormat.N3,
    "application/ld+json": pyoxigraph.RdfFormat.JSON_LD,
}


def is_rdf_text(media_type: str) -> bool:
    """Whether it is RDF in another form than XML."""
    return _kind(media_type) in _FORMATS


def rdf_xml_of(body: bytes, media_type: str) -> bytes:
    """RDF in any form as RDF/XML; names of graphs are left out. Nothing is loaded from elsewhere."""
    try:
        quads = pyoxigraph.parse(
            decoded(body, media_type).body, format=_FORMATS[_kind(media_type)], base_iri="urn:document:"
        )
        triples = [quad.triple for quad in quads]
        written = pyoxigraph.serialize(triples, format=pyoxigraph.RdfFormat.RDF_XML)
    except (SyntaxError, ValueError, OSError) as error:
        if "remote contexts" in str(error):
            raise DocumentError(
                "a context of JSON-LD is not loaded", hint="write it out in the document"
            ) from None
        raise DocumentError(f"this is not {_kind(media_type)}: {_reason(error)}") from None
    if not triples or written is None:
        raise DocumentError("there is no triple in it")
    return written


def document_of(body: bytes) -> bytes:
    """Any XML as the document to land; raises `DocumentError` for what is none, or a page for people."""
    root = _root(body)
    if not _text(root) and not any(element.attrib for element in root.iter(etree.Element)):
        raise DocumentError("the document says nothing")
    if root.tag == f"{_RDF}RDF" and not _triples(root):
        raise DocumentError("there is no triple in it")
    return etree.tostring(root, encoding="utf-8", with_tail=False)


def read_document(body: bytes, *, url: str) -> Feed:
    """A landed document as a feed of one entry."""
    root = _root(body)
    node = next(root.iterchildren(etree.Element), root) if root.tag == f"{_RDF}RDF" else root
    feed = read_xml_feed(LxmlElement(_as_item(node)), url=url, has_bases=True, max_items=1)
    entries = feed.entries
    about = (node.get(f"{_RDF}about") or "").strip()
    entries.raw[0] = etree.tostring(root, encoding="utf-8", with_tail=False)
    entries.whole[0] = rdf_digest(_triples(root)) if root.tag == f"{_RDF}RDF" else xml_digest(root)
    entries.guid[0] = entries.guid[0] or about
    if about.startswith(("http://", "https://")):
        entries.link[0] = entries.link[0] or about
    entries.title[0] = entries.title[0] or _text(root)[:_TITLE_CHARS]
    return feed


def whole_text(value: Any) -> str:
    """All texts and numbers of a JSON value, in their order."""
    return " ".join(_leaves(value))[:_TITLE_CHARS]


def _reason(error: Exception) -> str:
    """What went wrong and where; as text, errors of syntax tell the line twice."""
    return str(error.msg if isinstance(error, SyntaxError) else error)[:200]


def _kind(media_type: str) -> str:
    return media_type.partition(";")[0].strip().lower()


def _root(body: bytes) -> etree._Element:
    text = decoded(body).body
    if is_html_page(text.lstrip()):
        raise html_page_error(text, "")
    parser = etree.XMLParser(encoding="utf-8", resolve_entities=False, no_network=True, load_dtd=False)
    try:
        root = etree.fromstring(_plain(text), parser)
    except (etree.XMLSyntaxError, ValueError) as error:
        raise DocumentError(f"the document is not well-formed XML: {_reason(error)}") from None
    return root


def _plain(text: bytes) -> bytes:
    """The text of a document without what a parser must never see."""
    start = text.find(b"?>") + 2 if text.lstrip().startswith(b"<?xml") else 0
    return with_entities(text[start:].decode("utf-8", "replace")).strip().encode()


def _triples(root: etree._Element) -> list[pyoxigraph.Triple]:
    try:
        quads = pyoxigraph.parse(
            etree.tostring(root), format=pyoxigraph.RdfFormat.RDF_XML, base_iri="urn:document:"
        )
        return [quad.triple for quad in quads]
    except (SyntaxError, ValueError) as error:
        raise DocumentError(f"this is not RDF: {_reason(error)}") from None


def _as_item(node: etree._Element) -> etree._Element:
    """What stands in an element, as it would stand in an item."""
    item = etree.Element("item", nsmap={prefix: uri for prefix, uri in node.nsmap.items() if prefix})
    for name in (XML_LANG, XML_BASE):
        if node.get(name):
            item.set(name, str(node.get(name)))
    item.extend([deepcopy(child) for child in node.iterchildren(etree.Element)])
    return item


def _text(root: etree._Element) -> str:
    texts: Any = root.xpath("descendant::text()")
    return " ".join(" ".join(map(str, texts)).split())


def _leaves(value: Any, depth: int = 0) -> Iterator[str]:
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    if depth < 8:
        for each in inside:
            yield from _leaves(each, depth + 1)
    if isinstance(value, str | int | float) and not isinstance(value, bool) and str(value).strip():
        yield " ".join(str(value).split())
