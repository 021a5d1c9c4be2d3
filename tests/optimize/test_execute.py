"""Factored or not, indexed or not: the kernel answers as the predicates do, and asks as often as was predicted."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from feedweir.optimize.coded import conjunctions
from feedweir.optimize.coding import encode
from feedweir.optimize.execute import (
    bitsets,
    literals_of,
    make_executable,
    matches,
    run,
    unfactored,
    words_as_clauses,
)
from feedweir.optimize.statistics import SourceStatistics
from feedweir.optimize.timing import Work, calibrate, choose, error_of, seconds_of, work_of
from feedweir.optimize.vcb import vcb
from feedweir.plan.predicates import And, AtLeast, Contains, Not, Or, Predicate
from tests.naive import holds
from tests.optimize import generated


@settings(max_examples=60, deadline=None)
@given(st.lists(generated.predicates(generated.words_only, leaves=5), min_size=1, max_size=8))
def test_every_way_of_execution_gives_the_answers_of_the_predicates(predicates: list[Predicate]) -> None:
    coded, book = encode(predicates, SourceStatistics())
    # Unexpanded parts have no bit of their own meaning here: they are satisfied like atoms.
    atoms = len(book.literals) // 2
    some = generated.ITEMS[:20]
    rows = [[n for n in range(atoms) if holds(book.literals[2 * n], item)] for item in some]
    expected = {
        (item, number)
        for item in range(len(some))
        for number, predicate in enumerate(predicates)
        if holds(predicate, some[item])
    }
    for tree in (unfactored(coded), vcb(coded)):
        for is_indexed in (False, True):
            plan = make_executable(
                tree, literals_of(book.clauses), coded.selectivity, atoms=atoms, is_indexed=is_indexed
            )
            assert matches(plan, bitsets(rows, atoms)) == expected


def words_and_items(predicates: int, items: int) -> tuple:
    random = np.random.default_rng(4)
    share = 0.3 / np.arange(1, 41) ** 0.8
    runs = [
        tuple(random.choice(40, size=random.integers(1, 4), replace=False, p=share / share.sum()))
        for _ in range(predicates)
    ]
    rows = [np.flatnonzero(row).tolist() for row in random.random((items, 40)) < share]
    return conjunctions(runs, share), bitsets(rows, 40)


@pytest.mark.parametrize("is_factored", [False, True])
@pytest.mark.parametrize("is_indexed", [False, True])
def test_the_expected_work_is_what_happens(is_factored: bool, is_indexed: bool) -> None:
    coded, bits = words_and_items(300, 4000)
    tree = vcb(coded) if is_factored else unfactored(coded)
    plan = make_executable(tree, words_as_clauses(40), coded.selectivity, atoms=40, is_indexed=is_indexed)
    work = work_of(plan, coded.selectivity, coded.selectivity)
    items, _, asked = run(plan, bits)
    assert asked / 4000 == pytest.approx(work.visits + work.jumps, rel=0.05)
    assert items.size / 4000 == pytest.approx(work.matches, rel=0.1)


def test_more_matches_than_room_are_all_reported() -> None:
    coded = conjunctions([(0,)] * 70, [0.5])
    plan = make_executable(vcb(coded), words_as_clauses(1), coded.selectivity, atoms=1, is_indexed=True)
    items, predicates, _ = run(plan, bitsets([[0]] * 1000, 1))
    assert items.size == 70_000
    assert sorted(set(predicates.tolist())) == list(range(70))


def test_prices_are_recovered_and_the_cheaper_plan_is_chosen() -> None:
    random = np.random.default_rng(1)
    true = Work(1e-7, 2e-9, 8e-9, 1e-9, 5e-9, 3e-9, 4e-9)
    works = [Work(1.0, *(random.random(6) * 1000).tolist()) for _ in range(30)]
    found = calibrate([(work, seconds_of(work, true)) for work in works])
    assert all(error_of(seconds_of(w, found), seconds_of(w, true)) < 1.05 for w in works)
    coded, _ = words_and_items(200, 1)
    plans = {
        name: make_executable(tree, words_as_clauses(40), coded.selectivity, atoms=40, is_indexed=False)
        for name, tree in (("factored", vcb(coded)), ("naive", unfactored(coded)))
    }
    expected = {name: work_of(plan, coded.selectivity, coded.selectivity) for name, plan in plans.items()}
    assert choose(plans, expected, true) == "factored"


def test_negations_and_counts_are_left_out_of_the_index_and_still_found() -> None:
    predicates = [
        Not(Contains(None, (generated.Term("a"),), 1)),
        AtLeast(2, tuple(Contains(None, (generated.Term(word),), 1) for word in ("a", "b", "c"))),
        And((Contains(None, (generated.Term("b"),), 1), Or((Contains(None, (generated.Term("c"),), 1),)))),
    ]
    coded, book = encode(predicates, SourceStatistics())
    plan = make_executable(vcb(coded), literals_of(book.clauses), coded.selectivity, atoms=3, is_indexed=True)
    assert plan.scanned.size >= 1
    names = {str(book.literals[2 * n].terms[0].text): n for n in range(3)}
    found = matches(plan, bitsets([[names["b"], names["c"]], [names["a"]]], 3))
    assert found == {(0, 0), (0, 1), (0, 2)}
