"""Rows of bindings as columns, ranges of places, and arrays that grow."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from feedweir.join.patterns.binding_rows import BindingRows, concatenated, no_rows
from feedweir.join.ragged import Growing, ranges

Rows = list[tuple[int, int, int]]
"""(value, variable, document)."""

few = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3), st.integers(0, 3)), max_size=12)


def rows_of(rows: Rows, width: int = 1) -> BindingRows:
    value, variable, document = np.array(rows, np.int64).reshape(-1, 3).T
    path = np.tile(np.arange(len(rows), dtype=np.int32)[:, None], (1, width))
    return BindingRows(value, value * 7, variable, document, document * 10, path)


def listed(rows: BindingRows) -> Rows:
    return list(zip(rows.value.tolist(), rows.variable.tolist(), rows.document.tolist(), strict=True))


@given(few)
def test_rows_are_sorted_by_value_then_variable_then_document(rows: Rows) -> None:
    ordered = rows_of(rows).sorted()
    assert listed(ordered) == sorted(rows)
    assert (ordered.check == ordered.value * 7).all(), "whole rows are moved"
    assert (ordered.time == ordered.document * 10).all()


@given(st.lists(st.tuples(few, st.integers(1, 3)), max_size=4), st.integers(1, 3))
def test_rows_put_together_are_as_wide_as_the_widest_and_end_with_nothing(
    parts: list[tuple[Rows, int]], width: int
) -> None:
    together = concatenated([rows_of(rows, own) for rows, own in parts], width)
    assert listed(together) == [row for rows, _ in parts for row in rows]
    assert together.path.shape[1] == max([width, *(own for _, own in parts)])
    paths = iter(together.path.tolist())
    for rows, own in parts:
        for place in range(len(rows)):
            path = next(paths)
            assert path[:own] == [place] * own
            assert set(path[own:]) <= {-1}


def test_rows_that_are_wide_enough_stay_the_same_object() -> None:
    rows = rows_of([(1, 2, 3)], width=2)
    assert rows.widened(1) is rows
    assert rows.widened(2) is rows


def test_no_rows_are_as_wide_as_asked_and_take_no_memory() -> None:
    assert no_rows(3).path.shape == (0, 3)
    assert no_rows(3).nbytes == 0
    assert rows_of([(1, 2, 3)]).nbytes == 5 * 8 + 4


@given(st.lists(st.tuples(st.integers(0, 20), st.integers(0, 5)), max_size=10))
def test_ranges_are_their_places_one_after_the_other(pairs: list[tuple[int, int]]) -> None:
    starts = np.array([start for start, _ in pairs], np.int64)
    sizes = np.array([size for _, size in pairs], np.int64)
    expected = [place for start, size in pairs for place in range(start, start + size)]
    assert ranges(starts, starts + sizes).tolist() == expected


@given(st.lists(st.lists(st.integers(-9, 9), max_size=7), max_size=12))
def test_an_array_that_grows_holds_what_was_added_in_order(parts: list[list[int]]) -> None:
    growing = Growing(np.empty(0, np.int64))
    for part in parts:
        before = growing.longs.tolist()
        growing.extend(np.array(part, np.int64))
        assert growing.longs.tolist() == before + part
        assert len(growing) == len(before) + len(part)


def test_a_view_of_an_array_that_grows_does_not_change_under_its_reader() -> None:
    growing = Growing(np.arange(3))
    view = growing.longs
    growing.extend(np.arange(100))
    assert view.tolist() == [0, 1, 2]


def test_an_array_of_texts_can_grow_too() -> None:
    growing = Growing(np.array(["a"], object))
    growing.extend(np.array(["b", "c"], object))
    assert growing.view.tolist() == ["a", "b", "c"]
