"""What each element of an entry means: one table for RSS, RDF and Atom, because documents mix them.

Elements without an attribute of their own become extensions. Where a document has several elements for one attribute,
the format's own (`description`, `pubDate`, `content:encoded`) goes before a borrowed one, else the first has it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from feedweir.acquire.element_text import atom_html, atom_title, author_name, person_name
from feedweir.acquire.entries import Entries
from feedweir.acquire.extensions import enclose, extend, take_media
from feedweir.acquire.reading import Handler, Reading, url_of
from feedweir.acquire.xml_element import XML_BASE, Attributes, Said, XmlElement
from feedweir.items.dates import all_epoch_us
from feedweir.items.html import (
    absolute,
    all_texts_of,
    all_title_texts,
    is_web_link,
    text_of,
    title_text,
)

Value = TypeVar("Value")

_LINKS_ELSEWHERE = frozenset(
    ("self", "edit", "edit-media", "next", "hub", "replies", "license", "service.edit")
)
"""Relations of links that say nothing of the item."""


def read_entries(elements: Sequence[XmlElement], entries: Entries, *, has_bases: bool) -> None:
    """Take in everything that `item` or `entry` elements of one shape say."""
    bases = entries.base
    reading = Reading(entries, bases)
    for said in elements[0].said(elements):
        if has_bases:
            reading.bases = [
                absolute(attributes.get(XML_BASE, ""), base) or base
                for attributes, base in zip(said.attributes, bases, strict=True)
            ]
        HANDLERS.get(said.key, extend)(reading, said)
    reading.finish()
    _complete(entries)


def _complete(entries: Entries) -> None:
    """Fill what is missing from what says nearly the same."""
    if not all(entries.link):
        entries.link = [
            link or (guid if is_web_link(guid) else "")
            for link, guid in zip(entries.link, entries.guid, strict=True)
        ]
    if not any(entries.extensions):
        return
    for place, extensions in enumerate(entries.extensions):
        if extensions and not (entries.title[place] and entries.summary[place] and entries.authors[place]):
            _complete_one(entries, place, dict(reversed(extensions)))


def _complete_one(entries: Entries, place: int, said: dict[str, str]) -> None:
    title = said.get("media:title", "") or said.get("itunes:title", "")
    entries.title[place] = entries.title[place] or title_text(title)
    for name in ("media:description", "itunes:summary", "itunes:subtitle"):
        entries.summary[place] = entries.summary[place] or said.get(name, "")
    author = said.get("itunes:author")
    if author and not entries.authors[place]:
        entries.authors[place] = (author,)


def _first(known: list[Value], said: list[Value]) -> list[Value]:
    """What was known, else what is said; the lists may be one."""
    return [one or two for one, two in zip(known, said, strict=True)] if any(known) else list(said)


def _first_moment(known: list[int | None], texts: list[str]) -> list[int | None]:
    moments = all_epoch_us(texts)
    return [two if one is None else one for one, two in zip(known, moments, strict=True)]


def _title(reading: Reading, said: Said) -> None:
    reading.entries.title = _first(reading.entries.title, all_title_texts(said.plain()))


def _atom_title(reading: Reading, said: Said) -> None:
    if said.elements is None and not any(said.attributes):
        _title(reading, said)
    else:
        reading.entries.title = _first(reading.entries.title, _each(atom_title, said))


def _each(read: Callable[[str, Attributes, XmlElement | None], Value], said: Said) -> list[Value]:
    """What is read from every one by itself."""
    elements: Sequence[XmlElement | None] = said.elements or [None] * len(said.texts)
    return [read(*each) for each in zip(said.texts, said.attributes, elements, strict=True)]


def _link(reading: Reading, said: Said) -> None:
    """RSS has the link as text, but some write an Atom link without its namespace."""
    entries, texts = reading.entries, said.leads()
    urls = reading.urls(texts)
    if all(urls):
        entries.link = urls
        return
    for place, attributes in enumerate(said.attributes):
        if not texts[place] and attributes.get("href"):
            _link_one(reading, place, url_of(attributes["href"], reading.bases[place]), attributes)
        else:
            entries.link[place] = urls[place] or entries.link[place]


def _atom_link(reading: Reading, said: Said) -> None:
    """The address is an attribute; some publishers write it as text, as in RSS."""
    pairs = zip(said.attributes, said.leads(), strict=True)
    urls = reading.urls([attributes.get("href") or text for attributes, text in pairs])
    for place, url in enumerate(urls):
        _link_one(reading, place, url, said.attributes[place])


def _link_one(reading: Reading, place: int, url: str, attributes: Attributes) -> None:
    entries = reading.entries
    relation = (attributes.get("rel") or "alternate").rpartition("/")[2].lower()
    if not url or relation in _LINKS_ELSEWHERE:
        return
    if relation == "enclosure":
        reading.attach(place, url, attributes.get("type"), attributes.get("length"))
    elif relation == "alternate" and not entries.link[place]:
        entries.link[place] = url
    else:
        reading.related[place].append(url)


def _guid(reading: Reading, said: Said) -> None:
    """A guid that says it is no permalink is no link, even when it looks like one."""
    entries = reading.entries
    entries.guid = _first(list(said.plain()), entries.guid)
    if all(entries.link):
        return
    for place, (guid, attributes) in enumerate(zip(entries.guid, said.attributes, strict=True)):
        is_permalink = attributes.get("isPermaLink", "true").lower() != "false"
        if not entries.link[place] and is_permalink and is_web_link(guid):
            entries.link[place] = guid


def _atom_id(reading: Reading, said: Said) -> None:
    reading.entries.guid = _first(reading.entries.guid, said.plain())


def _summary(reading: Reading, said: Said) -> None:
    reading.entries.summary = _first(said.htmls(), reading.entries.summary)


def _atom_summary(reading: Reading, said: Said) -> None:
    reading.entries.summary = _first(reading.entries.summary, _each(atom_html, said))


def _other_summary(reading: Reading, said: Said) -> None:
    reading.entries.summary = _first(reading.entries.summary, said.htmls())


def _content(reading: Reading, said: Said) -> None:
    reading.entries.content = _first(said.htmls(), reading.entries.content)


def _atom_content(reading: Reading, said: Said) -> None:
    entries = reading.entries
    for place, url in enumerate(reading.urls([attributes.get("src") for attributes in said.attributes])):
        if url:
            reading.related[place].append(url)
    entries.content = _first(entries.content, _each(atom_html, said))
    entries.base = list(reading.bases)


def _author(reading: Reading, said: Said) -> None:
    texts = said.plain()
    if any("@" in text for text in texts):
        names = [author_name(text) for text in texts]
    else:
        names = all_texts_of(texts)
    reading.authors.append(names)


def _person(reading: Reading, said: Said) -> None:
    if said.elements is None:
        names = all_texts_of(said.texts)
    else:
        raws = [element.raw for element in said.elements]
        # Few people write for one feed.
        known = {
            raw: person_name(element) for raw, element in dict(zip(raws, said.elements, strict=True)).items()
        }
        names = [known[raw] for raw in raws]
    reading.authors.append(names)


def _category(reading: Reading, said: Said) -> None:
    """RSS has the category as text, Atom in attributes."""
    texts = said.plain()
    if not all(texts):
        texts = [
            text or attributes.get("label") or attributes.get("term") or ""
            for text, attributes in zip(texts, said.attributes, strict=True)
        ]
    reading.categories.append([text_of(text) for text in texts])


def _published(reading: Reading, said: Said) -> None:
    entries = reading.entries
    moments = all_epoch_us(said.leads())
    entries.published_us = [
        known if moment is None else moment
        for known, moment in zip(entries.published_us, moments, strict=True)
    ]


def _other_published(reading: Reading, said: Said) -> None:
    reading.entries.published_us = _first_moment(reading.entries.published_us, said.leads())


def _updated(reading: Reading, said: Said) -> None:
    reading.entries.updated_us = _first_moment(reading.entries.updated_us, said.leads())


def _language(reading: Reading, said: Said) -> None:
    reading.entries.language = list(said.plain())


def _synchronised(reading: Reading, said: Said) -> None:
    """FeedSync's id is the item's where it has no other; a deleted item is read like any other."""
    ids = [attributes.get("id", "").strip() for attributes in said.attributes]
    reading.entries.guid = _first(reading.entries.guid, ids)
    extend(reading, said)


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
    "fullitem": _content,
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
    "enclosure": enclose,
    "media:content": take_media,
    "sx:sync": _synchronised,
}
