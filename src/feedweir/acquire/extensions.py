"""Elements that are kept as they are: attached files, media, and whatever has no attribute of its own."""

from __future__ import annotations

from collections.abc import Sequence

from feedweir.acquire.reading import Reading, url_of
from feedweir.acquire.xml_element import MAX_TEXT_CHARS, Attributes, Said, XmlElement
from feedweir.items.html import all_one_line, is_script, one_line

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


def enclose(reading: Reading, said: Said) -> None:
    for place, attributes in enumerate(said.attributes):
        link = attributes.get("url") or attributes.get("href") or attributes.get(f"{_RDF}resource")
        url = url_of(link, reading.bases[place])
        reading.attach(place, url, attributes.get("type"), attributes.get("length"))


def take_media(reading: Reading, said: Said) -> None:
    elements: Sequence[XmlElement | None] = said.elements or [None] * len(said.texts)
    for place, (attributes, element) in enumerate(zip(said.attributes, elements, strict=True)):
        _take_media_of_one(reading, place, attributes, element)


def _take_media_of_one(
    reading: Reading, place: int, attributes: Attributes, element: XmlElement | None
) -> None:
    """A media file is an enclosure, and what is said inside it is said of the item."""
    url = url_of(attributes.get("url"), reading.bases[place])
    kind = attributes.get("type") or attributes.get("medium")
    reading.attach(place, url, kind, attributes.get("fileSize"))
    for child in element or ():
        _extend_one(reading, place, child)


def extend(reading: Reading, said: Said) -> None:
    """An element without a meaning of its own: its text, else its telling attribute, else what is inside
    it."""
    if said.elements is not None:
        for place, element in enumerate(said.elements):
            _extend_one(reading, place, element)
    elif said.name:
        values = [
            text or _telling(attributes) for text, attributes in zip(said.texts, said.attributes, strict=True)
        ]
        label, extensions = _label(said.name), reading.entries.extensions
        for place, value in enumerate(all_one_line([value.strip() for value in values])):
            if value and len(extensions[place]) < MAX_EXTENSIONS and not _is_script(value):
                extensions[place] += ((label, value),)


def _extend_one(reading: Reading, place: int, element: XmlElement) -> None:
    extensions = reading.entries.extensions
    if not element.name or len(extensions[place]) >= MAX_EXTENSIONS:
        return
    value = element.lead or _telling(element.attributes)
    if value and not _is_script(value):
        extensions[place] += ((_label(element.name), one_line(value)),)
    for child in element:
        if child.name == "media:content":
            _take_media_of_one(reading, place, child.attributes, child)
        else:
            _extend_one(reading, place, child)


def _telling(attributes: Attributes) -> str:
    """The attribute that says what an empty element says."""
    if not attributes:
        return ""
    return next((attributes[key] for key in _VALUE_ATTRIBUTES if attributes.get(key)), "")[:MAX_TEXT_CHARS]


def _is_script(value: str) -> bool:
    """Some extensions are links (`rss:comments`); a sentence that begins with "Data:" is none."""
    return is_script(value) and not value.partition(":")[2][:1].isspace()


def _label(name: str) -> str:
    return name if ":" in name else f"rss:{name}"
