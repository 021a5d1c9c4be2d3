"""OPML in and out: nested, tolerant of what people really export, and nothing unknown is lost on the way.

The outline is kept as it was, attributes in order and unknown ones included; `subscriptions` reads feeds from it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

from lxml import etree

from feedweir.errors import DocumentError

Attributes = tuple[tuple[str, str], ...]

_MAX_BYTES = 64 << 20
_MAX_DEPTH = 64
_UNDECLARED = re.compile(rb"&(?!(?:amp|lt|gt|quot|apos|#\d+|#x[0-9a-fA-F]+);)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Outline:
    """One outline: its attributes as written, and what is inside."""

    attributes: Attributes = ()
    children: tuple[Outline, ...] = ()

    def get(self, *names: str) -> str:
        """The first of these attributes that is there and not empty, whatever its case."""
        values = {name.lower(): value for name, value in reversed(self.attributes)}
        return next((values[name.lower()] for name in names if values.get(name.lower())), "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Opml:
    """A whole document; `head` are its elements with their text, in order."""

    version: str = "2.0"
    attributes: Attributes = ()
    head: Attributes = ()
    outlines: tuple[Outline, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Subscription:
    """A feed that an outline names, and the folders it is in, outermost first."""

    url: str
    title: str = ""
    site: str = ""
    folders: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    outline: Outline = Outline()


def read_opml(body: bytes) -> Opml:
    """A document as an outline; repairs what can be repaired, and raises `DocumentError` when nothing is left."""
    if len(body) > _MAX_BYTES:
        raise DocumentError(f"the OPML file is larger than {_MAX_BYTES >> 20} MB")
    root = _root(body)
    if _name(root) not in ("opml", "outline", "body"):
        hint = "export the subscriptions as OPML and import that file"
        raise DocumentError(f"this is not OPML: its root element is {_name(root)[:40]!r}", hint=hint)
    head = next((child for child in root if _name(child) == "head"), None)
    # After repairs the body may have ended up inside something that was never closed.
    body_element = next((element for element in root.iter() if _name(element) == "body"), root)
    return Opml(
        version=root.get("version", "2.0"),
        attributes=tuple((n, v) for n, v in _attributes(root) if n != "version"),
        head=tuple(
            (str(child.tag), child.text or "") for child in (head if head is not None else ()) if _name(child)
        ),
        outlines=tuple(_outlines(body_element, 0)),
    )


def write_opml(opml: Opml) -> bytes:
    """The document as XML; reading it again gives the same outline."""
    root = etree.Element("opml", version=opml.version)
    _set(root, opml.attributes)
    head = etree.SubElement(root, "head")
    for name, text in opml.head:
        etree.SubElement(head, name).text = _printable(text) or None
    body = etree.SubElement(root, "body")
    for outline in opml.outlines:
        _append(body, outline)
    etree.indent(root)
    written: bytes = etree.tostring(root, xml_declaration=True, encoding="utf-8")
    return written + b"\n"


def subscriptions(opml: Opml) -> tuple[Subscription, ...]:
    """Every feed of the outline, in order; one that is in several folders comes several times."""
    return tuple(found for outline in opml.outlines for found in _subscriptions(outline, ()))


def merged(old: Opml, new: Opml) -> Opml:
    """What two documents say together, in the order of the first; the later one has the last word on attributes.

    Into an empty document everything goes as it is, and what is there already changes nothing.
    """
    if old == Opml():
        return new
    named = {name for name, _ in old.head}
    return replace(
        old,
        attributes=_joined(old.attributes, new.attributes),
        head=old.head + tuple(pair for pair in new.head if pair[0] not in named),
        outlines=_merged(old.outlines, new.outlines),
    )


def with_feeds(opml: Opml, moved: Callable[[str], str | None], feeds: Iterable[Subscription] = ()) -> Opml:
    """The document with every feed at the address that `moved` tells (None: it is gone), and more feeds at its end."""
    kept = tuple(outline for one in opml.outlines for outline in _moved(one, moved))
    return replace(opml, outlines=kept + tuple(_feed_outline(feed) for feed in feeds))


def url_of(outline: Outline) -> str:
    """The address of the feed that an outline names; empty for folders and notes."""
    is_feed = outline.get("type").lower() in ("rss", "atom", "feed")
    return outline.get("xmlUrl", "url" if is_feed else "xmlUrl").strip()


def _root(body: bytes) -> etree._Element:
    for text, recover in ((body, False), (_UNDECLARED.sub(b"&amp;", body), False), (body, True)):
        parser = etree.XMLParser(
            recover=recover, resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False
        )
        try:
            root = etree.fromstring(text.lstrip(), parser)
        except (etree.LxmlError, ValueError):
            continue
        if root is not None:
            return root
    raise DocumentError(
        "this is not OPML: it cannot be read as XML", hint="is it the file that was exported?"
    )


def _outlines(element: etree._Element, depth: int) -> Iterator[Outline]:
    if depth > _MAX_DEPTH:
        return
    for child in element:
        if _name(child) == "outline":
            yield Outline(attributes=_attributes(child), children=tuple(_outlines(child, depth + 1)))
        elif _name(child) == "body":
            yield from _outlines(child, depth + 1)


def _subscriptions(outline: Outline, folders: tuple[str, ...]) -> Iterator[Subscription]:
    name = outline.get("text", "title")
    url = url_of(outline)
    if url:
        yield Subscription(
            url=url,
            title=name,
            site=outline.get("htmlUrl"),
            folders=folders,
            categories=tuple(part.strip() for part in outline.get("category").split(",") if part.strip()),
            outline=Outline(attributes=outline.attributes),
        )
    inside = folders if url else (*folders, name)
    for child in outline.children:
        yield from _subscriptions(child, inside)


def _merged(old: tuple[Outline, ...], new: tuple[Outline, ...]) -> tuple[Outline, ...]:
    """Each of the new outlines meets one of the old that means the same, if there is one, or comes after them."""
    result = list(old)
    free: dict[tuple[str, str], list[int]] = {}
    for place, outline in enumerate(old):
        free.setdefault(_meaning(outline), []).append(place)
    for outline in new:
        places = free.get(_meaning(outline))
        if not places:
            result.append(outline)
            continue
        place = places.pop(0)
        known = result[place]
        result[place] = Outline(
            attributes=_joined(known.attributes, outline.attributes),
            children=_merged(known.children, outline.children),
        )
    return tuple(result)


def _meaning(outline: Outline) -> tuple[str, str]:
    url = url_of(outline)
    return ("feed", url) if url else ("folder", outline.get("text", "title"))


def _joined(old: Attributes, new: Attributes) -> Attributes:
    return tuple((dict(old) | dict(new)).items())


def _moved(outline: Outline, moved: Callable[[str], str | None]) -> tuple[Outline, ...]:
    """The outline, or what was inside it when its feed is gone."""
    children = tuple(kept for child in outline.children for kept in _moved(child, moved))
    url = url_of(outline)
    where = moved(url) if url else ""
    if where is None:
        return children
    attributes = tuple(
        (name, where if url and where != url and value.strip() == url else value)
        for name, value in outline.attributes
    )
    return (Outline(attributes=attributes, children=children),)


def _feed_outline(feed: Subscription) -> Outline:
    title = feed.title or feed.url
    known = (("type", "rss"), ("text", title), ("title", title), ("xmlUrl", feed.url), ("htmlUrl", feed.site))
    return Outline(attributes=tuple((name, value) for name, value in known if value))


def _append(parent: etree._Element, outline: Outline) -> None:
    element = etree.SubElement(parent, "outline")
    _set(element, outline.attributes)
    for child in outline.children:
        _append(element, child)


def _set(element: etree._Element, attributes: Attributes) -> None:
    for name, value in attributes:
        element.set(name, _printable(value))


def _attributes(element: etree._Element) -> Attributes:
    return tuple((str(name), str(value)) for name, value in element.attrib.items())


def _name(element: etree._Element) -> str:
    """The local name in lower case; empty for comments and instructions."""
    return element.tag.rpartition("}")[2].lower() if isinstance(element.tag, str) else ""


def _printable(text: str) -> str:
    """What XML can carry of a text."""
    return "".join(
        c for c in text if c in "\t\n\r" or " " <= c <= "\ud7ff" or "\ue000" <= c <= "�" or c > "\uffff"
    )
