"""The item as an XML tree: its own XML under its own names; an item that was not XML as the RSS item it would
be."""

from __future__ import annotations

import re
from email.utils import format_datetime

import pyarrow as pa
from lxml import etree

from feedweir.items.model import Item
from feedweir.items.namespaces import NAMESPACES
from feedweir.items.schema import items_of
from feedweir.items.xml_characters import legal

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")
_CONTENT = f"{{{NAMESPACES['content']}}}encoded"
_USED = {prefix: NAMESPACES[prefix] for prefix in ("content", "dc")}


def tree_of(item: Item) -> etree._Element:
    """The root element of the item: `item` or `entry`, as the document had it."""
    root = root_of(item.raw)
    return _rss_item(item) if root is None else root


def roots_in(items: pa.RecordBatch | pa.Table) -> list[etree._Element]:
    """The root elements of the items of a batch; only those that were not XML become an `Item` first."""
    return [
        root if (root := root_of(raw)) is not None else tree_of(next(items_of(items.slice(row, 1))))
        for row, raw in enumerate(items.column("raw").to_pylist())
    ]


def root_of(raw: str) -> etree._Element | None:
    """The root element of an item's own XML; None when it is no XML."""
    if raw.lstrip()[:1] != "<":
        return None
    root = _parsed(raw, is_forgiving=False)
    # A prefix that the document never declared is forgiven.
    return _parsed(raw, is_forgiving=True) if root is None else root


def _parsed(raw: str, *, is_forgiving: bool) -> etree._Element | None:
    parser = etree.XMLParser(
        encoding="utf-8", resolve_entities=False, no_network=True, load_dtd=False, recover=is_forgiving
    )
    try:
        return etree.fromstring(raw.encode("utf-8", "replace"), parser)
    except (etree.XMLSyntaxError, ValueError):
        return None


def _rss_item(item: Item) -> etree._Element:
    root = etree.Element("item", nsmap=_USED)
    for name, value in (
        ("title", item.title),
        ("link", item.link),
        ("guid", item.identity),
        ("description", item.summary),
        (_CONTENT, item.content),
        *(("author", author) for author in item.authors),
        *(("category", category) for category in item.categories),
        ("pubDate", format_datetime(item.published) if item.published else ""),
        (f"{{{NAMESPACES['dc']}}}language", item.language),
    ):
        if value:
            etree.SubElement(root, name).text = legal(value)
    for file in item.enclosures:
        attributes = {
            "url": legal(file.url),
            "type": legal(file.type),
            "length": str(file.length),
        }
        etree.SubElement(root, "enclosure", attributes)
    for name, value in item.extensions:
        _add_extension(root, name, value)
    return root


def _add_extension(root: etree._Element, name: str, value: str) -> None:
    """An element under the namespace of its prefix; a prefix that nobody knows is its own namespace."""
    prefix, _, local = name.partition(":")
    if _NAME.fullmatch(prefix) and _NAME.fullmatch(local):
        namespace = NAMESPACES.get(prefix, f"urn:prefix:{prefix}")
        element = etree.SubElement(root, f"{{{namespace}}}{local}", nsmap={prefix: namespace})
        element.text = legal(value)
