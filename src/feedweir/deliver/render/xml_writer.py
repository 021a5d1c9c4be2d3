"""A small XML writer based on lxml: legal characters, fixed prefixes, reproducible bytes."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import cast

from lxml import etree

from feedweir.deliver.render.plain import legal_values
from feedweir.items.model import Item
from feedweir.items.tree import tree_of
from feedweir.text.xml_characters import legal

ATOM = "http://www.w3.org/2005/Atom"
CONTENT = "http://purl.org/rss/1.0/modules/content/"
DC = "http://purl.org/dc/elements/1.1/"
HISTORY = "http://purl.org/syndication/history/1.0"
MEDIA = "http://search.yahoo.com/mrss/"
WEIR = "urn:feedweir"
XML = "http://www.w3.org/XML/1998/namespace"

EXTENSIONS = {
    "cc": "http://web.resource.org/cc/",
    "dc": DC,
    "dcterms": "http://purl.org/dc/terms/",
    "feedweir": WEIR,
    "geo": "http://www.w3.org/2003/01/geo/wgs84_pos#",
    "georss": "http://www.georss.org/georss",
    "itunes": "http://www.itunes.com/dtds/podcast-1.0.dtd",
    "media": MEDIA,
    "podcast": "https://podcastindex.org/namespace/1.0",
    "prism": "http://prismstandard.org/namespaces/basic/2.0/",
    "slash": "http://purl.org/rss/1.0/modules/slash/",
    "thr": "http://purl.org/syndication/thread/1.0",
    "wfw": "http://wellformedweb.org/CommentAPI/",
    "yt": "http://www.youtube.com/xml/schemas/2015",
}
"""The namespaces of extension elements that rendered feeds keep."""

_NAME = re.compile(r"[A-Za-z_][\w.\-]*", re.ASCII)


def root(tag: str, namespaces: dict[str | None, str], **attributes: str) -> etree._Element:
    """A root element that declares all namespaces once, at the top."""
    # The stubs do not know that None is the prefix of the default namespace.
    declared = cast("dict[str, str]", namespaces)
    return etree.Element(tag, {name: legal(value) for name, value in attributes.items()}, nsmap=declared)


def child(parent: etree._Element, tag: str, text: str = "", /, **attributes: str) -> etree._Element:
    """A new last child with this text; attributes without a value are left out."""
    kept = {name: legal(value) for name, value in attributes.items() if value}
    element = etree.SubElement(parent, tag, kept)
    if text:
        element.text = legal(text)
    return element


def children(parent: etree._Element, tag: str, texts: Iterable[str]) -> None:
    """One child for each text that is not empty."""
    for text in legal_values(texts):
        child(parent, tag, text)


def namespaces_of(extensions: Iterable[tuple[str, str]]) -> dict[str | None, str]:
    """The prefixes, in order, that these extension attributes need."""
    prefixes = {name.partition(":")[0] for name, _ in extensions}
    return {prefix: EXTENSIONS[prefix] for prefix in sorted(prefixes) if prefix in EXTENSIONS}


def add_extensions(parent: etree._Element, extensions: Iterable[tuple[str, str]]) -> None:
    """The extension attributes of known namespaces, as elements."""
    for name, text in extensions:
        prefix, _, local = name.partition(":")
        if legal(text) and prefix in EXTENSIONS and _NAME.fullmatch(local):
            child(parent, f"{{{EXTENSIONS[prefix]}}}{local}", text)


def to_bytes(element: etree._Element) -> bytes:
    """The document, indented, in UTF-8 with its declaration."""
    etree.indent(element)
    written: bytes = etree.tostring(element, xml_declaration=True, encoding="UTF-8")
    return written + b"\n"


def add_document(parent: etree._Element, item: Item) -> None:
    """The XML of a document that a query constructed, unchanged."""
    if item.made_of:
        element = etree.SubElement(parent, f"{{{WEIR}}}document", nsmap={"weir": WEIR})
        element.append(tree_of(item))
