"""The cost model in seconds: prices are learnt from measurements, and the cheapest way is chosen by them."""

from __future__ import annotations

from dataclasses import astuple, replace

import numpy as np
import pytest
from benchmarks._calibration import calibrate, clauses_as_words, error_of

from feedweir.optimize.filter_plans.factored_filters import vcb
from feedweir.optimize.filter_plans.numbered_clauses import conjunctions
from feedweir.optimize.filter_plans.rarest_first import rarest_first
from feedweir.optimize.filter_plans.work_model import (
    Work,
    cheapest,
    seconds_of,
    work_of_index,
    work_of_tree,
)
from feedweir.published.factorisation import unfactored

SHARE = np.array([0.5, 0.2, 0.1, 0.05])


def test_prices_are_learnt_from_what_was_measured() -> None:
    random = np.random.default_rng(2)
    prices = Work(*(10.0 ** -random.uniform(7, 9, 9)))
    works = [Work(*random.uniform(0, 100, 9)) for _ in range(60)]
    learnt = calibrate([(work, seconds_of(work, prices)) for work in works])
    for work in works:
        assert seconds_of(work, learnt) == pytest.approx(seconds_of(work, prices), rel=0.02)
    assert min(astuple(learnt)) >= 0.0


def test_an_error_is_a_factor_whichever_way_it_goes() -> None:
    assert error_of(2.0, 1.0) == error_of(1.0, 2.0) == 2.0


def test_the_cheapest_way_is_chosen_and_the_first_of_equal_ones() -> None:
    prices = Work(tests=1.0)
    assert cheapest({"tree": Work(tests=3.0), "index": Work(tests=2.0)}, prices) == "index"
    assert cheapest({"tree": Work(tests=2.0), "index": Work(tests=2.0)}, prices) == "index"


def test_a_tree_tests_a_node_when_its_parent_holds() -> None:
    coded = conjunctions([(0, 1), (0, 2), (0, 3)], SHARE)
    work = work_of_tree(vcb(coded), clauses_as_words(SHARE), is_indexed=False)
    assert work.tests == pytest.approx(1 + 3 * 0.5)
    assert work.programs == 0.0
    assert work.matches == pytest.approx(0.5 * (0.2 + 0.1 + 0.05))
    indexed = work_of_tree(vcb(coded), clauses_as_words(SHARE), is_indexed=True)
    assert indexed.tests == pytest.approx(0.5 + 3 * 0.5)
    assert indexed.slots == pytest.approx(SHARE.sum())


def test_conjunctions_by_themselves_are_asked_atom_by_atom_the_rarest_first() -> None:
    coded = conjunctions([(0, 1), (0, 2)], SHARE)
    work = work_of_tree(unfactored(coded), clauses_as_words(SHARE), is_indexed=False)
    assert work.tests == pytest.approx((1 + 0.2) + (1 + 0.1))
    assert work.blocks == pytest.approx(1 + 0.2 + 0.1)
    assert work.programs == 0.0


def test_what_is_no_atom_is_a_program_behind_the_atoms() -> None:
    words = clauses_as_words(SHARE)
    clauses = replace(words, is_listed=np.array([True, True, False, True]))
    coded = conjunctions([(1, 2)], SHARE)
    work = work_of_tree(unfactored(coded), clauses, is_indexed=False)
    assert (work.tests, work.programs, work.literals) == (1.0, pytest.approx(0.2), pytest.approx(0.2))
    assert work.blocks == pytest.approx(1 + 0.2)


def test_the_index_files_a_conjunction_under_its_rarest_atom() -> None:
    coded = conjunctions([(0, 3), (1, 3), (2,)], SHARE)
    laid = rarest_first(coded, np.ones(4, np.bool_), origin_share=0.9)
    # under 3: 0 and 1, and below each the source, which refuses little; under 2: the source
    assert laid.matches == pytest.approx(0.05 * 0.5 + 0.05 * 0.2 + 0.1)
    assert laid.tests == pytest.approx(0.05 * 2 + 0.05 * (0.5 + 0.2) + 0.1)


def test_a_source_that_is_rarer_than_any_word_is_what_its_queries_are_found_by() -> None:
    coded = conjunctions([(0, 3), (1, 3), (2,)], SHARE)
    work = work_of_index(coded, clauses_as_words(SHARE), origin_share=0.001)
    # the source's block has two children: 3, which two share, and 2
    assert work.tests == pytest.approx(2 + 2 * 0.05)
    assert work.matches == pytest.approx(0.05 * 0.5 + 0.05 * 0.2 + 0.1)
