"""Every way of factorising gives the same answers; none costs more than asking every predicate by itself."""

from __future__ import annotations

import os
import subprocess
import sys
from itertools import chain, combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from feedweir.items.model import Item
from feedweir.optimize.filter_plans.factored_filters import FactoredFilters, factorise, vcb
from feedweir.optimize.filter_plans.filter_tree import ROOT, FilterTree
from feedweir.optimize.filter_plans.numbered_clauses import CodedPredicates, conjunctions
from feedweir.optimize.statistics import SourceStatistics
from feedweir.plan.predicates import And, Compare, Contains, Not, Or, Predicate, Term
from feedweir.published import factorisation
from feedweir.published.factorisation import FACTORISERS, exact, vca
from feedweir.published.factorisation.graph import SubsumptionGraph, build_graph
from feedweir.published.factorisation.vca import benefit
from tests.naive import holds
from tests.optimize import generated

NOTHING_KNOWN = SourceStatistics()


def has(text: str, attribute: str | None = None) -> Contains:
    return Contains(attribute, (Term(text),), 1)


def answers(factored: FactoredFilters, item: Item) -> list[bool]:
    """A node is asked what is left to ask, and only when its parent holds."""
    is_true = [True] * factored.tree.count
    for node in range(1, factored.tree.count):
        is_true[node] = is_true[factored.tree.parent[node]] and holds(factored.residual_of(node), item)
    return [is_true[node] for node in factored.tree.node_of]


def check_form(tree: FilterTree) -> None:
    """Parents stand before their children, siblings side by side, and leaves are predicates."""
    assert tree.parent[0] == -1
    assert list(tree.parent[1:]) == sorted(tree.parent[1:])
    assert all(tree.parent[node] < node for node in range(1, tree.count))
    inner = set(tree.parent[1:].tolist())
    assert all(node in inner or node in tree.node_of for node in range(1, tree.count))
    for node in range(1, tree.count):
        assert tree.selectivity[node] <= tree.selectivity[tree.parent[node]] + 1e-9


@pytest.mark.parametrize("algorithm", sorted(FACTORISERS))
def test_a_factored_plan_answers_as_the_predicates_do(algorithm: str) -> None:
    @settings(max_examples=60, deadline=None)
    @given(st.lists(generated.predicates(leaves=4), max_size=5), st.integers(0, 100))
    def check(predicates: list[Predicate], start: int) -> None:
        factored = factorisation.factorise(predicates, NOTHING_KNOWN, algorithm)
        check_form(factored.tree)
        assert factored.tree.cost <= len(predicates) + 1e-9
        for item in generated.ITEMS[start : start + 8]:
            assert answers(factored, item) == [holds(predicate, item) for predicate in predicates]

    check()


runs = st.lists(st.lists(st.integers(0, 7), max_size=4).map(tuple), min_size=1, max_size=12)
shares = st.lists(st.floats(0.0, 1.0), min_size=8, max_size=8)


def with_weaker(coded: CodedPredicates, weaker: dict[int, list[int]]) -> CodedPredicates:
    lists = [weaker.get(clause, []) for clause in range(coded.selectivity.size)]
    starts = np.concatenate(([0], np.cumsum([len(each) for each in lists]))).astype(np.int64)
    flat = np.array(list(chain.from_iterable(lists)), np.int32)
    return CodedPredicates(coded.starts, coded.clauses, coded.selectivity, starts, flat)


@settings(max_examples=150, deadline=None)
@given(runs, shares)
def test_vcb_without_improvement_is_vca(predicates: list[tuple[int, ...]], known: list[float]) -> None:
    coded = conjunctions(predicates, known)
    one, other = vca(coded), vcb(coded, max_rounds=0)
    assert {(one.run(n), one.run(one.parent[n])) for n in range(1, one.count)} == {
        (other.run(n), other.run(other.parent[n])) for n in range(1, other.count)
    }


@settings(max_examples=150, deadline=None)
@given(runs, shares)
def test_no_plan_costs_more_than_the_naive_one_or_less_than_the_optimum(
    predicates: list[tuple[int, ...]], known: list[float]
) -> None:
    coded = conjunctions(predicates, known)
    least = exact(coded).cost
    for make in FACTORISERS.values():
        tree = make(coded)
        assert least - 1e-6 <= tree.cost <= tree.naive_cost + 1e-9
    assert vcb(coded).cost <= vcb(coded, max_rounds=0).cost + 1e-9


