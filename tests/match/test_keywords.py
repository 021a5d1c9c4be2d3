"""Queries compiled by columns: the same answers as by formulas, and as the plain meaning says."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from feedweir.items.model import Item
from feedweir.items.schema import batch_of
from feedweir.match.atom_shares import Frequencies
from feedweir.match.index.keywords import keywords_of
from feedweir.match.sets.compiled_set import IndexedSet, compiled_in_memory
from feedweir.match.sets.query_store import table_of
from feedweir.match.words.scopes import MAX_FIELDS
from feedweir.plan.predicate_wire import predicate_to_json
from feedweir.plan.predicates import TRUE, And, Contains, Or, Predicate, Term
from feedweir.plan.query import Query
from feedweir.plan.query_columns import SCHEMA, QueryTable
from tests.match.generated import SOURCES, START, TEXT_ATTRIBUTES, WORDS, items, queries, term_texts
from tests.match.test_matching import naive_pairs, pairs_of

terms = (st.sampled_from(WORDS) | term_texts).map(Term)
attributes = st.none() | st.none() | st.sampled_from((*TEXT_ATTRIBUTES, "description"))


@st.composite
def clauses(draw: st.DrawFn, is_any: bool) -> Contains:
    wanted = tuple(draw(st.lists(terms, min_size=1, max_size=4)))
    return Contains(draw(attributes), wanted, 1 if is_any else len(wanted))


@st.composite
def wordings(draw: st.DrawFn) -> Predicate:
    """All or any of some words; sometimes everything."""
    is_any = draw(st.booleans())
    parts = tuple(draw(st.lists(clauses(is_any), max_size=4)))
    if len(parts) == 1:
        return parts[0]
    return Or(parts) if is_any and parts else And(parts)


sources = st.just(()) | st.lists(st.sampled_from((*SOURCES, "", "s1\x1fs2")), max_size=3).map(tuple)
worded = st.builds(Query, st.integers(0, 30), sources, wordings())


def by_formulas(asked: Iterable[Query]) -> pa.Table:
    """The same queries with nothing open about them, so that each takes the long way."""
    table = table_of(asked)
    texts = [predicate_to_json(query.predicate) for query in QueryTable(table)]
    hidden = {"predicate": pa.array(texts, pa.string())}
    hidden |= {
        name: pa.nulls(len(table), SCHEMA.field(name).type) for name in ("terms", "sizes", "attributes")
    }
    return pa.table([hidden.get(name, table.column(name)) for name in SCHEMA.names], schema=SCHEMA)


@settings(max_examples=80, deadline=None)
@given(st.lists(worded, max_size=10), st.lists(items(), max_size=4), st.booleans())
def test_columns_and_formulas_find_the_same(asked: list[Query], batch: list[Item], is_observed: bool) -> None:
    seen = Frequencies(50, {"a": 40, "abc": 3}, {"s1": 30, "s2": 1}) if is_observed else None
    tables = table_of(asked), by_formulas(asked)
    assert not len(keywords_of(tables[1]).rows)
    found = [pairs_of(compiled_in_memory(table, seen).match(batch_of(batch))) for table in tables]
    assert found[0] == found[1] == naive_pairs(asked, batch)


@settings(max_examples=80, deadline=None)
@given(st.lists(worded | queries, max_size=6))
def test_queries_come_back_from_columns_as_they_were(asked: list[Query]) -> None:
    table = QueryTable.of(asked)
    # by what they look like: a value that is not a number is not equal to itself
    assert repr(list(table)) == repr(asked)
    assert repr([table[place] for place in range(len(table))]) == repr(asked)
    assert repr(list(table[1::2])) == repr(asked[1::2])


def plain(asked: list[Query]) -> list[int]:
    return np.unique(keywords_of(table_of(asked)).rows).tolist()


def test_usual_statements_need_no_formula() -> None:
    def word(attribute: str | None, text: str) -> Contains:
        return Contains(attribute, (Term(text),), 1)

    usual = (
        TRUE,
        word(None, "storm"),
        And((word(None, "storm"), word("title", "coast"))),
        Or((word(None, "storm"), word("title", "coast"))),
        Contains("description", (Term("storm"), Term("coast")), 2),
        Contains("e:x", (Term("storm"), Term("coast")), 1),
    )
    asked = [Query(key, ("s1", "s2"), predicate) for key, predicate in enumerate(usual)]
    assert plain(asked) == list(range(len(usual)))
    unusual = (
        Contains(None, (Term("storm"), Term("coast"), Term("calm")), 2),
        Contains(None, (Term("storm", is_prefix=True),), 1),
        Contains(None, (Term("calm sea"),), 1),
        word("published", "storm"),
    )
    assert plain([Query(key, (), predicate) for key, predicate in enumerate(unusual)]) == []


def test_more_attributes_than_there_are_bits_are_told_apart_all_the_same() -> None:
    names = [f"e:n{number}" for number in range(MAX_FIELDS + 5)]
    asked = [Query(key, (), Contains(name, (Term("storm"),), 1)) for key, name in enumerate(names)]
    batch = [
        Item(source="s1", identity=name, arrived=START, extensions=((name, "storm"),)) for name in names[::7]
    ]
    compiled: IndexedSet = compiled_in_memory(table_of(asked))
    assert pairs_of(compiled.match(batch_of(batch))) == naive_pairs(asked, batch)
