"""The attributes that statements may name: their types, and the values that an item has for each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from feedweir.items.fields import AttributeType, Queryable, declared, member_type
from feedweir.items.model import Item

__all__ = ["ATTRIBUTES", "SYNONYMS", "Attribute", "AttributeType", "attribute_named", "texts_in", "values_of"]


@dataclass(frozen=True, slots=True)
class Attribute:
    """`column` is its name in `ITEM_SCHEMA`; an attribute with several values is a list column."""

    name: str
    type: AttributeType
    column: str
    is_multiple: bool = False


def _declared() -> Iterator[tuple[Attribute, tuple[str, ...]]]:
    """The attributes that `Item` declares, each with its synonyms."""
    for column, (hint, marks) in declared(Item).items():
        for mark in marks:
            if isinstance(mark, Queryable):
                name, *synonyms = mark.names or (column,)
                is_multiple = member_type(hint) is not None
                yield Attribute(name, mark.type, column, is_multiple), tuple(synonyms)


ATTRIBUTES: tuple[Attribute, ...] = tuple(attribute for attribute, _ in _declared())
SYNONYMS = {synonym: attribute.name for attribute, synonyms in _declared() for synonym in synonyms}
_BY_NAME = {attribute.name: attribute for attribute in ATTRIBUTES}

WHOLE_TEXT = ("title", "summary", "content", "author", "category")
"""What `contains` on the whole item reads; every extension value comes after these."""


def attribute_named(name: str) -> Attribute | None:
    """The attribute of that name or synonym; `prefix:name` is an extension, compared and searched as plain text."""
    if ":" in name:
        return Attribute(name, AttributeType.TEXT, "extensions", is_multiple=True)
    return _BY_NAME.get(SYNONYMS.get(name, name))


def values_of(item: Item, name: str) -> tuple[str | float | datetime, ...]:
    """The values that an item has for an attribute; none when it is absent or empty."""
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


def texts_in(item: Item, name: str | None) -> Iterator[tuple[str, int, str, bool]]:
    """(attribute, number of the value, text, whether it is HTML) of an attribute, or of the whole item's text."""
    if name is None:
        for part in (*WHOLE_TEXT, *dict.fromkeys(extension for extension, _ in item.extensions)):
            yield from texts_in(item, part)
        return
    attribute = attribute_named(name)
    if attribute is None or attribute.type in (AttributeType.TIME, AttributeType.NUMBER):
        return
    for number, value in enumerate(values_of(item, name)):
        yield attribute.name, number, str(value), attribute.type is AttributeType.HTML
