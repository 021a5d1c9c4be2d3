"""Small sets laid over a large one: one walk over the items finds what all of them want, each as by itself."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from feedweir.items.model import Item
from feedweir.items.schema import batch_of
from feedweir.match import Counters, SegmentedSet, apply_changes, open_version, write_version
from feedweir.match.arrays import frozen
from feedweir.match.matching import strategies
from feedweir.match.matching.answer_parts import joined
from feedweir.match.matching.pair_kernels import REMOVED, in_order
from feedweir.match.sets import set_changes
from feedweir.match.sets.segments import opened_segment
from feedweir.plan.predicates import And, AtLeast, Compare, Contains, Not, Or, Predicate, Term
from feedweir.plan.query import Query
from tests.match.generated import SOURCES, WORDS, comparisons, items, queries
from tests.match.test_matching import naive_pairs, pairs_of
from tests.match.test_segments import news, word_query

quick = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))


@st.composite
def some_words(draw: st.DrawFn) -> Predicate:
    terms = tuple(Term(word) for word in draw(st.lists(st.sampled_from(WORDS), min_size=1, max_size=4)))
    return Contains(None, terms, draw(st.integers(1, len(terms))))


values = st.builds(Compare, st.just("published"), comparisons, st.integers(2019, 2021), st.just("year"))
parts = some_words() | some_words() | values


@st.composite
def of_atoms(draw: st.DrawFn) -> Predicate:
    """What bits alone decide, found by a word or a value that is wanted."""
    wanted, others = draw(parts), draw(st.lists(parts, max_size=3))
    match draw(st.sampled_from(("all", "any", "none", "some"))):
        case "all":
            return And((wanted, *others))
        case "any":
            return Or((wanted, *others))
        case "none":
            return And((wanted, *(Not(other) for other in others)))
        case _:
            return And((wanted, AtLeast(min(2, len(others)), tuple(others))))


def asking(predicates: st.SearchStrategy[Predicate]) -> st.SearchStrategy[Query]:
    sources = st.just(()) | st.lists(st.sampled_from(SOURCES), max_size=2).map(tuple)
    return st.builds(Query, st.integers(-5, 30), sources, predicates, st.just(""))


some_changes = st.lists(
    st.tuples(
        st.lists(asking(of_atoms()) | asking(of_atoms()) | queries, min_size=1, max_size=4),
        st.lists(st.integers(-5, 30), max_size=2),
    ),
    min_size=1,
    max_size=3,
)


@quick
@given(
    st.lists(queries, max_size=8),
    some_changes,
    st.lists(items(), min_size=1, max_size=4),
    st.sampled_from((1, 2, 5, 1_000)),
)
def test_what_is_laid_over_a_set_of_any_queries_is_found_as_its_plain_meaning_says(
    first: list[Query], later: list[tuple[list[Query], list[int]]], batch: list[Item], limit: int
) -> None:
    with TemporaryDirectory() as directory, pytest.MonkeyPatch.context() as patch:
        patch.setattr(set_changes, "_MUCH_LARGER", 0)  # every change stays a segment of its own
        root, wanted = Path(directory) / "set", first
        write_version(root, 1, first)
        for added, removed in later:
            wanted = [query for query in wanted if query.key not in removed] + added
            apply_changes(root, added, removed)
        changed = open_version(root)
        counters, fewer = Counters(), Counters()
        found = joined(changed.match_in_parts(batch_of(batch), counters=counters))
        in_parts = joined(changed.match_in_parts(batch_of(batch), counters=fewer, limit=limit))
        assert pairs_of(found) == pairs_of(in_parts) == naive_pairs(wanted, batch)
        tallies = [
            [column.tolist() for column in (t.keys, t.hits, t.costs)]
            for t in map(Counters.tally, (counters, fewer))
        ]
        assert tallies[0] == tallies[1]
        alone = [opened_segment(root, segment).match(batch_of(batch)).work for segment in changed.segments]
        assert found.work.tests == in_parts.work.tests == sum(work.tests for work in alone)
        assert found.work.candidates == sum(work.candidates for work in alone)


def but_not(key: int, word: str, other: str) -> Query:
    wanted, unwanted = (Contains(None, (Term(each),), 1) for each in (word, other))
    return Query(key, (), And((wanted, Not(unwanted))))


def walks(changed: SegmentedSet, batch: list[Item], patch: pytest.MonkeyPatch) -> int:
    calls: list[Any] = []
    whole = strategies.match_rows
    patch.setattr(strategies, "match_rows", lambda *arguments: (calls.append(1), whole(*arguments))[1])
    changed.match(batch_of(batch))
    return len(calls)


def test_one_walk_finds_what_small_segments_want_unless_they_ask_where_words_stand(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root, batch = tmp_path / "set", news("w1 w2 new", "w3")
    monkeypatch.setattr(set_changes, "_MUCH_LARGER", 0)
    write_version(root, 1, [word_query(key, f"w{key}") for key in range(9)])
    long = Query(20, ("s",), Contains(None, tuple(Term(f"w{n}") for n in range(12)), 12))
    apply_changes(root, [word_query(10, "new"), long, but_not(13, "w2", "w9")], [2])
    changed = apply_changes(root, [word_query(11, "new"), word_query(-1, "w1"), but_not(12, "w1", "w3")])
    assert len(changed.segments) == 3
    assert walks(changed, batch, monkeypatch) == 1
    expected = [(0, -1), (0, 1), (0, 10), (0, 11), (0, 12), (0, 13), (1, 3)]
    assert pairs_of(changed.match(batch_of(batch))) == expected
    in_title = apply_changes(root, [Query(30, (), Contains("title", (Term("w3"),), 1))])
    assert walks(in_title, batch, monkeypatch) == 2
    assert pairs_of(in_title.match(batch_of(batch)))[-2:] == [(1, 3), (1, 30)]


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.integers(-4, 20), max_size=8),
    st.lists(st.integers(-4, 20), max_size=4),
    st.lists(st.tuples(st.integers(0, 2), st.integers(0, 11)), max_size=50),
    st.sets(st.integers(-4, 20)),
)
def test_pairs_of_two_runs_of_keys_are_put_in_one_order(
    first: list[int], others: list[int], found: list[tuple[int, int]], removed: set[int]
) -> None:
    keys = [*sorted(first), *sorted(others)]
    known = [(row, query) for row, query in sorted(found, key=lambda pair: pair[0]) if query < len(keys)]
    rows, asked = (np.array([pair[side] for pair in known], np.int32) for side in (0, 1))
    marked = np.array([int(REMOVED) if key in removed else key for key in keys], np.int64)
    nothing = np.empty(0, np.int32), np.empty(0, np.int64)
    ordered = in_order(rows, asked, frozen(marked), len(first), *nothing)
    kept = {(row, keys[query]) for row, query in known if keys[query] not in removed}
    assert list(zip(*(column.tolist() for column in ordered), strict=True)) == sorted(kept)
