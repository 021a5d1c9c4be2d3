"""What columns keep comes back as it was, on both databases, or is refused with a reason."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedweir.catalog import Catalog, Failure, FetchState, NewFeed
from feedweir.catalog.column_types import (
    canonical_json,
    cleaned,
    microseconds,
    moment,
    storable,
    storable_key,
)
from feedweir.errors import CatalogError

NOW = datetime(2024, 5, 1, 12, tzinfo=UTC)
MOMENTS = st.datetimes(timezones=st.sampled_from([UTC, timezone(timedelta(hours=-9)), timezone.max]))
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(MOMENTS)
def test_a_time_is_kept_to_the_microsecond_whatever_its_zone(value: datetime) -> None:
    assert moment(microseconds(value)) == value


@given(MOMENTS, MOMENTS)
def test_stored_times_sort_as_times_do(one: datetime, other: datetime) -> None:
    assert (microseconds(one) < microseconds(other)) == (one < other)


def test_a_time_without_a_zone_is_refused_and_named() -> None:
    with pytest.raises(CatalogError, match="2024-05-01T12:00:00 has no zone") as error:
        microseconds(NOW.replace(tzinfo=None))
    assert error.value.hint == "pass times in UTC"


@given(VALUES)
def test_json_has_one_spelling_and_reads_back_equal(value: Any) -> None:
    text = canonical_json(value)
    assert text.isascii()
    assert json.loads(text) == value
    assert canonical_json(json.loads(text)) == text


def test_the_order_in_which_members_were_set_does_not_matter() -> None:
    assert canonical_json({"b": 1, "a": {"d": 2, "c": 3}}) == '{"a":{"c":3,"d":2},"b":1}'


@pytest.mark.parametrize("value", [float("nan"), float("inf"), {1, 2}, object(), b"bytes", {"a": {3}}])
def test_what_is_not_json_is_refused(value: object) -> None:
    with pytest.raises(CatalogError, match="not JSON"):
        canonical_json(value)


def test_json_that_is_nested_without_end_is_refused() -> None:
    value: list[Any] = []
    for _ in range(100_000):
        value = [value]
    with pytest.raises(CatalogError, match="not JSON"):
        canonical_json(value)


@pytest.mark.parametrize("text", ["a\x00b", "\ud800", "x\udfff"])
def test_text_that_no_database_takes_is_refused_by_name_or_replaced(text: str) -> None:
    with pytest.raises(CatalogError, match="the owner has a character that cannot be stored"):
        storable(text, "the owner")
    assert len(cleaned(text)) == len(text)
    assert "\ufffd" in cleaned(text)


@given(st.text(alphabet=st.characters(codec="utf-8", exclude_characters="\x00")))
def test_all_other_text_is_stored_as_it_is(text: str) -> None:
    assert storable(text, "it") == cleaned(text) == text


@pytest.mark.parametrize("length", [999, 1_000])
def test_a_key_up_to_a_thousand_bytes_is_itself(length: int) -> None:
    assert storable_key("k" * length) == "k" * length


@pytest.mark.parametrize("key", ["k" * 1_001, "ü" * 501, "a\x00", "\ud800"])
def test_a_long_or_unstorable_key_is_its_hash(key: str) -> None:
    assert storable_key(key).startswith("sha256:")
    assert len(storable_key(key)) == 71
    assert storable_key(key) == storable_key(key)
    assert storable_key(key) != storable_key(key + "!")


HEADERS = ['W/"\udcff\udc80"', '"\x00"', "Wed, 01 May 2024 12:00:00 GMT ", "ü 東 ", "x" * 20_000]


@pytest.mark.parametrize("header", HEADERS)
def test_a_header_comes_back_byte_for_byte(catalog: Catalog, header: str) -> None:
    new = NewFeed(name="a", kind="source", url="http://a.example/", statement="r", created_at=NOW)
    (id_,) = catalog.feeds.add([new])
    catalog.sources.save([FetchState(feed_id=id_, url=new.url, next_check_at=NOW, etag=header)])
    assert catalog.sources.named("a").state.etag == header


@pytest.mark.parametrize("year", [1, 1970, 9999])
def test_any_year_can_be_stored(catalog: Catalog, year: int) -> None:
    at = datetime(year, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC)
    catalog.failures.record([Failure(kind="feed", resource="a", at=at, reason="why")])
    assert catalog.failures.of("feed", "a")[0].at == at
