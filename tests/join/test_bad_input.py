from __future__ import annotations

from datetime import timedelta

import pytest

from feedweir.join.patterns.pattern_set import compile_patterns
from feedweir.join.patterns.variables import PatternQuery
from feedweir.join.window_bounds import JoinBounds, running_clock
from feedweir.plan.nodes import Block, LastItems, PatternJoin, Source, TimeSpan
from feedweir.plan.predicates import PatternNode, TreePattern
from feedweir.published.joins import AloneHistory, alone_documents, alone_queries, run_alone
from tests.join.naive import item
from tests.join.running import batch_of, matches
from tests.join.test_state import same_title, titled

DAY = TimeSpan(timedelta(days=1))


def block(variable: str, name: str = "title", source: Source | None = None) -> Block:
    return Block(source or Source("S"), TreePattern(PatternNode("//", name, (), variable)))


@pytest.mark.parametrize(
    ("join", "message"),
    [
        (PatternJoin("join", block("x"), block("y"), (("x", "y"),), None), "needs a window"),  # type: ignore[arg-type]
        (
            PatternJoin("join", block("x"), block("y"), (("x", "y"),), TimeSpan(timedelta(0))),
            "greater than 0",
        ),
        (PatternJoin("join", block("x"), block("y"), (("x", "y"),), LastItems(0)), "greater than 0"),
        (PatternJoin("join", block("x"), block("y"), (("x", "z"),), DAY), "no pattern binds variable z"),
        (
            PatternJoin("join", block("x"), block("y"), (("x", "y"),), DAY, "{$q}"),
            "no pattern binds variable q",
        ),
        (PatternJoin("join", block("x"), block("y"), (("x", "x"),), DAY), "two variables of one block"),
        (PatternJoin("join", block("x"), block("x"), (("x", "x"),), DAY), "bound in both blocks"),
    ],
)
def test_a_query_that_makes_no_sense_is_refused_and_the_others_work(join: PatternJoin, message: str) -> None:
    joins = compile_patterns([PatternQuery(5, join), same_title(DAY, 6)])
    assert message in str(joins.failures[5])
    assert [match.key for match in matches(joins, [titled(1, 1, "a"), titled(2, 2, "a")], 10)] == [6, 6]


def test_an_item_that_arrives_late_still_meets_what_is_remembered() -> None:
    joins = compile_patterns(
        [same_title(TimeSpan(timedelta(microseconds=5)))],
        bounds=JoinBounds(lateness=timedelta(microseconds=10)),
    )
    stream = [titled(1, 100, "a"), titled(2, 110, "b"), titled(3, 98, "a")]
    assert {match.items for match in matches(joins, stream, 1)} == {(1, 3), (3, 1)}


def test_an_item_that_arrives_too_late_meets_nothing_however_batches_are_cut() -> None:
    joins = compile_patterns(
        [same_title(TimeSpan(timedelta(microseconds=5)))],
        bounds=JoinBounds(lateness=timedelta(microseconds=10)),
    )
    stream = [titled(1, 100, "a"), titled(2, 116, "b"), titled(3, 98, "a")]
    for cut in (1, 2, 3):
        assert matches(joins, stream, cut) == []


def test_one_query_does_not_change_the_results_of_another() -> None:
    bounds = JoinBounds(lateness=timedelta(0))
    alone = compile_patterns([same_title(TimeSpan(timedelta(microseconds=5)))], bounds=bounds)
    other = PatternQuery(
        2, PatternJoin("join", block("x", "t", Source("T")), block("y", "t", Source("T")), (("x", "y"),), DAY)
    )
    both = compile_patterns([same_title(TimeSpan(timedelta(microseconds=5))), other], bounds=bounds)
    stream = [
        titled(1, 100, "a"),
        item(2, 200, "<t>x</t>", "source T"),
        titled(3, 101, "a"),
        titled(4, 199, "a"),
    ]
    assert matches(alone, stream, 2) == [match for match in matches(both, stream, 2) if match.key == 1]


def test_a_chain_of_joins_without_equalities_is_decided_by_times_alone() -> None:
    inner = PatternJoin("join", block("a", "y"), block("b", "x"), (), TimeSpan(timedelta(microseconds=1)))
    outer = PatternJoin("followed by", inner, block("c", "z"), (), TimeSpan(timedelta(microseconds=5)))
    joins = compile_patterns([PatternQuery(1, outer)])
    stream = [item(1, 4, "<x/>", "source S"), item(2, 5, "<y/>", "source S"), item(3, 7, "<z/>", "source S")]
    for cut in (1, 2, 3):
        assert [match.items for match in matches(joins, stream, cut)] == [(2, 1, 3)]


def test_a_document_that_no_pattern_matches_costs_nothing_and_breaks_nothing() -> None:
    joins = compile_patterns([same_title(DAY)])
    assert (
        matches(joins, [item(1, 1, "<other/>", "source S"), item(2, 2, "<a/>", "source elsewhere")], 1) == []
    )


def test_each_query_alone_finds_what_all_find_together() -> None:
    import numpy as np

    from feedweir.join.patterns.binding_rows import intake
    from feedweir.match.trees import compile_trees

    joins = compile_patterns([same_title(TimeSpan(timedelta(microseconds=n)), n) for n in (1, 3, 9)])
    stream = [titled(place, place // 2, f"t{place % 4}") for place in range(30)]
    trees = compile_trees(joins.patterns)
    batch = batch_of(stream, trees)
    patterns = {pattern: place for place, pattern in enumerate(joins.patterns)}
    numbers = np.arange(30, dtype=np.int64)
    rows, _ = intake(
        joins.levels[0],
        patterns,
        batch.witnesses,
        {"source S": np.ones(30, np.bool_)},
        numbers,
        batch.time_us,
    )
    documents = alone_documents(rows, numbers, batch.time_us, running_clock(batch.time_us, 0))
    found = run_alone(alone_queries(joins.levels[0]), documents, AloneHistory(), joins.bounds.lateness_us)
    keys = [result.key for result in joins.levels[0].results]
    expected = {(match.key, *match.items) for match in matches(joins, stream, 7)}
    assert {(keys[result], left, right) for result, left, right in found} == expected
    assert expected
