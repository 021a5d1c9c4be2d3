"""A document that is not a feed, as one item: any XML or JSON object that is pushed.

The item's own XML is the document, so that tree patterns, graph patterns and joins see all of it; its attributes are
read from it as from an item of a feed (`title`, `link`, `dc:creator`, …). Without a title its whole text is its title.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from typing import Any

import pyoxigraph
from lxml import etree

from feedweir.acquire.parse.canonical import rdf_digest, xml_digest
from feedweir.acquire.parse.encodings import decoded
from feedweir.acquire.parse.entries import FeedText, ParsedFeed
from feedweir.acquire.parse.html_page import html_page_error, is_html_page
from feedweir.acquire.parse.xml.tolerance import with_entities
from feedweir.acquire.parse.xml.xml_element import XML_BASE, XML_LANG, XmlElement
from feedweir.acquire.parse.xml.xml_feed import read_xml_feed
from feedweir.errors import DocumentError
from feedweir.items.namespaces import NAMESPACES

MEDIA_TYPE = "application/vnd.feedweir.document+xml"
"""The media type of landed documents that are one item as a whole."""

_TITLE_CHARS = 300
_RDF = f"{{{NAMESPACES['rdf']}}}"


def document_of(body: bytes) -> bytes:
    """Any XML as the document to land; raises `DocumentError` for what is not XML, and for HTML pages."""
    root = _root(body)
    if not _text(root) and not any(element.attrib for element in root.iter(etree.Element)):
        raise DocumentError("the document has no text and no attributes")
    return etree.tostring(root, encoding="utf-8", with_tail=False)


def is_document(document: FeedText) -> bool:
    return document.media_type.startswith(MEDIA_TYPE)


def read_document(document: FeedText) -> ParsedFeed:
    """A landed document as a feed of one entry."""
    root = _root(document.text)
    feed = feed_of_document(root, document.url)
    feed.entries.raw[0] = etree.tostring(root, encoding="utf-8", with_tail=False)
    feed.entries.whole[0] = rdf_digest(_triples(root)) if root.tag == f"{_RDF}RDF" else xml_digest(root)
    feed.entries.title[0] = feed.entries.title[0] or _text(root)[:_TITLE_CHARS]
    return feed


def feed_of_document(root: etree._Element, url: str) -> ParsedFeed:
    """What the elements of an XML document say, as a feed of one entry; of RDF, about what it describes first."""
    node = next(root.iterchildren(etree.Element), root) if root.tag == f"{_RDF}RDF" else root
    feed = read_xml_feed(XmlElement(_as_item(node)), url=url, has_bases=True, max_items=1)
    about = (node.get(f"{_RDF}about") or "").strip()
    feed.entries.guid[0] = feed.entries.guid[0] or about
    if about.startswith(("http://", "https://")):
        feed.entries.link[0] = feed.entries.link[0] or about
    return feed


def whole_text(value: Any) -> str:
    """All texts and numbers of a JSON value, in their order."""
    return " ".join(_leaves(value))[:_TITLE_CHARS]


def _reason(error: Exception) -> str:
    """What went wrong and where; the text of a syntax error would repeat the line."""
    return str(error.msg if isinstance(error, SyntaxError) else error)[:200]


def _root(body: bytes) -> etree._Element:
    text = decoded(body).body
    if is_html_page(text.lstrip()):
        raise html_page_error(text, "")
    parser = etree.XMLParser(encoding="utf-8", resolve_entities=False, no_network=True, load_dtd=False)
    try:
        root = etree.fromstring(plain_xml(text), parser)
    except (etree.XMLSyntaxError, ValueError) as error:
        raise DocumentError(f"the document is not well-formed XML: {_reason(error)}") from None
    return root


def plain_xml(text: bytes) -> bytes:
    """The text of a document without its DOCTYPE and XML declaration."""
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
    """The content of an element, as an `item` element."""
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
