"""Every published method gives the same pairs as asking each query of each document."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from feedweir.errors import SettingsError
from feedweir.items.model import Item
from feedweir.items.schema import batch_of
from feedweir.match import KeywordQueries
from feedweir.plan.predicates import Contains, Term
from feedweir.plan.query import Query
from feedweir.published.prospective import (
    METHODS,
    Clustered,
    Found,
    Ordered,
    Primitive,
    TermSets,
    best_of,
    choose,
    keyword_set,
    matcher,
)
from tests.match.test_matching import naive_pairs, pairs_of

N_TERMS = 12
some_terms = st.sets(st.integers(0, N_TERMS - 1), min_size=1, max_size=5)
quick = settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))


def sets_of(rows: list[set[int]]) -> TermSets:
    flat = [term for row in rows for term in sorted(row)]
    offsets = np.concatenate([[0], np.cumsum([len(row) for row in rows])])
    return TermSets(offsets.astype(np.int64), np.array(flat, np.int32))


def naive(queries: list[set[int]], documents: list[set[int]]) -> list[tuple[int, int]]:
    return [
        (d, q) for d, document in enumerate(documents) for q, query in enumerate(queries) if query <= document
    ]


@pytest.mark.parametrize("name", METHODS)
@quick
@given(st.lists(some_terms, min_size=1, max_size=30), st.lists(some_terms | st.just(set()), max_size=6))
def test_a_method_finds_what_asking_each_query_finds(
    name: str, queries: list[set[int]], documents: list[set[int]]
) -> None:
    found = matcher(name, sets_of(queries), N_TERMS).match(sets_of(documents))
    pairs = sorted(zip(found.rows.tolist(), found.queries.tolist(), strict=True))
    assert pairs == naive(queries, documents)


@quick
@given(st.lists(some_terms, min_size=1, max_size=30), st.lists(some_terms, max_size=4), st.integers(2, 5))
def test_partitions_and_small_superqueries_change_nothing(
    queries: list[set[int]], documents: list[set[int]], n: int
) -> None:
    for core in (
        Ordered(sets_of(queries), N_TERMS, partitions=n),
        Clustered(sets_of(queries), N_TERMS, limit=n + 2),
    ):
        found = core.match(sets_of(documents))
        assert sorted(zip(found.rows.tolist(), found.queries.tolist(), strict=True)) == naive(
            queries, documents
        )


@pytest.mark.parametrize("name", METHODS)
def test_queries_longer_than_a_superquery_and_without_terms_are_exact(name: str) -> None:
    random = np.random.default_rng(3)
    sizes = [0, 1, 3, 33, 34, 64, 70, 130, 300] * 3
    queries = [set(random.choice(400, size, replace=False).tolist()) for size in sizes]
    documents = [set(range(400)) - {number} for number in range(5)]
    expected = [(row, query) for row, query in naive(queries, documents) if queries[query]]
    found = matcher(name, sets_of(queries), 400).match(sets_of(documents))
    assert sorted(zip(found.rows.tolist(), found.queries.tolist(), strict=True)) == expected
    assert len(matcher(name, sets_of([]), 400).match(sets_of(documents)).rows) == 0


@pytest.mark.parametrize("name", ["auto", "primitive", "overlap-32", "shared"])
def test_methods_stand_behind_the_interface_of_compiled_sets(name: str) -> None:
    terms = [["storm"], ["storm", "coast"], ["coast", "calm"], ["Storm", "storm"]]
    queries = KeywordQueries(pa.array([10, 20, 30, 40]), pa.array(terms))
    now = datetime(2026, 1, 1, tzinfo=UTC)
    batch = [
        Item(source="s", identity="1", title="Storm", summary="<p>at the coast</p>", arrived=now),
        Item(source="s", identity="2", title="calm", arrived=now),
    ]
    objects = [
        Query(key, (), Contains(None, tuple(map(Term, some)), len(some)))
        for key, some in zip([10, 20, 30, 40], terms, strict=True)
    ]
    assert pairs_of(keyword_set(queries, name).match(batch_of(batch))) == naive_pairs(objects, batch)


def test_auto_takes_the_method_that_touches_least() -> None:
    random = np.random.default_rng(1)
    queries = sets_of([set(random.integers(0, N_TERMS, 3).tolist()) for _ in range(300)])
    documents = sets_of([set(random.integers(0, N_TERMS, 6).tolist()) for _ in range(20)])
    assert type(matcher("auto", queries, N_TERMS, documents)).__name__ == "Shared"


def test_auto_judges_many_queries_by_some_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choose, "_JUDGED", 10)
    seen: list[int] = []

    class Idle(Primitive):
        def __init__(self, queries: TermSets, n_terms: int) -> None:
            seen.append(len(queries))
            super().__init__(queries, n_terms)

        def match(self, documents: TermSets, *, has_tests: bool = True) -> Found:
            return replace(super().match(documents, has_tests=has_tests), postings=0, accumulators=0, tests=0)

    monkeypatch.setitem(choose.METHODS, "idle", Idle)
    queries = sets_of([{number % N_TERMS} for number in range(95)])
    documents = sets_of([{1, 2}])
    assert best_of(queries, N_TERMS, documents) == "idle"
    assert seen == [10]
    assert len(matcher("auto", queries, N_TERMS, documents).match(documents).rows) == 16
    assert seen == [10, 10, 95]


def test_unknown_methods_and_phrases_are_refused() -> None:
    with pytest.raises(SettingsError, match="no matcher is called magic"):
        matcher("magic", sets_of([{1}]), N_TERMS)
    for terms in (["two words"], [f"w{number}" for number in range(10)]):
        with pytest.raises(SettingsError, match="one to 9 single words"):
            keyword_set(KeywordQueries(pa.array([1]), pa.array([terms])))


def test_each_step_of_the_publication_touches_less_than_the_one_before() -> None:
    random = np.random.default_rng(2)
    queries = sets_of([set((random.zipf(1.3, 4) % N_TERMS).tolist()) for _ in range(2000)])
    documents = sets_of([set((random.zipf(1.3, 8) % N_TERMS).tolist()) for _ in range(50)])
    primitive, ordered, clustered = (
        matcher(name, queries, N_TERMS).match(documents) for name in ("primitive", "ordered", "overlap-32")
    )
    assert clustered.accumulators < ordered.accumulators < primitive.accumulators
    assert clustered.postings < ordered.postings
