"""Comparisons of numbers in texts and of the order of texts are found by sorted tables, with the plain meaning."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from feedweir.errors import CompiledSetError
from feedweir.items.model import Enclosure, Item
from feedweir.items.schema import batch_of
from feedweir.match import compile_set
from feedweir.match.atoms import Axis, Ordered, Within
from feedweir.match.meaning.item_meaning import compares
from feedweir.match.ranges.value_order import (
    bounds_of,
    exact_number,
    number_bounds,
    numbers_among,
    places_of_numbers,
    stored_order,
    text_orders,
)
from feedweir.match.sets.compiled_set import compiled_in_memory, open_compiled
from feedweir.match.sets.query_store import table_of
from feedweir.match.sets.sealed import FORMAT
from feedweir.plan.predicates import And, Compare, Comparison, Contains, Not, Or, Predicate, Term
from feedweir.plan.query import Query
from feedweir.text.analyser import fold
from tests.compile.test_planning import WAYS, trees_of
from tests.match.test_matching import compiled, naive_pairs, pairs_of

NOW = datetime(2026, 1, 2, tzinfo=UTC)
ORDERS: tuple[Comparison, ...] = ("<", "<=", ">", ">=")
OPS: tuple[Comparison, ...] = (*ORDERS, "=", "!=")
quick = settings(max_examples=80, deadline=None, suppress_health_check=list(HealthCheck))

number_texts = st.sampled_from(
    ("1", " 2 ", "-0", "2.5", "1e3", "1_000", "٣", "1e400", "nan", "x", "5e-324", "-7")
)
texts = st.sampled_from(
    ("", " ", "a", "A ", "ab", "Straße", "strasse", "ﬁn", "fin", "e\u0301", "\uffee", "😀")
)
constants = st.sampled_from((0, -0.0, 1, 2, 2.5, 1000, 3, -7, 2**53 + 1, 5e-324)) | st.sampled_from(
    (float("inf"), float("-inf"), float("nan"))
)
huge = st.sampled_from((10**400, -(10**400)))
attributes = st.sampled_from(("m:r", "m:s", "title", "category", "enclosure"))


@st.composite
def items(draw: st.DrawFn) -> Item:
    some = texts | number_texts
    return Item(
        source="s",
        identity="1",
        title=draw(some),
        categories=tuple(draw(st.lists(some, max_size=3))),
        enclosures=tuple(Enclosure(url=url) for url in draw(st.lists(some, max_size=2))),
        extensions=tuple(draw(st.lists(st.tuples(st.sampled_from(("m:r", "m:s")), some), max_size=4))),
        arrived=NOW,
    )


bounds = st.builds(Compare, attributes, st.sampled_from(OPS), texts | constants)


@st.composite
def ranges(draw: st.DrawFn) -> And:
    attribute = draw(attributes)
    values: st.SearchStrategy[str | float] = texts if draw(st.booleans()) else constants
    low = Compare(attribute, draw(st.sampled_from((">", ">="))), draw(values))
    return And((low, Compare(attribute, draw(st.sampled_from(("<", "<="))), draw(values))))


leaves = bounds | ranges() | st.just(Contains(None, (Term("a"),), 1))
predicates: st.SearchStrategy[Predicate] = st.recursive(
    leaves,
    lambda part: (
        st.builds(Not, part)
        | st.lists(part, max_size=3).map(tuple).flatmap(lambda all_: st.sampled_from((And(all_), Or(all_))))
    ),
    max_leaves=5,
)


@quick
@given(st.lists(predicates, max_size=12), st.lists(items(), max_size=5))
def test_comparisons_mean_what_the_oracle_means(asked: list[Predicate], batch: list[Item]) -> None:
    queries = [Query(key, (), predicate) for key, predicate in enumerate(asked)]
    found = compiled(queries).match(batch_of(batch))
    assert pairs_of(found) == naive_pairs(queries, batch)
    assert found.work.asked == 0


@settings(quick, max_examples=300)
@given(st.sampled_from(ORDERS), st.floats(allow_nan=False) | st.integers() | constants | huge, st.floats())
def test_bounds_of_numbers_hold_what_compares(op: Comparison, value: float, number: float) -> None:
    if value != value:
        return
    (place,), (is_number,) = numbers_among([repr(number)])
    low, high = number_bounds(op, value)
    assert (bool(is_number) and low <= place <= high) == compares(repr(number), op, value, None)
    exact = exact_number(value)
    assert (bool(is_number) and exact == number) == compares(repr(number), "=", value, None)


@given(st.lists(st.floats(allow_nan=False), max_size=8))
def test_places_of_numbers_sort_as_the_numbers_do(numbers: list[float]) -> None:
    places = places_of_numbers(numbers)
    for one, place in zip(numbers, places, strict=True):
        assert [place < other for other in places] == [one < other for other in numbers]


@settings(quick, max_examples=300)
@given(st.lists(st.text(max_size=3), min_size=1, max_size=6), st.text(max_size=3), st.sampled_from(ORDERS))
def test_places_of_texts_hold_what_compares(named: list[str], value: str, op: Comparison) -> None:
    leaves = [Ordered(Axis("title", reading="text", end="greatest"), op, fold(text)) for text in named]
    orders = text_orders(leaves)
    (place,) = stored_order("title", orders["title"]).places([value])
    for leaf, text in zip(leaves, named, strict=True):
        interval = bounds_of(leaf, orders)
        assert isinstance(interval, Within)
        assert (interval.low <= place <= interval.high) == compares(value, op, text, None)


def rated(number: int, *more: str) -> Item:
    ratings = tuple(("m:r", value) for value in (str(number), *more))
    return Item(source="s", identity=str(number), title=f"t{number:05}", extensions=ratings, arrived=NOW)


def test_only_queries_that_hold_are_tried_and_none_is_asked_in_python() -> None:
    """Rare bounds of every kind: candidates are counted, of which there would be queries × items."""
    numbers = range(0, 2000, 2)
    asked = [Compare("m:r", ">", n) for n in (1990, 1995)] + [Compare("m:r", "<=", 3)]
    asked += [Compare("title", ">", "t01995"), Compare("title", "<", "t00003")]
    asked += [Compare("m:r", "=", n) for n in numbers]
    narrow: list[Predicate] = [And((Compare("m:r", ">=", n), Compare("m:r", "<", n + 3))) for n in numbers]
    narrow += [
        And((Compare("title", ">=", f"t{n:05}"), Compare("title", "<", f"t{n + 3:05}"))) for n in numbers
    ]
    queries = [Query(key, (), predicate) for key, predicate in enumerate([*asked, *narrow])]
    batch = [rated(number) for number in range(2000)]
    expected = [range(1991, 2000), range(1996, 2000), range(4), range(1996, 2000), range(3)]
    expected += [range(n, n + 1) for n in numbers] + 2 * [range(n, min(n + 3, 2000)) for n in numbers]
    found = compiled(queries).match(batch_of(batch))
    assert pairs_of(found) == sorted({(n, key) for key, some in enumerate(expected) for n in some})
    assert found.work.candidates == len(found) < len(queries) * len(batch) // 500
    assert found.work.asked == 0


def test_several_values_keep_a_range_that_none_of_them_lies_in() -> None:
    between = And((Compare("m:r", ">", 4), Compare("m:r", "<", 5)))
    empty = And((Compare("m:r", ">", 9), Compare("m:r", "<", 1)))
    compiled_set = compiled([Query(1, (), between), Query(2, (), empty)])
    batch = [rated(3), rated(6), rated(3, "6"), rated(0, "10"), rated(7, "4.5")]
    found = compiled_set.match(batch_of(batch))
    assert pairs_of(found) == [(2, 1), (3, 1), (3, 2), (4, 1)]
    told = compiled_set.explain(batch[2], 1)
    assert (told.is_match, told.candidate_by) == (True, "several values of m:r")


@pytest.mark.parametrize(
    ("predicate", "name"),
    [
        (Compare("m:r", ">", 4), "m:r as number within bounds"),
        (Compare("m:r", "=", 5), "m:r = 5.0"),
        (Compare("title", ">=", "c"), "title as text within bounds"),
    ],
)
def test_what_found_a_comparison_has_a_name_and_nothing_is_costly(
    predicate: Predicate, name: str, tmp_path: Path
) -> None:
    compile_set([Query(1, (), predicate)], tmp_path / "set")
    opened = open_compiled(tmp_path / "set")
    told = opened.explain(rated(5), 1)
    assert (told.is_match, told.candidate_by) == (True, name)
    assert not [note for note in opened.notes if note.kind == "costly"]
    refused = opened.explain(Item(source="s", identity="", title="A", arrived=NOW), 1)
    assert (refused.is_match, refused.lacked) == (False, name)


def test_an_empty_extension_is_a_value_and_an_empty_title_is_none() -> None:
    asked = [Query(1, (), Compare("m:r", "=", "")), Query(2, (), Compare("m:r", "<", "a"))]
    asked += [Query(3, (), Compare("title", "=", "")), Query(4, (), Compare("title", "<", "a"))]
    item = Item(source="s", identity="", extensions=(("m:r", ""),), arrived=NOW)
    found = compiled(asked).match(batch_of([item]))
    assert np.array_equal(found.keys, [1, 2])


def test_a_whole_number_beyond_all_floats_is_a_bound_like_any_other() -> None:
    asked = [Query(1, (), Compare("m:r", "<", 10**400)), Query(2, (), Compare("revision", "<", 10**400))]
    asked += [Query(3, (), Compare("m:r", ">", 10**400)), Query(4, (), Compare("revision", "=", -(10**400)))]
    found = compiled(asked).match(batch_of([rated(1)]))
    assert found.keys.tolist() == [1, 2]


@pytest.mark.parametrize("way", WAYS)
@settings(quick, max_examples=25)
@given(st.lists(predicates, max_size=6), st.lists(items(), max_size=4))
def test_trees_of_filters_compare_as_the_oracle_does(
    way: str, asked: list[Predicate], batch: list[Item]
) -> None:
    queries = [Query(key, ("s",), predicate) for key, predicate in enumerate(asked)]
    found = compiled_in_memory(table_of(queries), trees=trees_of(queries, (way,))).match(batch_of(batch))
    assert pairs_of(found) == naive_pairs(queries, batch)


def test_a_lone_surrogate_has_its_place_among_texts() -> None:
    asked = [Query(key, (), Compare("title", op, "\ud800")) for key, op in enumerate(ORDERS)]
    batch = [Item(source="s", identity="", title=title, arrived=NOW) for title in ("\ud7ff", "\ue000", "😀")]
    found = compiled(asked).match(batch_of(batch))
    assert pairs_of(found) == naive_pairs(asked, batch) == [(0, 0), (0, 1), (1, 2), (1, 3), (2, 2), (2, 3)]


def test_a_set_of_an_older_format_is_refused_and_can_be_made_again(tmp_path: Path) -> None:
    asked = [Query(1, (), Compare("m:r", ">", 4))]
    compile_set(asked, tmp_path / "set")
    manifest = tmp_path / "set" / "manifest.json"
    manifest.write_text(manifest.read_text().replace(f'"format": {FORMAT}', f'"format": {FORMAT - 1}'))
    with pytest.raises(CompiledSetError, match=f"has format {FORMAT - 1}, not {FORMAT}"):
        open_compiled(tmp_path / "set")
    compile_set(asked, tmp_path / "set")
    assert open_compiled(tmp_path / "set").match(batch_of([rated(5)])).keys.tolist() == [1]
