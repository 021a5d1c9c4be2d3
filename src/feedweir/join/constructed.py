"""Documents that XSCL constructs, as items: what SELECT made, or the joined documents under a new root.

A constructed document is read like an item of a feed: a `title` below its root is its title, and so on. Without one,
its whole text is the title. Without SELECT it has the attributes of the item that completed it, and its own XML.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from lxml import etree

from feedweir.errors import DocumentError
from feedweir.items.model import Document, Item
from feedweir.logs.joined_log import UNDER_A_ROOT, Construction

PATTERN = "pattern"
"""The identifier under which readers see the items that a document is made of."""
_TITLE_CHARS = 300


def constructed(documents: Sequence[Item], select: str, values: Mapping[str, str]) -> Construction:
    """What a match constructs; of documents that were constructed themselves, their items count."""
    from feedweir.plan.construction import filled

    made_of = tuple(seq for document in documents for seq in document.made_of or (document.seq,))
    if select:
        return Construction(made_of, filled(select, values), is_selected=True)
    is_plain = not any(document.made_of for document in documents)
    return Construction(made_of, "" if is_plain else under_a_root(documents))


def under_a_root(documents: Sequence[Item]) -> str:
    """Documents side by side in a new one."""
    from feedweir.items.tree import tree_of

    inside = "".join(etree.tostring(tree_of(document), encoding="unicode") for document in documents)
    return f"<{UNDER_A_ROOT}>{inside}</{UNDER_A_ROOT}>"


def item_of(construction: Construction, items: Mapping[int, Item]) -> Item:
    """A construction as an item; `items` has those that it is made of."""
    parts = [items[seq] for seq in construction.made_of]
    last = max(parts, key=lambda item: item.seq)
    xml = construction.xml or under_a_root(parts)
    read = _read(xml, last) if construction.is_selected else replace(last, links=_all_links(parts))
    return replace(
        read,
        seq=last.seq,
        identity=construction.identity,
        published=max(item.time for item in parts),
        arrived=max(item.arrived for item in parts),
        raw=xml,
        made_of=construction.made_of,
    )


def items_shown(
    elements: Iterable[Item], made: Mapping[int, tuple[Construction, ...]], items: Mapping[int, Item]
) -> list[Item]:
    """Elements as readers see them: each item itself, or the documents that it stands for.

    A document is left out as long as one of its items is in a damaged file.
    """
    shown: list[Item] = []
    for element in elements:
        for one in made.get(element.seq, (Construction(()),)):
            if is_whole(one, items):
                shown.append(item_of(one, items) if one.made_of else element)
    return shown


def is_whole(construction: Construction, items: Mapping[int, Item]) -> bool:
    """Whether all of its items are there."""
    return all(seq in items for seq in construction.made_of)


def parts_of(made: Mapping[int, tuple[Construction, ...]]) -> list[int]:
    """The numbers of all items of these documents."""
    return sorted({seq for many in made.values() for one in many for seq in one.made_of})


def _all_links(items: Sequence[Item]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(link for item in items for link in item.links))


def _read(xml: str, last: Item) -> Item:
    """A document with the attributes that its elements give; link and language default to those of the last item."""
    blank = Item(
        source=last.source, identity="", arrived=last.arrived, link=last.link, language=last.language
    )
    root = _root(xml)
    if root is None:
        return blank
    text = " ".join(str(root.xpath("string()")).split())[:_TITLE_CHARS]
    found = _as_entry(root, last) or blank
    return replace(
        found,
        title=found.title or text,
        link=found.link or last.link,
        links=found.links or ((last.link,) if last.link else ()),
        language=found.language or last.language,
        updated=None,
        revision=last.revision,
    )


def _root(xml: str) -> etree._Element | None:
    try:
        return etree.fromstring(xml.encode("utf-8", "replace"), etree.XMLParser(resolve_entities=False))
    except (etree.XMLSyntaxError, ValueError):
        return None


def _as_entry(root: etree._Element, last: Item) -> Item | None:
    """Parsed as a feed entry, which also sanitises its HTML."""
    from feedweir.acquire.parse.parser import parse

    root.tag = "item"
    body = f"<rss version='2.0'><channel>{etree.tostring(root, encoding='unicode')}</channel></rss>"
    try:
        document = Document(number=0, source=last.source, arrived=last.arrived, body=body.encode())
        found = parse(document).items
    except DocumentError:
        return None
    return found[0] if found else None
