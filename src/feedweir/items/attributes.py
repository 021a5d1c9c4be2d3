"""The attributes that statements may name: their types, and what an item says for each."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import Enum

from feedweir.items.model import Item


class AttributeType(Enum):
    TEXT = "text"
    """Plain text, analysed into words."""
    HTML = "html"
    """HTML, analysed into the words between its tags."""
    STRING = "string"
    """A value compared whole."""
    LINK = "link"
    TIME = "time"
    NUMBER = "number"


@dataclass(frozen=True, slots=True)
class Attribute:
    """`column` is its name in `ITEM_SCHEMA`; an attribute with several values is a list column."""

    name: str
    type: AttributeType
    column: str
    is_multiple: bool = False


ATTRIBUTES: tuple[Attribute, ...] = (
    Attribute("title", AttributeType.TEXT, "title"),
    Attribute("summary", AttributeType.HTML, "summary"),
    Attribute("content", AttributeType.HTML, "content"),
    Attribute("author", AttributeType.TEXT, "authors", is_multiple=True),
    Attribute("category", AttributeType.TEXT, "categories", is_multiple=True),
    Attribute("link", AttributeType.LINK, "link"),
    Attribute("links", AttributeType.LINK, "links", is_multiple=True),
    Attribute("enclosure", AttributeType.LINK, "enclosures", is_multiple=True),
    Attribute("published", AttributeType.TIME, "published"),
    Attribute("updated", AttributeType.TIME, "updated"),
    Attribute("arrived", AttributeType.TIME, "arrived"),
    Attribute("language", AttributeType.STRING, "language"),
    Attribute("source", AttributeType.STRING, "source"),
    Attribute("guid", AttributeType.STRING, "identity"),
    Attribute("revision", AttributeType.NUMBER, "revision"),
)

SYNONYMS = {
    "description": "summary",
    "authors": "author",
    "categories": "category",
    "tag": "category",
    "tags": "category",
    "date": "published",
    "pubdate": "published",
    "lang": "language",
    "id": "guid",
    "enclosures": "enclosure",
}

_BY_NAME = {attribute.name: attribute for attribute in ATTRIBUTES}

WHOLE_TEXT = ("title", "summary", "content", "author", "category")
"""What `contains` on the whole item reads, and after these every extension value."""


def attribute_named(name: str) -> Attribute | None:
    """The attribute of that name or synonym; `prefix:name` is an extension, compared and searched as plain text."""
    if ":" in name:
        return Attribute(name, AttributeType.TEXT, "extensions", is_multiple=True)
    return _BY_NAME.get(SYNONYMS.get(name, name))


def values_of(item: Item, name: str) -> tuple[str | float | datetime, ...]:
    """What an item says for an attribute; nothing when it is absent or empty."""
    attribute = attribute_named(name)
    if attribute is None:
        return ()
    if attribute.column == "extensions":
        return tuple(value for key, value in item.extensions if key == attribute.name)
    if attribute.column == "enclosures":
        return tuple(enclosure.url for enclosure in item.enclosures)
    value = getattr(item, attribute.column)
    values = value if attribute.is_multiple else (value,)
    return tuple(value for value in values if value is not None and value != "")
