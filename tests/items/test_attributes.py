"""The attributes that statements may name, and what an item says for each."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from feedweir.items.attributes import (
    ATTRIBUTES,
    SYNONYMS,
    WHOLE_TEXT,
    Attribute,
    AttributeType,
    attribute_named,
    texts_in,
    values_of,
)
from feedweir.items.model import Enclosure, Item
from feedweir.items.schema import ITEM_SCHEMA

NOON = datetime(2024, 5, 1, 12, tzinfo=UTC)
ITEM = Item(
    source="news",
    identity="guid-1",
    seq=7,
    revision=2,
    title="Rain",
    summary="<p>Wet</p>",
    content="<p>All of it</p>",
    link="https://example.org/1",
    links=("https://example.org/1", "https://example.org/2"),
    authors=("Ann", "", "Bob"),
    categories=("weather",),
    published=NOON,
    arrived=NOON,
    language="en",
    enclosures=(Enclosure(url="https://example.org/a.mp3"), Enclosure(url="https://example.org/b.mp3")),
    extensions=(("dc:rights", "free"), ("slash:comments", "3"), ("dc:rights", "really")),
)
EMPTY = Item(source="news", identity="guid-2", arrived=NOON)


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("title", ("Rain",)),
        ("summary", ("<p>Wet</p>",)),
        ("content", ("<p>All of it</p>",)),
        ("author", ("Ann", "Bob")),
        ("category", ("weather",)),
        ("link", ("https://example.org/1",)),
        ("links", ("https://example.org/1", "https://example.org/2")),
        ("enclosure", ("https://example.org/a.mp3", "https://example.org/b.mp3")),
        ("published", (NOON,)),
        ("updated", ()),
        ("arrived", (NOON,)),
        ("language", ("en",)),
        ("source", ("news",)),
        ("guid", ("guid-1",)),
        ("revision", (2,)),
        ("dc:rights", ("free", "really")),
        ("dc:title", ()),
        ("no such thing", ()),
    ],
)
def test_an_item_has_these_values_for_an_attribute(name: str, values: tuple[object, ...]) -> None:
    assert values_of(ITEM, name) == values


@pytest.mark.parametrize(("synonym", "name"), SYNONYMS.items())
def test_a_synonym_has_the_values_of_what_it_stands_for(synonym: str, name: str) -> None:
    assert attribute_named(synonym) == attribute_named(name)
    assert values_of(ITEM, synonym) == values_of(ITEM, name)


@pytest.mark.parametrize("attribute", ATTRIBUTES, ids=lambda attribute: attribute.name)
def test_an_item_that_says_nothing_has_only_what_no_item_lacks(attribute: Attribute) -> None:
    is_never_missing = attribute.name in ("arrived", "source", "guid", "revision")
    assert bool(values_of(EMPTY, attribute.name)) == is_never_missing


@pytest.mark.parametrize("attribute", ATTRIBUTES, ids=lambda attribute: attribute.name)
def test_an_attribute_is_multiple_exactly_when_its_column_is_a_list(attribute: Attribute) -> None:
    column = ITEM_SCHEMA.field(attribute.column)
    assert attribute.is_multiple == str(column.type).startswith("list")


def test_a_prefixed_name_is_an_extension_compared_as_text() -> None:
    rights = attribute_named("dc:rights")
    assert rights == Attribute("dc:rights", AttributeType.TEXT, "extensions", is_multiple=True)
    assert attribute_named("tag:x") is not None, "a synonym with a prefix is an extension, too"
    assert attribute_named("tag:x").column == "extensions"


def test_a_name_that_is_no_attribute_is_none() -> None:
    assert attribute_named("") is None
    assert attribute_named("Title") is None
    assert attribute_named("titles") is None


def test_the_whole_text_is_the_texts_and_then_every_extension() -> None:
    assert list(texts_in(ITEM, None)) == [
        ("title", 0, "Rain", False),
        ("summary", 0, "<p>Wet</p>", True),
        ("content", 0, "<p>All of it</p>", True),
        ("author", 0, "Ann", False),
        ("author", 1, "Bob", False),
        ("category", 0, "weather", False),
        ("dc:rights", 0, "free", False),
        ("dc:rights", 1, "really", False),
        ("slash:comments", 0, "3", False),
    ]


def test_the_whole_text_reads_every_attribute_that_it_names() -> None:
    named = dict.fromkeys(name for name, *_ in texts_in(ITEM, None))
    assert tuple(named)[: len(WHOLE_TEXT)] == WHOLE_TEXT


@pytest.mark.parametrize("name", ["published", "arrived", "revision", "nothing"])
def test_times_and_numbers_are_no_texts(name: str) -> None:
    assert list(texts_in(ITEM, name)) == []


def test_a_link_is_read_as_text_under_its_own_name() -> None:
    assert list(texts_in(ITEM, "enclosures")) == [
        ("enclosure", 0, "https://example.org/a.mp3", False),
        ("enclosure", 1, "https://example.org/b.mp3", False),
    ]
