"""Predicates in numbers: what is encoded says the same, and relations between clauses are true."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from feedweir.optimize.boolean_forms import to_cnf
from feedweir.optimize.filter_plans.live_graph import MAX_COMBINED, LiveGraph
from feedweir.optimize.filter_plans.numbered_clauses import LiteralRelations, encode, weaker_clauses
from feedweir.optimize.selectivity import cnf_share, predicate_share
from feedweir.optimize.statistics import (
    PRIOR_ITEMS,
    PRIOR_SHARE,
    SourceStatistics,
    pair_of,
    pairs_that_matter,
)
from feedweir.optimize.subsumption import clause_implies, is_never
from feedweir.plan.predicates import And, Compare, Contains, Not, Or, Predicate, Term
from tests.naive import holds
from tests.optimize import generated

NOTHING_KNOWN = SourceStatistics()


def has(text: str) -> Contains:
    return Contains(None, (Term(text),), 1)


@given(st.lists(generated.predicates(leaves=4), min_size=1, max_size=5), st.integers(0, 130))
@settings(max_examples=80, deadline=None)
def test_a_run_of_clauses_says_what_its_predicate_says(predicates: list[Predicate], start: int) -> None:
    coded, book = encode(predicates, NOTHING_KNOWN)
    assert coded.count == len(predicates)
    for number, predicate in enumerate(predicates):
        said = book.predicate_of(coded.run(number))
        for item in generated.ITEMS[start : start + 6]:
            assert holds(said, item) == holds(predicate, item)


@given(st.lists(generated.predicates(leaves=4), min_size=1, max_size=5))
@settings(max_examples=80, deadline=None)
def test_weaker_clauses_are_implied_and_shares_are_shares(predicates: list[Predicate]) -> None:
    coded, book = encode(predicates, NOTHING_KNOWN)
    for number in range(coded.selectivity.size):
        assert 0.0 <= coded.selectivity[number] <= 1.0
        for weaker in coded.weaker[coded.weaker_starts[number] : coded.weaker_starts[number + 1]]:
            assert book.clauses[number] == frozenset() or clause_implies(
                book.clause(number), book.clause(weaker)
            )


@given(st.lists(generated.predicates(leaves=4), min_size=1, max_size=4))
@settings(max_examples=60, deadline=None)
def test_numbers_do_not_depend_on_the_order_of_equal_predicates(predicates: list[Predicate]) -> None:
    coded, book = encode(predicates, NOTHING_KNOWN)
    twice, again = encode([*predicates, *predicates], NOTHING_KNOWN)
    assert again == book
    assert [twice.run(n) for n in range(twice.count)] == 2 * [coded.run(n) for n in range(coded.count)]


def test_what_can_never_hold_is_the_empty_clause() -> None:
    coded, book = encode([And((has("a"), Not(has("a"))))], NOTHING_KNOWN)
    (clause,) = coded.run(0)
    assert book.clause(clause) == frozenset()
    assert coded.selectivity[clause] == 0.0


# Literals 2n and 2n + 1 are an atom and its negation; here atom 0 implies atom 1, and 1 excludes 2.
RELATED = LiteralRelations(
    tuple(map(frozenset, [{0, 2, 5}, {1}, {2, 5}, {3, 1}, {4, 3, 1}, {5}])),
    tuple(map(frozenset, [{1, 3, 4}, {0}, {3, 4}, {2, 0}, {5, 2, 0}, {4}])),
)


def test_of_a_clause_the_weakest_literals_are_left() -> None:
    assert RELATED.weakest(frozenset({0, 2})) == {2}
    assert RELATED.weakest(frozenset({3, 4})) == {3}
    assert RELATED.weakest(frozenset({0, 1})) == {0, 1}


def test_of_clauses_the_strongest_are_left() -> None:
    assert RELATED.strongest([frozenset({2}), frozenset({0}), frozenset({0, 4})]) == [frozenset({0})]


@pytest.mark.parametrize(
    ("clauses", "is_impossible"),
    [
        ([{0}, {3}], True),
        ([{2}, {4}], True),
        ([{0}, {4}], True),
        ([{0}, {2}], False),
        ([{2, 4}, {3}, {5}], True),
        ([{2, 4}, {3}], False),
        ([set()], True),
        ([], False),
    ],
)
def test_units_are_propagated_until_a_clause_is_empty(clauses: list[set[int]], is_impossible: bool) -> None:
    assert RELATED.is_never(list(map(frozenset, clauses))) is is_impossible


def test_one_of_equivalent_literals_stands_for_all() -> None:
    equal = LiteralRelations(
        tuple(map(frozenset, [{0, 2}, {1, 3}, {2, 0}, {3, 1}])),
        tuple(map(frozenset, [{1, 3}, {0, 2}, {3, 1}, {2, 0}])),
    )
    assert equal.lowest(2) == equal.lowest(0) == 0
    assert equal.weakest(frozenset({2})) == {0}


def test_the_weaker_clauses_that_are_kept_are_the_most_selective() -> None:
    starts, weaker = weaker_clauses(
        [frozenset({0}), frozenset({2}), frozenset({5})],
        RELATED.implied,
        np.array([0.1, 0.5, 0.3]),
    )
    assert weaker[starts[0] : starts[1]].tolist() == [2, 1]


# What is believed of sources


@given(st.floats(0, 1e6), st.data())
def test_a_share_lies_between_what_was_assumed_and_what_was_counted(
    items: float, data: st.DataObject
) -> None:
    seen = data.draw(st.floats(0, items))
    share = SourceStatistics(items=items, atoms={has("a"): seen}).share_of(has("a"))
    counted = seen / items if items else PRIOR_SHARE
    assert min(counted, PRIOR_SHARE) - 1e-9 <= share <= max(counted, PRIOR_SHARE) + 1e-9
    assert share == pytest.approx((seen + PRIOR_ITEMS * PRIOR_SHARE) / (items + PRIOR_ITEMS))


def test_an_atom_that_nobody_watched_is_assumed_to_be_rare() -> None:
    assert NOTHING_KNOWN.share_of(has("a")) == PRIOR_SHARE
    assert NOTHING_KNOWN.joint_share_of(has("a"), has("b")) is None
    assert NOTHING_KNOWN.rate == 0.0


@given(generated.atoms, generated.atoms)
def test_a_pair_has_one_order(one: Predicate, other: Predicate) -> None:
    assert pair_of(one, other) == pair_of(other, one)  # type: ignore[arg-type]


def test_the_pairs_that_are_watched_are_those_used_often_of_which_both_are_frequent() -> None:
    known = SourceStatistics(items=1e6, atoms={has("a"): 5e5, has("b"): 4e5, has("c"): 10.0})
    often, seldom = pair_of(has("a"), has("b")), pair_of(has("a"), has("c"))
    assert pairs_that_matter({often: 2, seldom: 50}, known, most=1) == (often,)
    assert pairs_that_matter({often: 2, seldom: 50}, known, most=5) == (often, seldom)
    assert pairs_that_matter({}, known, most=5) == ()


@given(generated.predicates(leaves=5))
@settings(max_examples=100, deadline=None)
def test_a_predicate_that_never_holds_is_not_expected_and_all_others_are_shares(predicate: Predicate) -> None:
    share = predicate_share(predicate, NOTHING_KNOWN)
    assert 0.0 <= share <= 1.0
    assert share == cnf_share(to_cnf(predicate), NOTHING_KNOWN)
    if to_cnf(predicate) == frozenset({frozenset()}):
        assert share == 0.0


# The live graph


@given(st.lists(generated.predicates(leaves=4), min_size=1, max_size=6))
@settings(max_examples=60, deadline=None)
def test_what_stands_above_a_record_is_implied_by_it_and_no_rarer(predicates: list[Predicate]) -> None:
    graph = LiveGraph(NOTHING_KNOWN)
    for predicate in predicates:
        record = graph.take_in(graph.registry.run_of(predicate))
        record.predicates += 1
        graph.enlist(record)
    for run, record in graph.records.items():
        for above in graph.above(record):
            assert set(above.run) <= graph.registry.closure_of(run)
            assert above.selectivity >= record.selectivity - 1e-12
            if record.predicates:
                assert run in above.below


@given(st.lists(generated.predicates(leaves=3), min_size=1, max_size=6))
@settings(max_examples=60, deadline=None)
def test_a_graph_forgets_what_nobody_asks_any_more(predicates: list[Predicate]) -> None:
    graph = LiveGraph(NOTHING_KNOWN)
    runs = []
    for predicate in predicates:
        run = graph.registry.run_of(predicate)
        record = graph.take_in(run)
        record.predicates += 1
        graph.enlist(record)
        runs.append(run)
    for run in runs:
        graph.records[run].predicates -= 1
        graph.forget(run)
    assert all(record.below or record.is_open for record in graph.records.values())


def test_all_parts_of_a_short_predicate_are_recorded_and_few_of_a_long_one() -> None:
    graph = LiveGraph(NOTHING_KNOWN)
    assert len(list(graph.parts_of(tuple(range(3))))) == 6
    assert len(list(graph.parts_of(tuple(range(MAX_COMBINED))))) == 2**MAX_COMBINED - 2
    long = tuple(range(10))
    assert {len(part) for part in graph.parts_of(long)} == {1, 2}


def test_new_statistics_are_believed_by_every_record() -> None:
    graph = LiveGraph(NOTHING_KNOWN)
    both = graph.take_in(graph.registry.run_of(And((has("a"), has("b")))))
    before = both.selectivity
    assert before == pytest.approx(PRIOR_SHARE**2)
    graph.reweigh(SourceStatistics(items=1e9, atoms={has("a"): 5e8, has("b"): 5e8}))
    assert both.selectivity == pytest.approx(0.25)
    assert graph.share_of(()) == graph.share_of(None) == 1.0


def test_a_disjunction_is_as_frequent_as_missing_all_of_it_is_rare() -> None:
    known = SourceStatistics(items=1e9, atoms={has("a"): 5e8, has("b"): 2e8})
    assert predicate_share(Or((has("a"), has("b"))), known) == pytest.approx(1 - 0.5 * 0.8, rel=1e-3)
    unequal = Compare("title", "!=", "x")
    assert predicate_share(unequal, known) == pytest.approx(1 - PRIOR_SHARE)
    assert not is_never(to_cnf(unequal))
