"""What each element of an entry means: one table for RSS, RDF and Atom, because documents mix them.

Elements without an attribute of their own become extensions. Where a document has several elements for one attribute,
the format's own (`description`, `pubDate`, `content:encoded`) goes before a borrowed one, else the first has it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

from lxml import etree

from feedweir.acquire.element_text import (
    MAX_TEXT_CHARS,
    atom_html,
    atom_title,
    author_name,
    inner_html,
    person_name,
    plain,
)
from feedweir.acquire.entry import Entry
from feedweir.acquire.names import Names
from feedweir.items.dates import epoch_us
from feedweir.items.html import absolute, is_web_link, one_line, text_of, title_text

MAX_EXTENSIONS = 200

_RDF = "{http://www.w3.org/1999/02/22-rdf-syntax-ns#}"
_VALUE_ATTRIBUTES = (
    "url",
    "href",
    "resource",
    f"{_RDF}resource",
    "value",
    "term",
    "text",
    "ref",
    "label",
    "relativeTo",
)


Handler = Callable[["Reading", etree._Element], None]


@dataclass(slots=True)
class Reading:
    """The entries of a document being read, one after the other: what the handlers share."""

    entry: Entry
    names: Names
    base: str
    """Of the document; `xml:base` may say otherwise for an element."""
    has_bases: bool
    """Whether any element of the document has an `xml:base`, which is costly to ask for."""
    handlers: dict[object, Handler] = field(default_factory=dict)
    """What to do with the elements met so far, by tag."""

    def learned(self, element: etree._Element) -> Handler:
        """What to do with an element of a tag that was not met before."""
        key, name = self.names.of(element)
        handler = HANDLERS.get(key) or partial(_extend, name=name)
        self.handlers[element.tag] = handler
        return handler

    def url(self, element: etree._Element, link: str | None) -> str:
        """A link of an element, absolute."""
        link = (link or "").strip()
        if not link or link.startswith(("http://", "https://")):
            return link
        return absolute(link, (element.base or self.base) if self.has_bases else self.base)


def read_entry(element: etree._Element, reading: Reading) -> Entry:
    """Everything that an `item` or `entry` element says."""
    entry, handlers = reading.entry, reading.handlers
    for child in element:
        handler = handlers.get(child.tag) or reading.learned(child)
        handler(reading, child)
    _complete(entry)
    return entry


def _complete(entry: Entry) -> None:
    """Fill what is missing from what says nearly the same."""
    if not entry.link and is_web_link(entry.guid):
        entry.link = entry.guid
    if entry.extensions and not (entry.title and entry.summary and entry.authors):
        said = dict(reversed(entry.extensions))
        entry.title = entry.title or title_text(said.get("media:title", "") or said.get("itunes:title", ""))
        for name in ("media:description", "itunes:summary", "itunes:subtitle"):
            entry.summary = entry.summary or said.get(name, "")
        author = said.get("itunes:author")
        if author and not entry.authors:
            entry.authors = (author,)


def _title(reading: Reading, element: etree._Element) -> None:
    entry = reading.entry
    entry.title = entry.title or title_text(plain(element))


def _atom_title(reading: Reading, element: etree._Element) -> None:
    reading.entry.title = reading.entry.title or atom_title(element)


def _link(reading: Reading, element: etree._Element) -> None:
    """RSS has the link as text, but some write an Atom link without its namespace."""
    if not (element.text or "").strip() and element.get("href"):
        return _atom_link(reading, element)
    reading.entry.link = reading.url(element, element.text) or reading.entry.link
    return None


def _atom_link(reading: Reading, element: etree._Element) -> None:
    entry = reading.entry
    url = reading.url(element, element.get("href"))
    relation = (element.get("rel") or "alternate").rpartition("/")[2].lower()
    if not url or relation in (
        "self",
        "edit",
        "edit-media",
        "next",
        "hub",
        "replies",
        "license",
        "service.edit",
    ):
        return
    if relation == "enclosure":
        _attach(entry, url, element.get("type"), element.get("length"))
    elif relation == "alternate" and not entry.link:
        entry.link = url
    else:
        entry.related += (url,)


def _guid(reading: Reading, element: etree._Element) -> None:
    """A guid that says it is no permalink is no link, even when it looks like one."""
    entry = reading.entry
    entry.guid = plain(element)
    if not entry.link and element.get("isPermaLink", "true").lower() != "false" and is_web_link(entry.guid):
        entry.link = entry.guid


def _atom_id(reading: Reading, element: etree._Element) -> None:
    reading.entry.guid = reading.entry.guid or plain(element)


def _summary(reading: Reading, element: etree._Element) -> None:
    reading.entry.summary = inner_html(element) or reading.entry.summary


def _atom_summary(reading: Reading, element: etree._Element) -> None:
    reading.entry.summary = reading.entry.summary or atom_html(element)


def _other_summary(reading: Reading, element: etree._Element) -> None:
    reading.entry.summary = reading.entry.summary or inner_html(element)


def _content(reading: Reading, element: etree._Element) -> None:
    reading.entry.content = inner_html(element) or reading.entry.content


def _atom_content(reading: Reading, element: etree._Element) -> None:
    entry = reading.entry
    source = reading.url(element, element.get("src"))
    if source:
        entry.related += (source,)
    entry.content = entry.content or atom_html(element)
    if reading.has_bases:
        entry.base = element.base or entry.base


def _author(reading: Reading, element: etree._Element) -> None:
    _add_author(reading.entry, author_name(plain(element)))


def _person(reading: Reading, element: etree._Element) -> None:
    _add_author(reading.entry, person_name(element, reading.names))


def _category(reading: Reading, element: etree._Element) -> None:
    """RSS has the category as text, Atom in attributes."""
    entry = reading.entry
    category = text_of(plain(element) or element.get("label") or element.get("term") or "")
    if category and category not in entry.categories:
        entry.categories += (category,)


def _add_author(entry: Entry, name: str) -> None:
    if name and name not in entry.authors:
        entry.authors += (name,)


def _published(reading: Reading, element: etree._Element) -> None:
    moment = epoch_us(element.text or "")
    reading.entry.published_us = moment if moment is not None else reading.entry.published_us


def _other_published(reading: Reading, element: etree._Element) -> None:
    if reading.entry.published_us is None:
        reading.entry.published_us = epoch_us(element.text or "")


def _updated(reading: Reading, element: etree._Element) -> None:
    if reading.entry.updated_us is None:
        reading.entry.updated_us = epoch_us(element.text or "")


def _language(reading: Reading, element: etree._Element) -> None:
    reading.entry.language = plain(element)


def _enclosure(reading: Reading, element: etree._Element) -> None:
    url = element.get("url") or element.get("href") or element.get(f"{_RDF}resource")
    _attach(reading.entry, reading.url(element, url), element.get("type"), element.get("length"))


def _media_content(reading: Reading, element: etree._Element) -> None:
    """A media file is an enclosure, and what is said inside it is said of the item."""
    url = reading.url(element, element.get("url"))
    _attach(reading.entry, url, element.get("type") or element.get("medium"), element.get("fileSize"))
    for child in element:
        _extend(reading, child, reading.names.of(child)[1])


def _attach(entry: Entry, url: str, kind: str | None, length: str | None) -> None:
    if url and all(url != known for known, _, _ in entry.enclosures):
        size = int(length) if length and length.isascii() and length.isdigit() and len(length) < 16 else 0
        entry.enclosures += ((url, kind or "", size),)


def _extend(reading: Reading, element: etree._Element, name: str) -> None:
    """An element without a meaning of its own: its text, else its telling attribute, else what is inside
    it."""
    entry = reading.entry
    if not name or len(entry.extensions) >= MAX_EXTENSIONS:
        return
    value = (element.text or "").strip()
    if not value and element.attrib:
        value = next((element.get(key, "") for key in _VALUE_ATTRIBUTES if element.get(key)), "")
    if value:
        entry.extensions += ((name if ":" in name else f"rss:{name}", one_line(value[:MAX_TEXT_CHARS])),)
    for child in element:
        inner = reading.names.of(child)[1]
        if inner == "media:content":
            _media_content(reading, child)
        else:
            _extend(reading, child, inner)


HANDLERS: dict[str, Handler] = {
    "title": _title,
    "atom:title": _atom_title,
    "dc:title": _title,
    "link": _link,
    "atom:link": _atom_link,
    "guid": _guid,
    "id": _atom_id,
    "atom:id": _atom_id,
    "description": _summary,
    "summary": _other_summary,
    "atom:summary": _atom_summary,
    "atom:tagline": _atom_summary,
    "dc:description": _other_summary,
    "content": _content,
    "content:encoded": _content,
    "xhtml:body": _content,
    "xhtml:div": _content,
    "body": _content,
    "atom:content": _atom_content,
    "author": _author,
    "dc:creator": _author,
    "dc:author": _author,
    "atom:author": _person,
    "category": _category,
    "atom:category": _category,
    "dc:subject": _category,
    "pubdate": _published,
    "published": _other_published,
    "atom:published": _published,
    "atom:issued": _published,
    "atom:created": _other_published,
    "dc:date": _other_published,
    "dcterms:created": _other_published,
    "dcterms:issued": _other_published,
    "date": _other_published,
    "updated": _updated,
    "atom:updated": _updated,
    "atom:modified": _updated,
    "dcterms:modified": _updated,
    "language": _language,
    "dc:language": _language,
    "enclosure": _enclosure,
    "media:content": _media_content,
}
