"""OPML in and out: nested, tolerant of what people really export, and nothing of a feed is lost on the way.

Of a document the feeds are read, each with its folders and all its attributes. Heads, notes and comments are not kept.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice

from lxml import etree

from feedweir.acquire.parse.encodings import decoded
from feedweir.acquire.parse.xml.tolerance import with_entities, with_sound_tags
from feedweir.errors import DocumentError
from feedweir.text.markup_bounds import MAX_ATTRIBUTES
from feedweir.text.xml_characters import legal

_MAX_BYTES = 64 << 20
_DECLARATION = re.compile(r"\A<\?xml\s[^>]*\?>")
_FEED_TYPES = ("rss", "atom", "feed")


@dataclass(frozen=True, slots=True)
class Subscription:
    """A feed that an outline names: its attributes, and the folders it is in, outermost first. A name of an attribute
    with a namespace is `{namespace}name`."""

    attributes: dict[str, str]
    folders: tuple[str, ...] = ()

    def value(self, *names: str) -> str:
        """The first of these attributes that is present and not empty; case is ignored."""
        values = {name.lower(): value for name, value in reversed(self.attributes.items())}
        return next((values[name.lower()] for name in names if values.get(name.lower())), "")

    @property
    def title(self) -> str:
        return self.value("text", "title")

    @property
    def url(self) -> str:
        """Empty for a folder or a note."""
        is_feed = self.value("type").lower() in _FEED_TYPES
        return self.value("xmlUrl", "url" if is_feed else "xmlUrl").strip()

    def moved(self, url: str) -> Subscription:
        """The same feed at another address, replaced in every attribute that has the old one."""
        old = self.url
        return self._with({name: url for name, value in self.attributes.items() if value.strip() == old})

    def renamed(self, title: str) -> Subscription:
        """The same feed under another title."""
        if title == self.title:
            return self
        names = [name for name in self.attributes if name.lower() in ("text", "title")]
        renamed = self._with({name: legal(title) for name in names if self.attributes[name] == self.title})
        return renamed if renamed.title == title else renamed._with({"text": legal(title)})

    def _with(self, attributes: Mapping[str, str]) -> Subscription:
        return replace(self, attributes={**self.attributes, **attributes})


def subscription(url: str, title: str, site: str = "") -> Subscription:
    """A feed that no outline named yet."""
    known = {"type": "rss", "text": title or url, "title": title or url, "xmlUrl": url, "htmlUrl": site}
    return Subscription({name: legal(value) for name, value in known.items() if value})


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """What happened to each feed of an outline."""

    registered: tuple[str, ...]
    known: tuple[str, ...]
    """Sources that were there already, by their address."""
    folders: tuple[str, ...]
    """The virtual feeds that folders became."""
    refused: tuple[tuple[str, str], ...]
    """(what the outline calls it, why it was left out)."""


def read_opml(body: bytes) -> tuple[Subscription, ...]:
    """The feeds of a document in order; one that is in several folders comes several times. Repairs what can be
    repaired, and raises `DocumentError` when nothing is left."""
    if len(body) > _MAX_BYTES:
        raise DocumentError(f"the OPML file is larger than {_MAX_BYTES >> 20} MB")
    root = _root(decoded(body).body.decode())
    namespace, name = _name(root)
    if name not in ("opml", "outline", "body"):
        hint = "export the subscriptions as OPML and import that file"
        raise DocumentError(f"this is not OPML: its root element is {name[:40]!r}", hint=hint)
    above = etree.Element("above")
    above.append(root)
    return tuple(_feeds_in(above, namespace, ()))


def write_opml(feeds: Iterable[Subscription]) -> bytes:
    """A document with these feeds in their folders. A folder stands where its first feed does."""
    root = etree.Element("opml", {"version": "2.0"})
    etree.SubElement(root, "head")
    folders: dict[tuple[str, ...], etree._Element] = {(): etree.SubElement(root, "body")}
    for feed in feeds:
        for depth, title in enumerate(feed.folders, 1):
            path = feed.folders[:depth]
            if path not in folders:
                folders[path] = etree.SubElement(folders[path[:-1]], "outline", {"text": legal(title)})
        etree.SubElement(folders[feed.folders], "outline", dict(feed.attributes))
    return etree.tostring(root, encoding="UTF-8", xml_declaration=True, pretty_print=True)


def merged(old: Iterable[Subscription], new: Iterable[Subscription]) -> tuple[Subscription, ...]:
    """The feeds of two documents, in the order of the first. A feed that is in the same folder of both is one, and the
    later document has the last word on its attributes."""
    both: dict[tuple[tuple[str, ...], str], Subscription] = {}
    for feed in (*old, *new):
        place = feed.folders, feed.url
        both[place] = both[place]._with(feed.attributes) if place in both else feed
    return tuple(both.values())


def _root(text: str) -> etree._Element:
    """The tree of the text, which is repaired only if it cannot be read as it is."""
    # Some programs write text before the document that is not XML; the encoding of its declaration is already known.
    plain = _DECLARATION.sub("", text[max(text.find("<"), 0) :], count=1)
    healed = with_entities(plain)
    # A DOCTYPE is never given to a parser.
    root = None if "<!DOCTYPE" in plain else _parsed(plain)
    root = _parsed(healed) if root is None else root
    root = _parsed(with_sound_tags(healed), recover=True) if root is None else root
    if root is None:
        raise DocumentError(
            "this is not OPML: it cannot be read as XML", hint="is it the file that was exported?"
        )
    return root


def _parsed(text: str, *, recover: bool = False) -> etree._Element | None:
    parser = etree.XMLParser(
        recover=recover, resolve_entities=False, no_network=True, remove_comments=True, remove_pis=True
    )
    try:
        return etree.fromstring(text.strip(), parser)
    except (etree.LxmlError, ValueError):
        return None


def _name(element: etree._Element) -> tuple[str, str]:
    """(namespace, name in lower case) of an element; an undeclared prefix stands for a namespace."""
    tag = str(element.tag)
    namespace, _, local = tag.rpartition("}" if tag[0] == "{" else ":")
    return namespace, local.lower()


def _feeds_in(parent: etree._Element, namespace: str, folders: tuple[str, ...]) -> Iterator[Subscription]:
    """The feeds below an element, wherever they were written or have ended up; elements of other namespaces are
    somebody else's."""
    for child in parent.iterchildren(etree.Element):
        theirs, name = _name(child)
        inside = folders
        if theirs == namespace and name == "outline":
            outline = Subscription(_attributes(child), folders)
            if outline.url:
                yield outline
            else:
                inside = (*folders, outline.title)
        if theirs == namespace:
            yield from _feeds_in(child, namespace, inside)


def _attributes(element: etree._Element) -> dict[str, str]:
    """Undeclared prefixes stand for namespaces of their own, so that every reader can read what is
    written."""
    found: dict[str, str] = {}
    for name, value in islice(element.attrib.items(), MAX_ATTRIBUTES):
        prefix, colon, local = str(name).rpartition(":")
        is_undeclared = colon and name[0] != "{"
        found[f"{{urn:undeclared:{prefix}}}{local}" if is_undeclared else str(name)] = str(value)
    return found
