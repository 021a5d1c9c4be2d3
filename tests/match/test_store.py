"""Queries as a table: kept in order, read one by one, by owner, and written without what nobody names."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from feedweir.match import KeywordQueries
from feedweir.match.sets.query_store import (
    StoredQueries,
    TableQueries,
    read_table,
    table_of,
    whole_predicate,
    write_table,
)
from feedweir.plan.predicates import And, Contains, FromFeeds, Not, Term
from feedweir.plan.query import Query
from feedweir.plan.query_columns import ROWS_PER_BATCH, QueryTable
from tests.match.generated import queries


def words(*texts: str) -> Contains:
    return Contains(None, tuple(map(Term, texts)), len(texts))


def all_of(table: pa.Table) -> list[Query]:
    return list(QueryTable(table))


def test_a_table_is_sorted_by_key_and_keeps_the_order_of_equal_ones() -> None:
    given_queries = [Query(key, (), words(word)) for key, word in ((3, "a"), (1, "b"), (3, "c"), (1, "d"))]
    assert [(query.key, query.predicate) for query in all_of(table_of(given_queries))] == [
        (1, words("b")),
        (1, words("d")),
        (3, words("a")),
        (3, words("c")),
    ]


def test_columns_of_terms_are_the_same_queries_as_objects() -> None:
    columns = KeywordQueries(np.array([2, 1]), pa.array([["a", "b c"], ["a"]]))
    assert all_of(table_of(columns)) == [Query(1, (), words("a")), Query(2, (), words("a", "b c"))]


def test_a_table_is_taken_as_it_is() -> None:
    table = table_of([Query(1, (), words("a"))])
    assert table_of(table).equals(table)


def test_a_predicate_holds_for_its_sources_only() -> None:
    plain = words("a")
    assert whole_predicate(Query(1, (), plain)) == plain
    assert whole_predicate(Query(1, ("s", "t"), plain)) == And((FromFeeds(("s", "t")), plain))


@settings(max_examples=40, deadline=None)
@given(asked=st.lists(queries, max_size=6))
def test_queries_come_back_from_the_disk_and_from_memory_by_number(
    tmp_path_factory: pytest.TempPathFactory, asked: list[Query]
) -> None:
    directory = tmp_path_factory.mktemp("queries")
    table = table_of(asked)
    write_table(directory, table)
    # Compared as text, since a NaN that was read from a file does not equal the one that was written.
    expected = [repr(query) for query in sorted(asked, key=lambda query: query.key)]
    stored, kept = StoredQueries(directory), TableQueries(table)
    assert [repr(stored.query(number)) for number in range(len(asked))] == expected
    assert [repr(kept.query(number)) for number in range(len(asked))] == expected
    assert [repr(query) for query in all_of(read_table(directory))] == expected


def test_queries_beyond_the_first_batch_are_found_by_number(tmp_path: Path) -> None:
    n = ROWS_PER_BATCH + 3
    columns = KeywordQueries(np.arange(n), pa.array([[f"w{key}"] for key in range(n)]))
    write_table(tmp_path, table_of(columns))
    stored = StoredQueries(tmp_path)
    assert [stored.query(key).predicate for key in (0, ROWS_PER_BATCH - 1, ROWS_PER_BATCH, n - 1)] == [
        words("w0"),
        words(f"w{ROWS_PER_BATCH - 1}"),
        words(f"w{ROWS_PER_BATCH}"),
        words(f"w{n - 1}"),
    ]


def test_terms_that_no_query_names_any_more_are_not_written(tmp_path: Path) -> None:
    table = table_of([Query(key, (), words(f"w{key}", "every")) for key in range(100)])
    write_table(tmp_path, table.take(pa.array([7, 93])))
    read = read_table(tmp_path)
    assert sorted(read.column("terms").combine_chunks().flatten().dictionary.to_pylist()) == [
        "every",
        "w7",
        "w93",
    ]
    assert [query.predicate for query in all_of(read)] == [words("w7", "every"), words("w93", "every")]


def test_queries_without_terms_stay_without(tmp_path: Path) -> None:
    odd = Not(words("x"))
    table = table_of([Query(1, (), words("a")), Query(2, (), odd), Query(3, ("s",), And(()))])
    write_table(tmp_path, table.slice(1))
    assert [query.predicate for query in all_of(read_table(tmp_path))] == [odd, And(())]


@pytest.mark.parametrize(
    ("asker", "keys"),
    [
        ("acme/ann", [1, 2, 3]),
        ("acme", [1, 2, 3, 4]),
        ("acme/bob", [1, 2, 4]),
        ("other", [1, 5]),
        ("nobody", [1]),
    ],
)
def test_an_owner_has_their_own_queries_their_groups_their_members_and_everyones(
    tmp_path: Path, asker: str, keys: list[int]
) -> None:
    owners = ("", "acme", "acme/ann", "acme/bob", "other")
    table = table_of([Query(key, (), words("a"), owner) for key, owner in enumerate(owners, 1)])
    write_table(tmp_path, table)
    for known in (TableQueries(table), StoredQueries(tmp_path)):
        assert known.owned_by(asker).column("key").to_pylist() == keys
