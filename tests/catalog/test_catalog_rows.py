"""Rows in bulk: the same on both databases, whatever is there already."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import select

from feedweir.catalog import BatchCommit, Catalog, tables
from feedweir.catalog.rows import chunks, existing, insert_all, take_numbers, upsert_all

SECRET = tables.secret


def put(catalog: Catalog, rows: list[tuple[str, str]], changes: Any = None) -> int:
    named = [{"name": name, "value": value} for name, value in rows]
    return catalog.database.write(lambda one: upsert_all(one, SECRET, named, ["name"], changes))


def kept(catalog: Catalog) -> dict[str, str]:
    rows = catalog.database.read(lambda one: one.execute(select(SECRET.c.name, SECRET.c.value)).all())
    return {row.name: row.value for row in rows}


@given(st.lists(st.integers()), st.integers(1, 7))
def test_chunks_are_the_values_in_order_and_full_but_the_last(values: list[int], size: int) -> None:
    found = list(chunks(values, size))
    assert [value for chunk in found for value in chunk] == values
    assert all(len(chunk) == size for chunk in found[:-1])
    assert all(found)


def test_a_row_that_is_there_stays_or_is_changed_as_asked(catalog: Catalog) -> None:
    assert put(catalog, [("a", "1"), ("b", "2")]) == 2
    assert put(catalog, [("b", "3"), ("c", "4")]) == 1
    assert kept(catalog) == {"a": "1", "b": "2", "c": "4"}
    assert put(catalog, [("b", "5"), ("d", "6")], ["value"]) == 2
    assert kept(catalog)["b"] == "5"

    def longer(new: Any) -> Mapping[str, Any]:
        return {"value": SECRET.c.value + new.value}

    assert put(catalog, [("b", "6"), ("e", "7")], longer) == 2
    assert kept(catalog) == {"a": "1", "b": "56", "c": "4", "d": "6", "e": "7"}


def test_the_first_of_two_rows_with_one_key_is_kept(catalog: Catalog) -> None:
    assert put(catalog, [("a", "first"), ("a", "second")]) == 1
    assert kept(catalog) == {"a": "first"}


@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=st.lists(st.tuples(st.sampled_from("abcdef"), st.text("xyz'\"\\\t\n", max_size=4)), max_size=30))
def test_upserting_is_what_a_dict_does(
    catalog: Catalog, monkeypatch: pytest.MonkeyPatch, rows: list[tuple[str, str]]
) -> None:
    monkeypatch.setattr("feedweir.catalog.rows.CHUNK", 4)
    expected = kept(catalog)
    for one in rows:
        put(catalog, [one], ["value"])
        expected[one[0]] = one[1]
    assert kept(catalog) == expected


def test_nothing_is_written_for_no_rows(catalog: Catalog) -> None:
    assert put(catalog, []) == 0
    catalog.database.write(lambda one: insert_all(one, SECRET, []))
    assert kept(catalog) == {}


def test_more_rows_than_go_at_once_are_all_written(catalog: Catalog) -> None:
    rows = [{"name": f"n{number:05}", "value": "v"} for number in range(5_003)]
    catalog.database.write(lambda one: insert_all(one, SECRET, rows))
    assert len(kept(catalog)) == 5_003


def test_numbers_are_given_once_in_rising_order(catalog: Catalog) -> None:
    taken = [catalog.database.write(lambda one: take_numbers(one, "resource", 3)) for _ in range(2)]
    assert [list(each) for each in taken] == [[1, 2, 3], [4, 5, 6]]
    assert list(catalog.database.write(lambda one: take_numbers(one, "delivery", 1))) == [1]


def test_numbers_of_a_transaction_that_is_undone_are_given_again(catalog: Catalog) -> None:
    def undone() -> None:
        with catalog.transaction():
            catalog.database.write(lambda one: take_numbers(one, "resource", 5))
            raise RuntimeError

    with pytest.raises(RuntimeError):
        undone()
    assert list(catalog.database.write(lambda one: take_numbers(one, "resource", 1))) == [1]


def test_only_what_is_there_exists(catalog: Catalog) -> None:
    for _ in range(2):
        catalog.batches.commit(_batch(catalog))
    numbers = tables.batch.c.ordinal
    found = catalog.database.write(lambda one: existing(one, numbers, [0, 1, 2, 2, 3]))
    assert found == {1, 2}
    is_second = tables.batch.c.id == "2"
    assert catalog.database.write(lambda one: existing(one, numbers, [1, 2], is_second)) == {2}


def _batch(catalog: Catalog) -> BatchCommit:

    last = catalog.batches.last()
    name = str(last.ordinal + 1 if last else 1)
    return BatchCommit(batch=name, version=0, at=datetime(2024, 5, 1, tzinfo=UTC))
