"""Items as values and as Arrow columns answer every question alike."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from feedweir.items.attributes import ATTRIBUTES, Attribute, AttributeType, attribute_named, values_of
from feedweir.items.columns import (
    Batch,
    ItemColumns,
    column_of,
    distinct_values,
    is_from,
    item_at,
    keeps_empty,
    numbers_in,
    sources_in,
    texts_in,
    values_in,
)
from feedweir.items.model import Enclosure, Item
from feedweir.items.schema import ITEM_SCHEMA, batch_of

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
NOON = datetime(2024, 5, 1, 12, tzinfo=UTC)

texts = st.text(st.sampled_from("ab é\0"), max_size=4)
lists = st.lists(texts, max_size=3).map(tuple)
moments = st.none() | st.datetimes(datetime(1960, 1, 1), datetime(2090, 1, 1), timezones=st.just(UTC))
items = st.builds(
    Item,
    source=st.sampled_from(["news", "blog", "ü"]),
    identity=texts,
    seq=st.integers(0, 1 << 50),
    revision=st.integers(0, 9),
    title=texts,
    summary=texts,
    content=texts,
    link=texts,
    links=lists,
    authors=lists,
    categories=lists,
    published=moments,
    updated=moments,
    arrived=st.just(NOON),
    language=texts,
    enclosures=st.lists(st.builds(Enclosure, url=texts, length=st.integers(0, 9)), max_size=2).map(tuple),
    extensions=st.lists(st.tuples(st.sampled_from(["dc:x", "dc:y"]), texts), max_size=3).map(tuple),
)
batches = st.lists(items, max_size=5)
TEXT_ATTRIBUTES = [
    *(one for one in ATTRIBUTES if one.type not in (AttributeType.TIME, AttributeType.NUMBER)),
    attribute_named("dc:x"),
]
every_text_attribute = pytest.mark.parametrize("attribute", TEXT_ATTRIBUTES, ids=lambda one: one.name)


def both(some: list[Item]) -> tuple[Batch, Batch]:
    return ItemColumns(some), batch_of(some)


def said(item: Item, attribute: Attribute | None) -> list[str]:
    """What an item says for an attribute, each value that counts: the oracle."""
    if attribute is None:
        return [value for _, value in item.extensions]
    if attribute.column == "extensions":
        return [value for name, value in item.extensions if name == attribute.name]
    if attribute.column == "enclosures":
        return [enclosure.url for enclosure in item.enclosures]
    return [str(value) for value in values_of(item, attribute.name)]


@every_text_attribute
@settings(max_examples=60, deadline=None)
@given(batches)
def test_the_values_of_an_attribute_are_the_same_either_way(attribute: Attribute, some: list[Item]) -> None:
    expected = [(row, text) for row, item in enumerate(some) for text in said(item, attribute)]
    for form in both(some):
        assert list(values_in(form, attribute)) == expected


@settings(max_examples=60, deadline=None)
@given(batches)
def test_no_attribute_means_every_extension(some: list[Item]) -> None:
    expected = [(row, text) for row, item in enumerate(some) for _, text in item.extensions]
    for form in both(some):
        assert list(values_in(form, None)) == expected


@every_text_attribute
@settings(max_examples=60, deadline=None)
@given(batches)
def test_distinct_values_say_for_each_value_its_row_and_its_text(
    attribute: Attribute, some: list[Item]
) -> None:
    for form in both(some):
        rows, known, indices = distinct_values(form, attribute)
        found = [(row, known[index]) for row, index in zip(rows.tolist(), indices.tolist(), strict=True)]
        assert [pair for pair in found if pair[1] or keeps_empty(attribute)] == list(
            values_in(form, attribute)
        )
        assert len(set(known)) == len(known)


@settings(max_examples=60, deadline=None)
@given(batches)
def test_raw_texts_hold_the_values_of_each_row_in_order(some: list[Item]) -> None:
    title, authors, content = (attribute_named(name) for name in ("title", "author", "content"))
    assert content is not None
    expected = [[item.title] for item in some] + [list(item.authors) for item in some]
    expected += [[item.content] for item in some]
    for form in both(some):
        found: list[list[str]] = []
        html_bytes = 0
        for raw in texts_in(form, (title, authors), (content,)):
            values = [
                bytes(raw.data[start:end]).decode()
                for start, end in zip(raw.offsets[:-1].tolist(), raw.offsets[1:].tolist(), strict=True)
            ]
            bounds = raw.row_values.tolist()
            found += [values[start:end] for start, end in pairwise(bounds)]
            html_bytes += len(raw.data) - raw.html
        assert found == expected
        assert html_bytes == sum(len(item.content.encode()) for item in some)


@settings(max_examples=60, deadline=None)
@given(batches)
def test_times_and_numbers_are_the_same_either_way(some: list[Item]) -> None:
    for form in both(some):
        numbers, is_there = numbers_in(form, "published")
        assert is_there.tolist() == [item.published is not None for item in some]
        expected = [
            0 if item.published is None else (item.published - EPOCH) // timedelta(microseconds=1)
            for item in some
        ]
        assert numbers.tolist() == expected
        assert numbers_in(form, "revision")[0].tolist() == [item.revision for item in some]
        assert numbers_in(form, "revision")[1].all()


@settings(max_examples=60, deadline=None)
@given(batches, st.sets(st.sampled_from(["news", "blog", "elsewhere"])))
def test_items_of_some_sources_are_found_either_way(some: list[Item], sources: set[str]) -> None:
    for form in both(some):
        assert is_from(form, sources).tolist() == [item.source in sources for item in some]
        names, indices = sources_in(form)
        assert [names[index] for index in indices] == [item.source for item in some]


@settings(max_examples=60, deadline=None)
@given(st.lists(items, min_size=1, max_size=4), st.data())
def test_one_item_is_taken_out_of_either(some: list[Item], data: st.DataObject) -> None:
    row = data.draw(st.integers(0, len(some) - 1))
    for form in both(some):
        assert item_at(form, row) == some[row]


@settings(max_examples=40, deadline=None)
@given(batches)
def test_every_column_of_values_is_that_of_the_batch(some: list[Item]) -> None:
    columns, batch = both(some)
    for name in ITEM_SCHEMA.names:
        assert columns.column(name).equals(batch.column(name)), name


def test_a_batch_of_values_is_made_once_and_only_when_asked_for() -> None:
    columns = ItemColumns([Item(source="s", identity="i", arrived=NOON)])
    assert len(columns) == columns.num_rows == 1
    assert columns.batch() is columns.batch()


def test_a_column_that_is_cut_out_of_a_longer_one_is_read_where_it_stands() -> None:
    some = [
        Item(source=f"s{n}", identity=f"i{n}", arrived=NOON, authors=(f"a{n}", f"b{n}"),
             extensions=(("dc:x", str(n)), ("dc:y", "-"), ("dc:x", "again")))
        for n in range(4)
    ]  # fmt: skip
    middle = batch_of(some).slice(1, 2)
    author, extension = attribute_named("author"), attribute_named("dc:x")
    assert author is not None
    assert extension is not None
    assert list(values_in(middle, author)) == [(0, "a1"), (0, "b1"), (1, "a2"), (1, "b2")]
    assert list(values_in(middle, extension)) == [(0, "1"), (0, "again"), (1, "2"), (1, "again")]
    assert column_of(middle, extension).to_pylist() == [["1", "again"], ["2", "again"]]
    assert item_at(middle, 1) == some[2]


def test_a_null_of_an_older_log_is_no_value() -> None:
    batch = batch_of([Item(source="s", identity="i", arrived=NOON)])
    nulls = batch.set_column(
        batch.schema.get_field_index("title"), ITEM_SCHEMA.field("title"), pa.nulls(1, pa.string())
    )
    title = attribute_named("title")
    assert title is not None
    assert list(values_in(nulls, title)) == []
    rows, known, _ = distinct_values(nulls, title)
    assert (rows.tolist(), known) == ([0], [""])


def test_no_items_are_no_rows_of_anything() -> None:
    for form in both([]):
        assert list(values_in(form, None)) == []
        assert is_from(form, {"s"}).dtype == np.bool_
        assert len(is_from(form, {"s"})) == 0
