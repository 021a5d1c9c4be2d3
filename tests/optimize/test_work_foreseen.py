"""What an item makes the tree and the index do, foreseen in numbers, against walking every possible item."""

from __future__ import annotations

from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from feedweir.optimize.filter_plans.factored_filters import find_candidates, tree_of, vcb
from feedweir.optimize.filter_plans.filter_tree import ROOT, FilterTree, assemble
from feedweir.optimize.filter_plans.numbered_clauses import (
    CodedPredicates,
    conjunctions,
    flat,
    no_numbers,
    no_runs,
)
from feedweir.optimize.filter_plans.rarest_first import MAX_DEPTH, rarest_first
from feedweir.optimize.filter_plans.work_model import (
    PRICES,
    Clauses,
    Work,
    cheapest,
    seconds_of,
    work_of_tree,
)

CLAUSES = 5
runs = st.lists(
    st.lists(st.integers(0, CLAUSES - 1), max_size=4, unique=True).map(tuple), min_size=1, max_size=8
)
shares = st.lists(st.floats(0.05, 0.95), min_size=CLAUSES, max_size=CLAUSES)


def worlds(known: list[float]) -> list[tuple[tuple[bool, ...], float]]:
    """Every item as the clauses that it satisfies, with the chance of it."""
    found = []
    for world in product((False, True), repeat=len(known)):
        chance = np.prod([share if holds else 1 - share for share, holds in zip(known, world, strict=True)])
        found.append((world, float(chance)))
    return found


@given(runs, shares)
@settings(max_examples=100, deadline=None)
def test_a_tree_costs_what_walking_it_for_every_item_costs(
    predicates: list[tuple[int, ...]], known: list[float]
) -> None:
    tree = vcb(conjunctions(predicates, known))
    asked = 0.0
    for world, chance in worlds(known):
        holds = [all(world[clause] for clause in tree.run(node)) for node in range(tree.count)]
        asked += chance * sum(holds[tree.parent[node]] for node in range(1, tree.count))
        for predicate, node in zip(predicates, tree.node_of, strict=True):
            assert holds[node] == all(world[clause] for clause in predicate)
    assert tree.cost == pytest.approx(asked)
    assert tree.naive_cost == len(predicates)


@given(runs, shares)
@settings(max_examples=100, deadline=None)
def test_the_index_does_what_walking_its_paths_for_every_item_does(
    predicates: list[tuple[int, ...]], known: list[float]
) -> None:
    coded = conjunctions(predicates, known)
    laid = rarest_first(coded, np.ones(CLAUSES, np.bool_), origin_share=0.5)
    matches = sum(
        chance * sum(all(world[clause] for clause in predicate) for predicate in predicates)
        for world, chance in worlds(known)
    )
    assert laid.matches == pytest.approx(matches)
    assert laid.end_share.tolist() == pytest.approx(
        [float(np.prod([known[clause] for clause in predicate])) for predicate in predicates]
    )
    assert laid.tests <= sum(map(len, predicates)) + 1e-9


@given(runs, shares, st.sets(st.integers(0, CLAUSES - 1)))
@settings(max_examples=100, deadline=None)
def test_what_is_no_atom_is_verified_at_the_end_of_a_path(
    predicates: list[tuple[int, ...]], known: list[float], others: set[int]
) -> None:
    is_atom = np.array([clause not in others for clause in range(CLAUSES)])
    laid = rarest_first(conjunctions(predicates, known), is_atom, origin_share=0.5)
    rests = [
        laid.rest[start:end].tolist()
        for start, end in zip(laid.rest_starts, laid.rest_starts[1:], strict=False)
    ]
    assert rests == [sorted(clause for clause in predicate if clause in others) for predicate in predicates]
    every = rarest_first(conjunctions(predicates, known), np.ones(CLAUSES, np.bool_), origin_share=0.5)
    assert laid.matches == pytest.approx(every.matches)


def test_a_long_conjunction_is_tested_atom_by_atom_only_so_far() -> None:
    many = 30
    coded = conjunctions([tuple(range(many))], [0.9] * many)
    laid = rarest_first(coded, np.ones(many, np.bool_), origin_share=1.0)
    assert laid.end_share[0] == pytest.approx(0.9**MAX_DEPTH)


def clauses_of(known: list[float]) -> Clauses:
    """Each clause is an atom of its own."""
    return Clauses(
        np.arange(len(known) + 1, dtype=np.int64),
        2 * np.arange(len(known), dtype=np.int32),
        np.array(known),
        np.ones(len(known), np.bool_),
        np.array(known),
    )


@given(runs, shares)
@settings(max_examples=80, deadline=None)
def test_the_work_of_a_tree_has_its_matches_and_as_many_tests_as_nodes_or_fewer(
    predicates: list[tuple[int, ...]], known: list[float]
) -> None:
    tree = vcb(conjunctions(predicates, known))
    for is_indexed in (False, True):
        work = work_of_tree(tree, clauses_of(known), is_indexed=is_indexed)
        expected = sum(np.prod([known[clause] for clause in predicate]) for predicate in predicates)
        assert work.matches == pytest.approx(expected)
        assert work.items == 1.0
        assert work.atoms == pytest.approx(sum(known))
        assert work.programs == pytest.approx(0.0)
        assert work.tests <= sum(len(tree.run(node)) for node in range(tree.count)) + 1e-9


def test_a_clause_reads_its_literals_until_one_holds() -> None:
    clauses = Clauses(
        np.array([0, 2, 3], np.int64),
        np.array([0, 3, 4], np.int32),
        np.array([0.5, 0.1, 0.2]),
        np.array([True, True, False]),
        np.array([0.9, 0.2]),
    )
    assert clauses.literals_read().tolist() == pytest.approx([1.5, 1.0])
    assert clauses.atoms_met().tolist() == pytest.approx([0.6, 0.2])
    assert clauses.is_bit().tolist() == [False, False]
    assert clauses.finds().tolist() == [False, False]


