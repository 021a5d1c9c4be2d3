"""The item as an XML tree: its own XML, or an RSS item made of its attributes when it was not XML."""

from __future__ import annotations

import re
from collections.abc import Iterable
from email.utils import format_datetime

from lxml import etree

from feedweir.items.columns import Batch, ItemColumns, item_at
from feedweir.items.model import Item
from feedweir.items.namespaces import NAMESPACES
from feedweir.text.xml_characters import legal

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")
_CONTENT = f"{{{NAMESPACES['content']}}}encoded"
_USED = {prefix: NAMESPACES[prefix] for prefix in ("content", "dc")}


def tree_of(item: Item) -> etree._Element:
    """The root element of the item, `item` or `entry` as in its document."""
    root = root_of(item.raw)
    return _rss_item(item) if root is None else root


def roots_in(items: Batch, rows: Iterable[int]) -> list[etree._Element]:
    """The root elements of some items of a batch. Of Arrow columns, only items that were not XML become an `Item`."""
    if isinstance(items, ItemColumns):
        return [tree_of(items.items[row]) for row in rows]
    raws = items.column("raw")
    return [
        root if (root := root_of(raws[row].as_py())) is not None else tree_of(item_at(items, row))
        for row in rows
    ]


def root_of(raw: str) -> etree._Element | None:
    """The root element of an item's own XML; None when it is not XML."""
    if raw.lstrip()[:1] != "<":
        return None
    root = _parsed(raw, is_forgiving=False)
    # An undeclared prefix is tolerated.
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
    """An element under the namespace of its prefix; an unknown prefix gets a namespace of its own."""
    prefix, _, local = name.partition(":")
    if _NAME.fullmatch(prefix) and _NAME.fullmatch(local):
        namespace = NAMESPACES.get(prefix, f"urn:prefix:{prefix}")
        element = etree.SubElement(root, f"{{{namespace}}}{local}", nsmap={prefix: namespace})
        element.text = legal(value)
