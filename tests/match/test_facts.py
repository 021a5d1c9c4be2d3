"""What is true of each item of a batch, as arrays: fields, numbers on axes, value atoms, atoms by row."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from feedweir.items.columns import Batch, ItemColumns
from feedweir.items.model import Item
from feedweir.items.schema import batch_of
from feedweir.match.atoms import Axis
from feedweir.match.index.index_arrays import Index
from feedweir.match.matching.batch_facts import by_row, texts_of, values_of_batch
from feedweir.match.ranges.comparisons import microseconds
from feedweir.match.ranges.range_index import numbers_of
from feedweir.match.sets.compiled_set import compiled_in_memory
from feedweir.match.sets.query_store import table_of
from feedweir.match.words.scopes import EXTENSIONS, MAX_FIELDS, WHOLE, Scopes
from feedweir.plan.predicates import Compare, FromFeeds, Or, Predicate, References
from feedweir.plan.query import Query
from tests import naive
from tests.match.generated import items

NOW = datetime(2026, 1, 1, tzinfo=UTC)
PARTS = ("year", "month", "day", "hour", "minute", "weekday", "date")


def item(**more: Any) -> Item:
    return Item(source="s", identity="1", arrived=NOW, **more)


def index_of(*asked: Predicate) -> Index:
    return compiled_in_memory(
        table_of([Query(key, (), predicate) for key, predicate in enumerate(asked)])
    ).index


def both(batch: list[Item]) -> list[Batch]:
    return [batch_of(batch), ItemColumns(batch)]


# Fields


def test_plain_fields_come_before_those_with_markup() -> None:
    found = texts_of(batch_of([item(title="a")]), ("summary", "title", "content", "author"))
    assert found.fields == ("title", "author", "summary", "content")


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(items(), min_size=1, max_size=4), st.permutations(WHOLE))
def test_each_field_has_the_words_that_the_analyser_finds_in_it(batch: list[Item], fields: list[str]) -> None:
    for given_items in both(batch):
        found = texts_of(given_items, fields)
        lengths = [int(n) for part in found.parts for n in np.diff(part.offsets)]
        assert len(lengths) == len(fields) * len(batch)
        for number, field in enumerate(found.fields):
            for row, one in enumerate(batch):
                expected = (
                    [naive.words(value) for _, value in one.extensions]
                    if field == EXTENSIONS
                    else naive.texts_of(one, field)
                )
                assert lengths[number * len(batch) + row] == sum(map(len, expected))


def test_rows_of_fields_are_told_in_the_order_asked_for() -> None:
    found = texts_of(batch_of([item(), item()]), ("summary", "title"))
    assert found.rows_of(("title", "summary")).tolist() == [[0, 1, 2], [2, 3, 4]]
    assert found.rows_of(("summary",)).tolist() == [[2, 3, 4]]


def test_scopes_are_the_whole_text_and_then_what_is_named() -> None:
    scopes = Scopes.of(["m:x", "title", "link", "m:x"])
    assert scopes.fields == (*WHOLE, "link", "m:x")
    assert scopes.bit(None) == scopes.whole == 2 ** len(WHOLE) - 1
    assert scopes.bit("title") == 1
    assert scopes.bit("m:x") == 2 ** (len(WHOLE) + 1)


def test_there_are_no_more_scopes_than_bits() -> None:
    scopes = Scopes.of(f"m:{n:03d}" for n in range(100))
    assert len(scopes.fields) == MAX_FIELDS
    assert scopes.bit(scopes.fields[-1]) == 1 << 63
    with pytest.raises(ValueError, match="not in tuple"):
        scopes.bit("m:099")


# Numbers


times = st.datetimes(datetime(1950, 1, 1), datetime(2090, 1, 1)).map(lambda time: time.replace(tzinfo=UTC))


@settings(max_examples=200, deadline=None)
@given(st.lists(st.none() | times, min_size=1, max_size=3), st.sampled_from(PARTS))
def test_a_part_of_a_time_is_what_the_oracle_says(published: list[datetime | None], part: Any) -> None:
    batch = [item(published=time) for time in published]
    numbers, is_present = numbers_of(batch_of(batch), Axis("published", part))
    assert is_present.tolist() == [time is not None for time in published]
    for time, number in zip(published, numbers.tolist(), strict=True):
        if time is not None:
            expected = naive.part_of(time, part)
            assert number == (microseconds(expected) if isinstance(expected, datetime) else expected)


def test_an_age_is_the_time_before_arrival() -> None:
    batch = [item(published=NOW - timedelta(hours=2)), item(), item(published=NOW + timedelta(seconds=1))]
    for given_items in both(batch):
        numbers, is_present = numbers_of(given_items, Axis("published", is_relative=True))
        assert numbers[is_present].tolist() == [-7_200_000_000, 1_000_000]
        assert is_present.tolist() == [True, False, True]


def test_a_number_of_an_item_is_itself() -> None:
    for given_items in both([item(revision=3), item()]):
        numbers, is_present = numbers_of(given_items, Axis("revision"))
        assert (numbers.tolist(), is_present.tolist()) == ([3, 0], [True, True])


# Values


def atoms_by_row(index: Index, given_items: Batch) -> list[list[int]]:
    offsets, atoms, *_ = values_of_batch(index, given_items)
    return [sorted(atoms[a:b].tolist()) for a, b in pairwise(offsets.tolist())]


def test_items_list_the_value_atoms_that_they_satisfy() -> None:
    index = index_of(
        FromFeeds(("s",)),
        Compare("language", "=", "en"),
        Compare("m:x", "=", 4),
        References(None, "x.org"),
        Or((Compare("m:x", "=", "4"), Compare("m:x", "=", "five"))),
    )
    batch = [
        item(language="EN", extensions=(("m:x", "4.0"), ("m:x", " FIVE "))),
        item(links=("http://x.org/a", "http://www.x.org/b")),
        Item(source="t", identity="1", arrived=NOW, extensions=(("m:x", "4"),)),
    ]
    columns, values = (atoms_by_row(index, given_items) for given_items in both(batch))
    assert columns == values
    assert [len(row) for row in columns] == [4, 3, 2]


def test_what_no_query_asks_is_not_read() -> None:
    class Closed:
        num_rows = 2

    offsets, atoms, numbers, is_present = values_of_batch(index_of(), Closed())  # type: ignore[arg-type]
    assert offsets.tolist() == [0, 0, 0]
    assert (len(atoms), numbers.shape, is_present.shape) == (0, (0, 2), (0, 2))


pairs = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 9)), max_size=8)


@given(st.lists(pairs, max_size=3))
def test_lists_of_rows_and_atoms_are_put_together_row_by_row(found: list[list[tuple[int, int]]]) -> None:
    lists = [
        (np.array([row for row, _ in some], np.int64), np.array([atom for _, atom in some], np.int32))
        for some in found
    ]
    offsets, atoms = by_row(lists, 4)
    assert atoms.dtype == np.int32
    for row in range(4):
        expected = [atom for some in found for at, atom in some if at == row]
        assert atoms[offsets[row] : offsets[row + 1]].tolist() == expected


def test_a_single_row_needs_no_order() -> None:
    two = [(np.zeros(2, np.int64), np.array([5, 3], np.int32)), (np.zeros(1, np.int64), np.array([9]))]
    offsets, atoms = by_row(two, 1)
    assert (offsets.tolist(), atoms.tolist()) == ([0, 3], [5, 3, 9])