def cheapest(graph: SubsumptionGraph) -> float:
    """The optimum by trying every set of candidates."""
    optional = [node for node in range(1, graph.count) if node not in graph.terminals]
    subsets = chain.from_iterable(combinations(optional, size) for size in range(len(optional) + 1))

    def cost(chosen: tuple[int, ...]) -> float:
        opened = graph.terminals | set(chosen)
        return sum(min((graph.selectivity[u] for u in graph.above[v] & opened), default=1.0) for v in opened)

    return min(cost(chosen) for chosen in subsets)


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.lists(st.integers(0, 4), min_size=1, max_size=3).map(tuple), min_size=1, max_size=4), shares
)
def test_the_exact_solver_finds_the_optimum(predicates: list[tuple[int, ...]], known: list[float]) -> None:
    coded = conjunctions(predicates, known)
    graph = build_graph(coded)
    if graph.count - len(graph.terminals) <= 12:
        assert exact(coded).cost == pytest.approx(cheapest(graph), abs=1e-6)


def test_the_figure_of_the_three_filters_shares_the_common_atom() -> None:
    a, b, c, d = range(4)
    coded = conjunctions([(a, b), (a, c), (a, c, d)], [0.1, 0.2, 0.3, 0.4])
    for make in FACTORISERS.values():
        tree = make(coded)
        edges = {(tree.run(tree.parent[node]), tree.run(node)) for node in range(1, tree.count)}
        assert edges == {((), (a,)), ((a,), (a, b)), ((a,), (a, c)), ((a, c), (a, c, d))}
        assert tree.cost == pytest.approx(1 + 0.1 + 0.1 + 0.03)


def test_a_weaker_clause_is_a_parent_for_stronger_ones() -> None:
    """0 and 1 both imply 2, which is rare enough to be asked first."""
    coded = with_weaker(conjunctions([(0,), (1,), (2,)], [0.05, 0.06, 0.1]), {0: [2], 1: [2]})
    for name, make in FACTORISERS.items():
        tree = make(coded)
        assert [tree.run(node) for node in tree.parent[tree.node_of]] == [(2,), (2,), ()], name


def test_equal_and_equivalent_predicates_are_one_node() -> None:
    same = [
        And((has("a"), has("b"))),
        And((has("B"), has("a"))),
        And((has("a"), has("b"), Or((has("a"), has("z"))))),
    ]
    tree = factorise(same, NOTHING_KNOWN).tree
    assert len(set(tree.node_of.tolist())) == 1
    assert tree.cost == 1.0


def test_true_is_the_root_and_never_is_a_filter_that_fails() -> None:
    always, never = Or((has("a"), Not(has("a")))), And((has("a"), Not(has("a"))))
    factored = factorise([always, never], NOTHING_KNOWN)
    assert factored.tree.node_of[0] == ROOT
    assert all(answers(factored, item) == [True, False] for item in generated.ITEMS[:5])


def test_ranges_of_one_attribute_form_a_chain() -> None:
    ranges = [Compare("revision", ">", float(n)) for n in range(5)]
    known = SourceStatistics(items=100.0, atoms={atom: 50.0 - 10 * n for n, atom in enumerate(ranges)})
    tree = factorise(ranges, known).tree
    assert tree.parent[tree.node_of].tolist() == [0, *tree.node_of[:-1].tolist()]


def test_known_pairs_decide_which_conjunction_is_shared() -> None:
    """`a` and `b` always come together, so asking for both first saves nothing; `a` and `c` never do."""
    predicates = [And((has("a"), has("b"), has(x))) for x in "xyz"] + [
        And((has("a"), has("c"), has(x))) for x in "uvw"
    ]
    counts = {has(x): 20.0 for x in "abcxyzuvw"}
    pairs = {(has("a"), has("b")): 20.0, (has("a"), has("c")): 0.0}
    factored = factorise(predicates, SourceStatistics(items=100.0, atoms=counts, pairs=pairs))
    inner = {factored.tree.run(node) for node in factored.tree.parent[factored.tree.node_of]}
    said = {factored.book.predicate_of(run) for run in inner}
    assert And((has("a"), has("c"))) in said or And((has("c"), has("a"))) in said


def test_benefit_is_the_difference_of_the_costs() -> None:
    assert benefit(3, 0.1, 1.0) == pytest.approx((3 * 1.0) - (1.0 + 3 * 0.1))


PRINT_A_PLAN = """
from tests.optimize.test_factorise import NOTHING_KNOWN, factorise
from tests.optimize.plan_text import read_predicate
texts = ["(a and b) or c", "c and b", "b", "least(2, a, b, c, d)", "not a or revision > 2", "revision > 1 and title.b"]
factored = factorise([read_predicate(text) for text in texts], NOTHING_KNOWN)
print(factored.tree.parent.tolist(), factored.tree.clauses.tolist(), factored.book.literals)
"""


def test_plans_do_not_depend_on_the_seed_of_hashes() -> None:
    printed = {
        subprocess.run(
            [sys.executable, "-c", PRINT_A_PLAN],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
            text=True,
        ).stdout
        for seed in ("0", "1")
    }
    assert len(printed) == 1