def test_works_add_up_and_prices_make_them_seconds() -> None:
    one, other = Work(items=1.0, tests=2.0), Work(tests=3.0, matches=1.0)
    assert one + other == Work(items=1.0, tests=5.0, matches=1.0)
    assert seconds_of(one, Work(items=10.0, tests=0.5)) == pytest.approx(11.0)
    assert seconds_of(one + other) == pytest.approx(seconds_of(one) + seconds_of(other))
    assert min(getattr(PRICES, name) for name in ("items", "tests", "programs", "matches")) > 0


def test_of_ways_the_one_that_takes_least_is_taken() -> None:
    works = {"a": Work(tests=2.0), "b": Work(programs=0.001), "c": Work(tests=1.0)}
    assert cheapest(works, Work(tests=1.0, programs=5000.0)) == "c"
    assert cheapest(works, Work(tests=1.0, programs=1.0)) == "b"


# Trees and their numbers


@given(runs, shares)
@settings(max_examples=80, deadline=None)
def test_candidates_are_predicates_and_what_subsumes_two_of_them(
    predicates: list[tuple[int, ...]], known: list[float]
) -> None:
    graph = find_candidates(conjunctions(predicates, known))
    sets = [
        frozenset(graph.clauses[start:end].tolist())
        for start, end in zip(graph.starts, graph.starts[1:], strict=False)
    ]
    wanted = [frozenset(predicate) for predicate in predicates]
    assert len(set(sets)) == len(sets)
    assert [sets[node] for node in graph.node_of] == wanted
    assert set(sets[1 : graph.terminals + 1]) == set(wanted) - {frozenset()}
    for node in range(1, graph.count):
        above = graph.above[graph.above_starts[node] : graph.above_starts[node + 1]].tolist()
        assert all(sets[one] < sets[node] for one in above if one != ROOT)
        assert graph.selectivity[node] == pytest.approx(np.prod([known[clause] for clause in sets[node]]))


@given(runs, shares)
@settings(max_examples=60, deadline=None)
def test_more_rounds_never_make_a_tree_dearer(predicates: list[tuple[int, ...]], known: list[float]) -> None:
    graph = find_candidates(conjunctions(predicates, known))
    costs = [tree_of(graph, max_rounds=rounds).cost for rounds in (0, 1, 8)]
    assert costs[1] <= costs[0] + 1e-9
    assert costs[2] <= costs[1] + 1e-9


def test_assembled_nodes_stand_level_by_level_beside_their_siblings() -> None:
    starts, clauses = flat([(), (0,), (0, 1), (2,), (0, 2)])
    parent = np.array([0, 0, 1, 0, 1], np.int32)
    tree = assemble(
        parent,
        starts,
        clauses,
        np.array([1.0, 0.5, 0.25, 0.1, 0.05]),
        np.array([2, 3, 4], np.int32),
        np.array([False, True, True, True, True]),
    )
    assert [tree.run(node) for node in range(tree.count)] == [(), (0,), (2,), (0, 1), (0, 2)]
    assert tree.parent.tolist() == [-1, 0, 0, 1, 1]
    assert tree.node_of.tolist() == [3, 2, 4]
    assert tree.cost == pytest.approx(1 + 1 + 0.5 + 0.5)


def test_children_of_the_first_parent_come_first_whatever_their_numbers() -> None:
    starts, clauses = flat([(), (0,), (1,), (1, 2), (0, 3)])
    tree = assemble(
        np.array([0, 0, 0, 2, 1], np.int32),
        starts,
        clauses,
        np.ones(5),
        np.array([3, 4], np.int32),
        np.array([False, True, True, True, True]),
    )
    assert [tree.run(node) for node in range(tree.count)] == [(), (0,), (1,), (0, 3), (1, 2)]


def test_closed_nodes_are_left_out_of_a_tree() -> None:
    starts, clauses = flat([(), (0,), (0, 1)])
    tree = assemble(
        np.array([0, 0, 0], np.int32),
        starts,
        clauses,
        np.array([1.0, 0.5, 0.25]),
        np.array([2], np.int32),
        np.array([False, False, True]),
    )
    assert [tree.run(node) for node in range(tree.count)] == [(), (0, 1)]


def test_two_nodes_that_subsume_each_other_are_no_tree() -> None:
    starts, clauses = flat([(), (0,), (1,)])
    with pytest.raises(ValueError, match="a cycle"):
        assemble(
            np.array([0, 2, 1], np.int32),
            starts,
            clauses,
            np.ones(3),
            np.array([1, 2], np.int32),
            np.array([False, True, True]),
        )


def test_no_predicates_are_a_tree_of_its_root() -> None:
    tree = vcb(conjunctions([], [0.5]))
    assert isinstance(tree, FilterTree)
    assert (tree.count, tree.cost, tree.naive_cost) == (1, 0.0, 0.0)


@given(runs)
def test_runs_lie_one_behind_the_other(some: list[tuple[int, ...]]) -> None:
    starts, values = flat(some)
    assert [tuple(values[a:b].tolist()) for a, b in pairwise(starts)] == some
    coded = conjunctions(some, [0.5] * CLAUSES)
    assert isinstance(coded, CodedPredicates)
    assert [coded.run(number) for number in range(coded.count)] == [tuple(sorted(run)) for run in some]
    assert no_runs(3).tolist() == [0, 0, 0, 0]
    assert no_numbers().size == 0
