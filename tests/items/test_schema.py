"""Items as Arrow columns, and back."""

from __future__ import annotations

from dataclasses import fields, replace
from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pytest
from hypothesis import given, settings

from feedweir.items.model import Enclosure, Item, row_of
from feedweir.items.schema import DOCUMENT_SCHEMA, ITEM_SCHEMA, batch_of, items_of
from tests.items.test_columns import batches

NOON = datetime(2024, 5, 1, 12, tzinfo=UTC)
ITEM = Item(
    source="s", identity="i", seq=3, revision=1, title="t", link="https://example.org/", arrived=NOON,
    enclosures=(Enclosure(url="u", type="audio/mpeg", length=1 << 40),), extensions=(("a:b", "c"),), raw="<item/>",
)  # fmt: skip


@settings(max_examples=100, deadline=None)
@given(batches)
def test_items_come_back_from_columns_as_they_went_in(some: list[Item]) -> None:
    batch = batch_of(some)
    assert batch.schema == ITEM_SCHEMA
    assert list(items_of(batch)) == some
    assert list(items_of(pa.Table.from_batches([batch, batch]))) == [*some, *some]


def test_every_field_of_an_item_has_its_column() -> None:
    not_stored = {"made_of"}
    assert {field.name for field in fields(Item)} - not_stored == set(ITEM_SCHEMA.names)


def test_a_fingerprint_is_kept_but_two_items_are_equal_without_it() -> None:
    known = replace(ITEM, fingerprint=-7)
    assert batch_of([ITEM, known]).column("fingerprint").to_pylist() == [0, -7]
    assert [item.fingerprint for item in items_of(batch_of([known]))] == [-7]
    assert known == ITEM


def test_columns_that_are_no_items_own_are_passed_over() -> None:
    batch = batch_of([ITEM])
    wider = pa.record_batch([*batch.columns, pa.array([5])], [*batch.schema.names, "place"])
    assert list(items_of(wider)) == [ITEM]


def test_microseconds_survive() -> None:
    late = replace(ITEM, published=NOON + timedelta(microseconds=1), updated=NOON - timedelta(microseconds=1))
    assert list(items_of(batch_of([late]))) == [late]


def test_documents_have_the_columns_of_the_landing_log() -> None:
    assert DOCUMENT_SCHEMA.names == ["number", "source", "url", "media_type", "arrived", "body", "id_path"]


@pytest.mark.parametrize(
    ("published", "time"),
    [
        (None, NOON),
        (NOON - timedelta(days=1), NOON - timedelta(days=1)),
        (NOON, NOON),
        (NOON + timedelta(days=1), NOON),
    ],
)
def test_windows_go_by_publication_but_never_by_the_future(
    published: datetime | None, time: datetime
) -> None:
    assert replace(ITEM, published=published).time == time


def test_a_constructed_document_stands_right_after_the_item_that_completed_it() -> None:
    plain = replace(ITEM, seq=5)
    first, second = (replace(plain, made_of=made_of) for made_of in ((2, 5), (3, 5)))
    after = replace(ITEM, seq=6)
    assert sorted([after, second, first, plain], key=lambda item: item.place) == [plain, first, second, after]
    assert replace(first, identity="a").place < replace(first, identity="b").place
    assert replace(plain, identity="a").place == replace(plain, identity="b").place


def test_a_line_of_a_list_says_what_an_item_is() -> None:
    assert row_of(ITEM) == {
        "seq": 3,
        "time": "2024-05-01T12:00:00+00:00",
        "source": "s",
        "title": "t",
        "link": "https://example.org/",
        "guid": "i",
        "revision": 1,
    }
