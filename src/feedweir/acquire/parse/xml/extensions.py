"""Elements without a field of their own: attached files, media and extensions."""

from __future__ import annotations

from collections.abc import Sequence

from feedweir.acquire.parse.xml.entry_reader import EntryReader, url_of
from feedweir.acquire.parse.xml.xml_element import MAX_TEXT_CHARS, Attributes, ElementColumn, XmlElement
from feedweir.text.html import all_one_line, is_script, one_line

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


def enclose(reader: EntryReader, column: ElementColumn) -> None:
    for place, attributes in enumerate(column.attributes):
        link = attributes.get("url") or attributes.get("href") or attributes.get(f"{_RDF}resource")
        url = url_of(link, reader.bases[place])
        reader.attach(place, url, attributes.get("type"), attributes.get("length"))


def take_media(reader: EntryReader, column: ElementColumn) -> None:
    elements: Sequence[XmlElement | None] = column.elements or [None] * len(column.texts)
    for place, (attributes, element) in enumerate(zip(column.attributes, elements, strict=True)):
        _take_media_of_one(reader, place, attributes, element)


def _take_media_of_one(
    reader: EntryReader, place: int, attributes: Attributes, element: XmlElement | None
) -> None:
    """A media file is an enclosure; elements inside it describe the item."""
    url = url_of(attributes.get("url"), reader.bases[place])
    kind = attributes.get("type") or attributes.get("medium")
    reader.attach(place, url, kind, attributes.get("fileSize"))
    for child in element or ():
        _extend_one(reader, place, child)


def extend(reader: EntryReader, column: ElementColumn) -> None:
    """An element that has no handler: its text, else its most informative attribute, else the elements inside it."""
    if column.elements is not None:
        for place, element in enumerate(column.elements):
            _extend_one(reader, place, element)
    elif column.name:
        values = [
            text or _telling(attributes)
            for text, attributes in zip(column.texts, column.attributes, strict=True)
        ]
        label, extensions = _label(column.name), reader.entries.extensions
        for place, value in enumerate(all_one_line([value.strip() for value in values])):
            if value and len(extensions[place]) < MAX_EXTENSIONS and not _is_script(value):
                extensions[place] += ((label, value),)


def _extend_one(reader: EntryReader, place: int, element: XmlElement) -> None:
    extensions = reader.entries.extensions
    if not element.name or len(extensions[place]) >= MAX_EXTENSIONS:
        return
    value = element.lead or _telling(element.attributes)
    if value and not _is_script(value):
        extensions[place] += ((_label(element.name), one_line(value)),)
    for child in element:
        if child.name == "media:content":
            _take_media_of_one(reader, place, child.attributes, child)
        else:
            _extend_one(reader, place, child)


def _telling(attributes: Attributes) -> str:
    """The attribute that holds the value of an empty element."""
    if not attributes:
        return ""
    return next((attributes[key] for key in _VALUE_ATTRIBUTES if attributes.get(key)), "")[:MAX_TEXT_CHARS]


def _is_script(value: str) -> bool:
    """Some extensions are links (`rss:comments`); a sentence that begins with "Data:" is none."""
    return is_script(value) and not value.partition(":")[2][:1].isspace()


def _label(name: str) -> str:
    return name if ":" in name else f"rss:{name}"
