"""What queries cost and brought: every tally adds up, in whatever order it was gathered."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from feedweir.items.model import Item
from feedweir.items.schema import batch_of
from feedweir.match import Counters, Matches, Tally, Work
from feedweir.match.matches import merged
from feedweir.match.sets.compiled_set import compiled_in_memory
from feedweir.match.sets.query_store import table_of
from feedweir.plan.predicates import Contains, Term
from feedweir.plan.query import Query

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def news(*titles: str) -> list[Item]:
    return [
        Item(source="s", identity=title, seq=100 + n, title=title, arrived=NOW)
        for n, title in enumerate(titles)
    ]


def rows_of(tally: Tally) -> list[tuple[int, int, int, int]]:
    columns = (tally.keys, tally.hits, tally.costs, tally.last_hits)
    return list(zip(*(column.tolist() for column in columns), strict=True))


def test_nothing_gathered_is_an_empty_tally() -> None:
    assert rows_of(Counters().tally()) == []


def test_hits_costs_and_the_last_hit_are_told_by_key() -> None:
    counters = Counters()
    batch = batch_of(news("a", "b", "c"))
    counters.add_costs(np.array([5, 7, 5]), np.array([2, 1, 4]))
    matches = Matches(np.array([0, 2, 2], np.int32), np.array([5, 5, 9]))
    counters.add_hits(matches, batch)
    assert rows_of(counters.tally()) == [(5, 2, 6, 102), (7, 0, 1, -1), (9, 1, 0, 102)]
    assert counters.tally() is counters.tally()


def test_a_query_costs_something_where_it_was_a_candidate_only() -> None:
    def both(key: int, *words: str) -> Query:
        return Query(key, (), Contains(None, tuple(map(Term, words)), len(words)))

    found = compiled_in_memory(table_of([both(1, "storm"), both(2, "storm", "tide"), both(3, "calm")]))
    counters = Counters()
    list(found.match_in_parts(batch_of(news("storm", "storm tide", "sea")), counters=counters))
    tally = {key: (hits, costs, last) for key, hits, costs, last in rows_of(counters.tally())}
    assert tally[1] == (2, 2, 101)
    assert tally[2][0::2] == (1, 101)
    assert 3 not in tally


parts = st.lists(
    st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), max_size=6).map(
        lambda pairs: sorted(set(pairs))
    ),
    max_size=5,
)


def answer(pairs: list[tuple[int, int]]) -> Matches:
    rows, keys = zip(*pairs, strict=True) if pairs else ((), ())
    return Matches(np.array(rows, np.int32), np.array(keys, np.int64))


@given(parts)
def test_hits_add_up_to_the_pairs_of_all_parts(some: list[list[tuple[int, int]]]) -> None:
    counters, batch = Counters(), batch_of(news(*"abcdef"))
    for pairs in some:
        counters.add_hits(answer(pairs), batch)
    counted = Counter(key for pairs in some for _, key in pairs)
    latest = {key: max(100 + row for pairs in some for row, k in pairs if k == key) for key in counted}
    assert rows_of(counters.tally()) == [(key, counted[key], 0, latest[key]) for key in sorted(counted)]


@given(parts)
def test_several_answers_about_one_batch_are_one_with_each_pair_once(
    some: list[list[tuple[int, int]]],
) -> None:
    one = merged([answer(pairs) for pairs in some])
    pairs = list(zip(one.rows.tolist(), one.keys.tolist(), strict=True))
    assert pairs == sorted({pair for each in some for pair in each})


def test_work_adds_up_but_for_what_was_held_at_a_time() -> None:
    assert Work(1, 2, 3, 4, 5) + Work(10, 20, 30, 40, 2) == Work(11, 22, 33, 44, 5)
    failed = [Matches(np.empty(0, np.int32), np.empty(0, np.int64), Work(1), ((n, "x"),)) for n in range(2)]
    assert (merged(failed).work, merged(failed).failures) == (Work(2), ((0, "x"), (1, "x")))
