"""What each element of an entry means: one table for RSS, RDF and Atom, because documents mix them.

Elements without an attribute of their own become extensions. Where a document has several elements for one attribute,
the format's own (`description`, `pubDate`, `content:encoded`) goes before a borrowed one, else the first has it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from feedweir.acquire.parse.entries import Entries
from feedweir.acquire.parse.xml.element_text import atom_html, atom_title, author_name, person_name
from feedweir.acquire.parse.xml.entry_reader import EntryReader, Handler, url_of
from feedweir.acquire.parse.xml.extensions import enclose, extend, take_media
from feedweir.acquire.parse.xml.xml_element import (
    XML_BASE,
    Attributes,
    ElementColumn,
    XmlElement,
    element_columns,
)
from feedweir.text.dates import all_epoch_us
from feedweir.text.html import (
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
"""Link relations that do not concern the item."""


def read_entries(elements: Sequence[XmlElement], entries: Entries, *, has_bases: bool) -> None:
    """Fill entries from `item` or `entry` elements of one shape."""
    bases = entries.base
    reader = EntryReader(entries, bases)
    for column in element_columns(elements):
        if has_bases:
            reader.bases = [
                absolute(attributes.get(XML_BASE, ""), base) or base
                for attributes, base in zip(column.attributes, bases, strict=True)
            ]
        HANDLERS.get(column.key, extend)(reader, column)
    reader.finish()
    _complete(entries)


def _complete(entries: Entries) -> None:
    """Fill missing fields from elements that mean nearly the same."""
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


def _complete_one(entries: Entries, place: int, values: dict[str, str]) -> None:
    title = values.get("media:title", "") or values.get("itunes:title", "")
    entries.title[place] = entries.title[place] or title_text(title)
    for name in ("media:description", "itunes:summary", "itunes:subtitle"):
        entries.summary[place] = entries.summary[place] or values.get(name, "")
    author = values.get("itunes:author")
    if author and not entries.authors[place]:
        entries.authors[place] = (author,)


def _first(known: list[Value], new: list[Value]) -> list[Value]:
    """The known values, else the new ones; both may be the same list."""
    return [one or two for one, two in zip(known, new, strict=True)] if any(known) else list(new)


def _first_moment(known: list[int | None], texts: list[str]) -> list[int | None]:
    moments = all_epoch_us(texts)
    return [two if one is None else one for one, two in zip(known, moments, strict=True)]


def _title(reader: EntryReader, column: ElementColumn) -> None:
    reader.entries.title = _first(reader.entries.title, all_title_texts(column.plain()))


def _atom_title(reader: EntryReader, column: ElementColumn) -> None:
    if column.elements is None and not any(column.attributes):
        _title(reader, column)
    else:
        reader.entries.title = _first(reader.entries.title, _each(atom_title, column))


def _each(read: Callable[[str, Attributes, XmlElement | None], Value], column: ElementColumn) -> list[Value]:
    """The value of each element, read one by one."""
    elements: Sequence[XmlElement | None] = column.elements or [None] * len(column.texts)
    return [read(*each) for each in zip(column.texts, column.attributes, elements, strict=True)]


def _link(reader: EntryReader, column: ElementColumn) -> None:
    """RSS has the link as text, but some write an Atom link without its namespace."""
    entries, texts = reader.entries, column.leads()
    urls = reader.urls(texts)
    if all(urls):
        entries.link = urls
        return
    for place, attributes in enumerate(column.attributes):
        if not texts[place] and attributes.get("href"):
            _link_one(reader, place, url_of(attributes["href"], reader.bases[place]), attributes)
        else:
            entries.link[place] = urls[place] or entries.link[place]


def _atom_link(reader: EntryReader, column: ElementColumn) -> None:
    """The address is an attribute; some publishers write it as text, as in RSS."""
    pairs = zip(column.attributes, column.leads(), strict=True)
    urls = reader.urls([attributes.get("href") or text for attributes, text in pairs])
    for place, url in enumerate(urls):
        _link_one(reader, place, url, column.attributes[place])


def _link_one(reader: EntryReader, place: int, url: str, attributes: Attributes) -> None:
    entries = reader.entries
    relation = (attributes.get("rel") or "alternate").rpartition("/")[2].lower()
    if not url or relation in _LINKS_ELSEWHERE:
        return
    if relation == "enclosure":
        reader.attach(place, url, attributes.get("type"), attributes.get("length"))
    elif relation == "alternate" and not entries.link[place]:
        entries.link[place] = url
    else:
        reader.related[place].append(url)


def _guid(reader: EntryReader, column: ElementColumn) -> None:
    """A guid with isPermaLink=false is not a link, even when it looks like one."""
    entries = reader.entries
    entries.guid = _first(list(column.plain()), entries.guid)
    if all(entries.link):
        return
    for place, (guid, attributes) in enumerate(zip(entries.guid, column.attributes, strict=True)):
        is_permalink = attributes.get("isPermaLink", "true").lower() != "false"
        if not entries.link[place] and is_permalink and is_web_link(guid):
            entries.link[place] = guid


def _atom_id(reader: EntryReader, column: ElementColumn) -> None:
    reader.entries.guid = _first(reader.entries.guid, column.plain())


def _summary(reader: EntryReader, column: ElementColumn) -> None:
    reader.entries.summary = _first(column.htmls(), reader.entries.summary)


def _atom_summary(reader: EntryReader, column: ElementColumn) -> None:
    reader.entries.summary = _first(reader.entries.summary, _each(atom_html, column))


def _other_summary(reader: EntryReader, column: ElementColumn) -> None:
    reader.entries.summary = _first(reader.entries.summary, column.htmls())


def _content(reader: EntryReader, column: ElementColumn) -> None:
    reader.entries.content = _first(column.htmls(), reader.entries.content)


def _atom_content(reader: EntryReader, column: ElementColumn) -> None:
    entries = reader.entries
    for place, url in enumerate(reader.urls([attributes.get("src") for attributes in column.attributes])):
        if url:
            reader.related[place].append(url)
    entries.content = _first(entries.content, _each(atom_html, column))
    entries.base = list(reader.bases)


def _author(reader: EntryReader, column: ElementColumn) -> None:
    texts = column.plain()
    if any("@" in text for text in texts):
        names = [author_name(text) for text in texts]
    else:
        names = all_texts_of(texts)
    reader.authors.append(names)


def _person(reader: EntryReader, column: ElementColumn) -> None:
    if column.elements is None:
        names = all_texts_of(column.texts)
    else:
        raws = [element.raw for element in column.elements]
        # Few people write for one feed.
        known = {
            raw: person_name(element)
            for raw, element in dict(zip(raws, column.elements, strict=True)).items()
        }
        names = [known[raw] for raw in raws]
    reader.authors.append(names)


def _category(reader: EntryReader, column: ElementColumn) -> None:
    """RSS has the category as text, Atom in attributes."""
    texts = column.plain()
    if not all(texts):
        texts = [
            text or attributes.get("label") or attributes.get("term") or ""
            for text, attributes in zip(texts, column.attributes, strict=True)
        ]
    reader.categories.append([text_of(text) for text in texts])


def _published(reader: EntryReader, column: ElementColumn) -> None:
    entries = reader.entries
    moments = all_epoch_us(column.leads())
    entries.published = [
        known if moment is None else moment for known, moment in zip(entries.published, moments, strict=True)
    ]


def _other_published(reader: EntryReader, column: ElementColumn) -> None:
    reader.entries.published = _first_moment(reader.entries.published, column.leads())


def _updated(reader: EntryReader, column: ElementColumn) -> None:
    reader.entries.updated = _first_moment(reader.entries.updated, column.leads())


def _language(reader: EntryReader, column: ElementColumn) -> None:
    reader.entries.language = list(column.plain())


def _synchronised(reader: EntryReader, column: ElementColumn) -> None:
    """FeedSync's id is the item's where it has no other; a deleted item is read like any other."""
    ids = [attributes.get("id", "").strip() for attributes in column.attributes]
    reader.entries.guid = _first(reader.entries.guid, ids)
    extend(reader, column)


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
