"""What annotation joins compare: the features of items, and rows of values as ragged columns."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedweir.errors import LanguageError
from feedweir.items.model import Enclosure, Item
from feedweir.items.schema import ITEM_SCHEMA, batch_of
from feedweir.join.ragged import Ragged, from_arrow, to_arrow
from feedweir.join.windows.features import (
    IDENTITY,
    Feature,
    Kind,
    column_type,
    columns_of,
    empty,
    extract,
    feature_of,
    held,
)

NOON = datetime(2026, 6, 1, 12, tzinfo=UTC)

rows = st.lists(st.lists(st.integers(-5, 5), max_size=4).map(sorted), max_size=8)


def ragged(chosen: list[list[int]]) -> Ragged:
    ptr = np.cumsum([0, *map(len, chosen)]).astype(np.int64)
    return Ragged(ptr, np.array([value for row in chosen for value in row], np.int64))


def listed(column: Ragged) -> list[list[object]]:
    return [column.data[start:stop].tolist() for start, stop in pairwise(column.ptr.tolist())]


def item(**fields: object) -> Item:
    return Item(**{"source": "A", "identity": "1", "arrived": NOON, **fields})  # type: ignore[arg-type]


def of(kind: Kind, attribute: str | None, *items: Item) -> list[list[object]]:
    return listed(extract(feature_of(kind, attribute), batch_of(list(items))))


def meet(one: list[object], other: list[object]) -> bool:
    return not set(one).isdisjoint(other)


@given(rows, rows)
def test_columns_are_put_one_below_the_other(one: list[list[int]], other: list[list[int]]) -> None:
    assert listed(ragged(one).joined(ragged(other))) == one + other


@given(rows, st.data())
def test_rows_are_taken_in_any_order_and_as_often_as_asked(
    chosen: list[list[int]], data: st.DataObject
) -> None:
    asked = data.draw(st.lists(st.sampled_from(range(len(chosen))), max_size=6)) if chosen else []
    taken = ragged(chosen).take(np.array(asked, np.int64))
    assert listed(taken) == [chosen[place] for place in asked]


@given(rows, st.lists(st.integers(0, 10), max_size=6))
def test_a_row_that_is_not_known_is_empty(chosen: list[list[int]], asked: list[int]) -> None:
    taken = ragged(chosen).take_known(np.array(asked, np.int64))
    assert listed(taken) == [chosen[place] if place < len(chosen) else [] for place in asked]


@given(rows, st.integers(0, 3))
def test_a_column_is_read_from_arrow_as_it_was_written_also_from_a_slice(
    chosen: list[list[int]], first: int
) -> None:
    table = pa.table({"c": to_arrow(ragged(chosen))})
    assert listed(from_arrow(table["c"])) == chosen
    assert listed(from_arrow(table.slice(first)["c"])) == chosen[first:]
    assert listed(from_arrow(pa.concat_tables([table, table])["c"])) == chosen + chosen


def test_texts_in_order_survive_arrow_too() -> None:
    column = extract(feature_of("order", "title"), batch_of([item(title="b"), item(title="")]))
    assert listed(from_arrow(pa.table({"c": to_arrow(column)})["c"])) == [["b", "b"], []]


def test_texts_that_differ_in_case_and_space_around_them_are_one_value() -> None:
    first, second, other, none = of(
        "value", "title", item(title="Red River"), item(title=" red river "), item(title="Red"), item()
    )
    assert first == second
    assert not meet(first, other)
    assert none == []


def test_a_text_a_number_and_a_time_that_are_written_alike_are_different_values() -> None:
    one = item(title="1.0", revision=1, published=NOON)
    values = [of("value", name, one)[0] for name in ("title", "revision", "published")]
    assert all(not meet(a, b) for a, b in pairwise(values))


def test_a_time_is_compared_as_an_instant_in_whatever_zone_it_was_written() -> None:
    from datetime import timezone

    elsewhere = NOON.astimezone(timezone(timedelta(hours=5)))
    first, second = of("value", "published", item(published=NOON), item(published=elsewhere))
    assert first == second


def test_an_attribute_with_several_values_has_a_key_for_each_of_them_once_in_order() -> None:
    ((*keys,),) = of("value", "category", item(categories=("b", "a", "B")))
    assert len(keys) == 2
    assert keys == sorted(keys)  # type: ignore[type-var]


def test_links_are_compared_by_their_canonical_spelling() -> None:
    first, second, other = of(
        "links",
        None,
        item(links=("http://a.org/x",)),
        item(links=("https://www.a.org/x/",)),
        item(links=("http://a.org/y",)),
    )
    assert first == second
    assert not meet(first, other)


def test_a_link_extends_every_opening_of_it_and_no_other_site() -> None:
    long = item(links=("http://a.org/x/y",))
    (openings,) = of("openings", None, long)
    for address, extends in [("http://a.org", True), ("http://a.org/x", True), ("http://b.org", False)]:
        (own,) = of("links", None, item(links=(address,)))
        assert meet(openings, own) is extends


def test_enclosures_are_links_and_extensions_are_values() -> None:
    one = item(
        enclosures=(Enclosure(url="http://a.org/song"),),
        extensions=(("media:credit", "Ann"), ("media:credit", "Bob"), ("x:y", "Ann")),
    )
    (enclosed,) = of("links", "enclosure", one)
    (linked,) = of("links", None, item(links=("http://a.org/song",)))
    assert enclosed == linked
    assert [len(row) for row in of("value", "media:credit", one)] == [2]


def test_words_are_a_set_whether_in_text_or_in_html() -> None:
    plain, marked = item(title="Red river red"), item(summary="<p>river <b>Red</b></p>")
    (first,), (second,) = of("words", "title", plain), of("words", "summary", marked)
    assert first == second
    assert len(first) == 2


def test_the_whole_text_of_an_item_includes_its_extensions() -> None:
    (whole,) = of("words", None, item(title="red", summary="river", extensions=(("x:y", "otter"),)))
    (words,) = of("words", "title", item(title="red river otter"))
    assert set(words) <= set(whole)


def test_each_value_has_its_own_words_and_its_longest_word_for_a_signature() -> None:
    one = item(categories=("red river", "sea", "red red"))
    ((*data,),) = of("value words", "category", one)
    sizes, at = [], 0
    while at < len(data):
        sizes.append(data[at])
        words = data[at + 1 : at + 1 + int(data[at])]  # type: ignore[call-overload]
        assert words == sorted(words)
        at += 1 + int(data[at])  # type: ignore[call-overload]
    assert sizes == [2, 1, 1]
    ((*signatures,),) = of("signatures", "category", one)
    (longest,) = of("words", "title", item(title="river sea red"))
    assert sorted(signatures) == sorted(longest)  # type: ignore[type-var]


def test_values_in_order_are_the_least_and_the_greatest_of_a_row() -> None:
    assert of("order", "category", item(categories=("m", "b", "Z")), item()) == [["b", "z"], []]
    assert of("order", "revision", item(revision=3)) == [[3.0, 3.0]]
    microseconds = int(NOON.timestamp()) * 1_000_000
    assert of("order", "published", item(published=NOON)) == [[microseconds, microseconds]]


def test_wordings_of_one_item_have_one_identity() -> None:
    same, again, other = listed(
        extract(IDENTITY, batch_of([item(), item(revision=1, title="x"), item(identity="2")]))
    )
    assert same == again != other


def test_a_condition_has_a_key_where_it_holds() -> None:
    assert listed(held([True, False, True])) == [[1], [], [1]]
    assert listed(held([])) == []


@pytest.mark.parametrize(
    ("kind", "attribute", "message", "hint"),
    [
        ("value", None, "needs an attribute on both sides", "title = window.title"),
        ("order", None, "needs an attribute on both sides", "window.title"),
        ("value", "colour", "no attribute colour", "prefix:name"),
        ("links", "title", "title is not a link", "link, links or enclosure"),
        ("openings", "author", "author is not a link", "shares-link and extends"),
    ],
)
def test_an_attribute_that_cannot_be_compared_so_is_refused(
    kind: Kind, attribute: str | None, message: str, hint: str
) -> None:
    with pytest.raises(LanguageError, match=message) as refused:
        feature_of(kind, attribute)
    assert hint in str(refused.value.hint)


def test_two_names_of_one_attribute_are_one_feature() -> None:
    assert feature_of("words", "description") == feature_of("words", "summary")
    assert feature_of("links", None) == feature_of("links", "links")


KINDS: tuple[Feature, ...] = (
    feature_of("value", "title"),
    feature_of("order", "title"),
    feature_of("order", "published"),
    feature_of("order", "revision"),
    feature_of("words", None),
    feature_of("words", "media:credit"),
    feature_of("links", None),
    feature_of("links", "enclosure"),
    feature_of("openings", "link"),
    feature_of("value words", "category"),
    feature_of("signatures", "title"),
    feature_of("story", None),
    IDENTITY,
)


@pytest.mark.parametrize("feature", KINDS, ids=lambda feature: feature.name)
def test_only_the_columns_that_are_named_are_read(feature: Feature) -> None:
    columns = columns_of([feature])
    items = batch_of([item(title="a"), item(identity="2")]).select(columns)
    assert len(extract(feature, items)) == 2
    for column in columns:
        with pytest.raises(KeyError):
            extract(feature, items.drop_columns([column]))


@pytest.mark.parametrize("feature", KINDS, ids=lambda feature: feature.name)
def test_an_empty_column_is_of_the_type_of_a_full_one(feature: Feature) -> None:
    found = extract(feature, batch_of([item(title="a", revision=1, published=NOON)]))
    assert empty(feature).data.dtype in (found.data.dtype, np.dtype(np.int64))
    assert len(empty(feature)) == 0
    assert listed(empty(feature).joined(found)) == listed(found)


def test_a_condition_reads_whole_items() -> None:
    assert columns_of([Feature("condition", "{}")]) == sorted(ITEM_SCHEMA.names)


def test_features_are_stored_under_names_of_their_own() -> None:
    assert len({feature.name for feature in KINDS}) == len(KINDS)
    assert column_type(feature_of("order", "published")) == "time"
