"""Elements as the XML document that stylesheets read; described in docs/transforms.md."""

from __future__ import annotations

from copy import deepcopy

from lxml import etree

from feedweir.deliver.render.entry_id import entry_id
from feedweir.deliver.render.plain import plain_text, rfc3339
from feedweir.deliver.render.view import EntryView, FeedView
from feedweir.deliver.render.xml_writer import child, children
from feedweir.items.model import Item
from feedweir.items.tree import tree_of
from feedweir.text.xml_characters import legal


def element_document(view: FeedView) -> bytes:
    """A feed's entries with their annotations, as `feed/element`, oldest first."""
    root = etree.Element("feed", {"name": legal(view.name), "title": view.shown_title})
    if view.home_link:
        root.set("link", legal(view.home_link))
    for entry in reversed(view.entries):
        _add_element(root, entry)
    written: bytes = etree.tostring(root, encoding="UTF-8", xml_declaration=True)
    return written


def _add_element(root: etree._Element, entry: EntryView) -> None:
    item = entry.item
    element = child(root, "element", time=rfc3339(item.time), seq=str(item.seq))
    _add_item(element, item, entry.source_name)
    for name, partners in entry.annotation:
        annotation = child(element, "annotation", join=name)
        for partner in partners:
            _add_item(annotation, partner, "")
    for bound in entry.bindings:
        binding = child(element, "binding")
        for name, node in bound:
            said = {"name": name, "kind": node.kind, "datatype": node.datatype, "language": node.language}
            child(binding, "value", node.value, **{key: value for key, value in said.items() if value})


def _add_item(parent: etree._Element, item: Item, source_title: str) -> None:
    element = child(parent, "item", id=entry_id(item), source=item.source, revision=str(item.revision))
    child(element, "title", item.title)
    children(element, "link", [item.link])
    children(element, "source", [source_title])
    children(element, "summary", [item.summary])
    children(element, "content", [item.content])
    children(element, "text", [plain_text(item.content or item.summary)])
    children(element, "author", item.authors)
    children(element, "category", item.categories)
    children(element, "published", [rfc3339(item.published)] if item.published else [])
    children(element, "updated", [rfc3339(item.updated)] if item.updated else [])
    child(element, "arrived", rfc3339(item.arrived))
    children(element, "language", [item.language])
    for file in item.enclosures:
        child(element, "enclosure", url=file.url, type=file.type, length=str(file.length or ""))
    for link in item.links:
        child(element, "reference", href=link)
    for name, value in item.extensions:
        child(element, "extension", value, name=name)
    child(element, "original").append(deepcopy(tree_of(item)))
