"""OPML in and out: nested, tolerant of what people really export, and nothing unknown is lost on the way.

The outline is kept as it was, attributes in order and unknown ones included; `subscriptions` reads feeds from it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

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
            (_name(child), child.text or "") for child in (head if head is not None else ()) if _name(child)
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


def opml_of(feeds: Iterable[Subscription], *, title: str = "Feedweir subscriptions") -> Opml:
    """An outline of feeds by folder; whatever their outlines carried besides is carried on."""
    return Opml(head=(("title", title),), outlines=_nested(list(feeds), 0))


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
    url = outline.get("xmlUrl", "url" if outline.get("type").lower() in ("rss", "atom", "feed") else "xmlUrl")
    if url:
        yield Subscription(
            url=url.strip(),
            title=name,
            site=outline.get("htmlUrl"),
            folders=folders,
            categories=tuple(part.strip() for part in outline.get("category").split(",") if part.strip()),
            outline=Outline(attributes=outline.attributes),
        )
    inside = folders if url else (*folders, name)
    for child in outline.children:
        yield from _subscriptions(child, inside)


def _nested(feeds: list[Subscription], depth: int) -> tuple[Outline, ...]:
    """Folders in the order of their first feed, feeds in their order."""
    places: dict[str, list[Subscription]] = {}
    outlines: list[Outline | str] = []
    for feed in feeds:
        if len(feed.folders) == depth:
            outlines.append(_feed_outline(feed))
            continue
        if feed.folders[depth] not in places:
            outlines.append(feed.folders[depth])
        places.setdefault(feed.folders[depth], []).append(feed)
    return tuple(
        Outline(attributes=(("text", place),), children=_nested(places[place], depth + 1))
        if isinstance(place, str)
        else place
        for place in outlines
    )


def _feed_outline(feed: Subscription) -> Outline:
    written = {name.lower() for name, _ in feed.outline.attributes}
    title = feed.title or feed.url
    known = (("type", "rss"), ("text", title), ("title", title), ("xmlUrl", feed.url), ("htmlUrl", feed.site))
    # A title beside the text is for outlines of our own: one that was written without has its reasons.
    is_titled = bool({"text", "title"} & written)
    added = tuple(
        (name, value)
        for name, value in known
        if value and name.lower() not in written and not (is_titled and name in ("text", "title"))
    )
    if feed.categories and "category" not in written:
        added += (("category", ",".join(feed.categories)),)
    changed = tuple((n, feed.url if n.lower() == "xmlurl" else v) for n, v in feed.outline.attributes)
    return Outline(attributes=changed + added)


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
