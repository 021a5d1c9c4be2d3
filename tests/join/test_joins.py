from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from feedweir.join.patterns.found import in_pair_order
from feedweir.join.patterns.pattern_set import compile_patterns
from feedweir.join.patterns.variables import PatternQuery
from feedweir.join.window_bounds import JoinBounds
from feedweir.plan.nodes import Block, PatternJoin, TimeSpan
from tests.join.naive import Document, Meaning
from tests.join.running import matches, run
from tests.join.strategies import documents, queries
from tests.join.test_bad_input import block
from tests.join.test_state import same_title, titled

NO_LATENESS = JoinBounds(lateness=timedelta(0))


@settings(max_examples=150, deadline=None)
@given(queries(), documents(), st.sampled_from((timedelta(0), timedelta(microseconds=2), timedelta(days=1))))
def test_joins_find_what_the_obvious_meaning_says_however_the_stream_is_cut(
    chosen: list[PatternQuery], stream: list[Document], lateness: timedelta
) -> None:
    bounds = JoinBounds(lateness=lateness)
    joins = compile_patterns(chosen, bounds=bounds)
    assert not joins.failures
    expected = Meaning(stream, bounds).matches(chosen)
    for cut in (1, 7, 1000):
        found = matches(joins, stream, cut)
        assert set(found) == expected
        assert len(found) == len(set(found))


@settings(max_examples=40, deadline=None)
@given(queries(), documents(), st.sampled_from((0, 1, 3, 8)), st.sampled_from((0, 2, 5)))
def test_joins_that_would_make_too_much_are_named_and_the_others_are_whole(
    chosen: list[PatternQuery], stream: list[Document], max_found: int, max_made: int
) -> None:
    bounds = JoinBounds(max_found=max_found, max_made=max_made)
    expected = Meaning(stream, bounds).matches(chosen)
    for cut in (2, 1000):
        results = run(compile_patterns(chosen, bounds=bounds), stream, cut)
        found = [match for one in results for match in one.matches()]
        named = {key for one in results for key in one.failures}
        assert set(found) <= expected
        assert {match for match in expected if match.key not in named} <= set(found)
        assert all(one.count() <= len(one.levels) * max(max_found, max_made) for one in results)


def test_only_the_join_that_finds_the_most_gives_nothing() -> None:
    anything = PatternQuery(2, PatternJoin("join", block("x"), block("y"), (), TimeSpan(timedelta(days=1))))
    joins = compile_patterns(
        [same_title(TimeSpan(timedelta(days=1))), anything], bounds=JoinBounds(max_found=300)
    )
    stream = [titled(place, place, f"t{place // 2}") for place in range(40)]
    (results,) = run(joins, stream, 40)
    assert len(results.matches()) == 40
    assert list(results.failures) == [2]
    assert "too many documents" in results.failures[2]


def test_a_chain_is_named_when_its_inner_join_finds_too_much() -> None:
    inner = PatternJoin("join", block("x"), block("y"), (), TimeSpan(timedelta(days=1)))
    outer = PatternJoin("join", inner, block("z"), (("x", "z"),), TimeSpan(timedelta(days=1)))
    joins = compile_patterns([PatternQuery(7, outer)], bounds=JoinBounds(max_made=30))
    stream = [titled(place, place, "same") for place in range(10)]
    assert {key for one in run(joins, stream, 10) for key in one.failures} == {7}


@settings(max_examples=50, deadline=None)
@given(queries(), documents(), st.sampled_from((0, 1 << 58)))
def test_pairs_are_the_matches_of_joins_that_construct_nothing_in_order(
    chosen: list[PatternQuery], stream: list[Document], shift: int
) -> None:
    plain = frozenset(
        query.key for query in chosen if isinstance(query.join.left, Block) and not query.join.select
    )
    shifted = [replace(one, items=tuple(seq + shift for seq in one.items)) for one in stream]
    for results in run(compile_patterns(chosen), shifted, 7):
        rows = [tuple(row) for level in results.levels for row in level.pairs(plain).tolist()]
        found = [(match.key, *match.items) for match in results.matches() if match.key in plain]
        assert sorted(rows) == sorted(found)
        assert rows == sorted(rows, key=lambda row: (row[0], max(row[1:]), *row[1:]))


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 5), st.integers(6, 9), st.booleans())))
def test_pairs_are_ordered_alike_whether_they_fit_in_a_word_or_not(
    rows: list[tuple[int, int, int, bool]],
) -> None:
    swapped = [(code, *((b, a) if swap else (a, b))) for code, a, b, swap in rows]
    columns = np.array(swapped, np.int64).reshape(-1, 3).T
    narrow = np.stack(in_pair_order(*columns))
    wide = np.stack(in_pair_order(columns[0] << 60, columns[1], columns[2]))
    wide[0] >>= 60
    assert narrow.tolist() == wide.tolist()
    expected = sorted(set(swapped), key=lambda row: (row[0], max(row[1:]), *row[1:]))
    assert [tuple(row) for row in narrow.T.tolist()] == expected
