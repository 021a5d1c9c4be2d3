"""Queries as columns: they come back as they were, however they are cut, taken and put in order."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from feedweir.plan.predicates import FALSE, TRUE, And, Compare, Contains, Not, Or, Predicate, Term
from feedweir.plan.query import Query
from feedweir.plan.query_columns import (
    ROWS_PER_BATCH,
    SCHEMA,
    QueryTable,
    Wording,
    in_order,
    predicate_of,
    query_of,
    wants_everything,
    wording_of,
)
from tests.language.generated import predicates

A, B = Term("a"), Term("b c")


def has(*terms: Term, at_least: int | None = None, about: str | None = None) -> Contains:
    return Contains(about, terms, len(terms) if at_least is None else at_least)


WORDINGS = [
    (TRUE, Wording([], None, None, False)),
    (has(A), Wording(["a"], None, None, False)),
    (has(A, B), Wording(["a", "b c"], None, None, False)),
    (has(A, B, at_least=1), Wording(["a", "b c"], None, None, True)),
    (has(A, about="title"), Wording(["a"], None, ["title"], False)),
    (And((has(A), has(B))), Wording(["a", "b c"], [1, 1], None, False)),
    (And((has(A, B, about="title"), has(B))), Wording(["a", "b c", "b c"], [2, 1], ["title", None], False)),
    (Or((has(A, B, at_least=1), has(A))), Wording(["a", "b c", "a"], [2, 1], None, True)),
]


@pytest.mark.parametrize(("predicate", "wording"), WORDINGS)
def test_what_asks_for_words_only_lies_open(predicate: Predicate, wording: Wording) -> None:
    assert wording_of(predicate) == wording
    assert predicate_of(wording) == predicate


@pytest.mark.parametrize(
    "predicate",
    [
        FALSE,
        Not(has(A)),
        And((has(A),)),
        Or((has(A),)),
        has(A, B, at_least=0),
        has(A, B, Term("c"), at_least=2),
        Contains(None, (), 0),
        has(Term("a", is_prefix=True)),
        And((has(A), has(A, B, at_least=1))),
        Or((has(A, B), has(A))),
        And((has(A), Compare("title", "=", "x"))),
        And((has(A), Or((has(A), has(B))))),
        has(Term("a\ud800")),
        has(A, about="x\x00"),
        Compare("title", "=", "x"),
    ],
)
def test_what_asks_for_anything_else_is_kept_as_text(predicate: Predicate) -> None:
    assert wording_of(predicate) is None


@given(predicates)
@settings(max_examples=150, deadline=None)
def test_no_predicate_is_lost_in_its_words(predicate: Predicate) -> None:
    wording = wording_of(predicate)
    if wording is not None:
        assert predicate_of(wording) == predicate


queries = st.lists(
    st.builds(
        Query,
        st.integers(-(2**62), 2**62),
        st.lists(st.sampled_from(["A", "b c", "é"]), max_size=2).map(tuple),
        st.one_of(predicates, st.sampled_from([predicate for predicate, _ in WORDINGS])),
        st.sampled_from(["", "ann", "acme/ann"]),
    ),
    max_size=8,
)


@given(queries, st.data())
@settings(max_examples=100, deadline=None)
def test_a_table_of_queries_behaves_as_their_list(some: list[Query], data: st.DataObject) -> None:
    table = QueryTable.of(some)
    assert list(table) == some
    assert len(table) == len(some)
    assert [table[place] for place in range(-len(some), len(some))] == some * 2
    cut = data.draw(st.slices(len(some)))
    assert list(table[cut]) == some[cut]
    assert QueryTable.of(table) is table
    assert list(QueryTable.together(some, table, [])) == some * 2


@given(queries)
@settings(max_examples=60, deadline=None)
def test_queries_are_sorted_by_key_and_equal_keys_stay_as_they_were(some: list[Query]) -> None:
    keyed = [Query(query.key % 3, query.sources, query.predicate, query.owner) for query in some]
    table = in_order(QueryTable.of(keyed).table)
    assert list(QueryTable(table)) == sorted(keyed, key=lambda query: query.key)
    assert in_order(table).equals(table)


@given(queries)
@settings(max_examples=60, deadline=None)
def test_who_wants_everything_is_told_from_the_columns(some: list[Query]) -> None:
    told = wants_everything(QueryTable.of(some).table).to_pylist()
    assert told == [query.predicate == TRUE for query in some]


def test_more_queries_than_a_batch_holds_are_cut_into_batches() -> None:
    many = [Query(number, (), has(A)) for number in range(ROWS_PER_BATCH + 3)]
    table = QueryTable.of(many)
    assert table.table.column("key").num_chunks == 2
    assert table[ROWS_PER_BATCH] == many[ROWS_PER_BATCH]
    assert [query.key for query in table] == list(range(ROWS_PER_BATCH + 3))


def test_a_row_of_another_process_is_read_as_the_query_it_was() -> None:
    query = Query(7, ("A",), And((has(A), has(B, about="title"))), "ann")
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, SCHEMA) as writer:
        writer.write_table(QueryTable.of([query]).table)
    (row,) = pa.ipc.open_stream(sink.getvalue()).read_all().to_pylist()
    assert query_of(row) == query


def test_no_queries_are_a_table_as_well() -> None:
    assert list(QueryTable.of([])) == []
    assert QueryTable.of([]).table.schema == SCHEMA
    with pytest.raises(IndexError):
        QueryTable.of([])[0]
