"""A plan changed in place answers as a rebuilt one, never costs more than the naive one, and knows when it is stale."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from feedweir.optimize.filter_plans.drift import (
    Drift,
    InForce,
    ReplanPolicy,
    cost_in_force,
    drift_of,
    in_force,
    reason_to_wait,
)
from feedweir.optimize.filter_plans.live_plan import LivePlan
from feedweir.optimize.statistics import SourceStatistics
from feedweir.plan.predicates import And, Compare, Contains, Or, Predicate, Term
from tests.naive import holds
from tests.optimize import generated
from tests.optimize.test_factorise import answers, check_form

WORDS = [Contains(None, (Term(f"w{number}"),), 1) for number in range(60)]


def known(order: list[int], *, top: float = 0.15) -> SourceStatistics:
    """Words whose share falls with their place in `order`."""
    shares = {WORDS[number]: 1_000 * top / (place + 1) ** 0.8 for place, number in enumerate(order)}
    return SourceStatistics(items=1_000.0, seconds=1_000.0, atoms=shares)


def drawn(random: Random, order: list[int], least: int = 1) -> Predicate:
    weights = [1 / (place + 1) ** 0.8 for place in range(len(order))]
    chosen = {WORDS[number] for number in random.choices(order, weights, k=random.randint(least, 3))}
    return And(tuple(sorted(chosen, key=repr)))


changes = st.lists(
    st.tuples(
        st.sampled_from(("add", "add", "alter", "drop", "reweigh", "improve")),
        st.integers(0, 6),
        generated.predicates(leaves=4),
    ),
    max_size=14,
)


@settings(max_examples=80, deadline=None)
@given(changes, st.integers(0, 100))
def test_a_plan_changed_in_place_answers_as_a_rebuilt_one(steps, start: int) -> None:
    plan = LivePlan(SourceStatistics())
    for kind, key, predicate in steps:
        if kind == "reweigh":
            atoms = dict.fromkeys(plan.graph.registry.atoms, 10.0 * (key + 1))
            plan.reweigh(SourceStatistics(items=100.0, atoms=atoms))
        elif kind == "improve":
            before = plan.cost
            plan.improve()
            assert plan.cost <= before + 1e-9
        elif kind == "drop":
            plan.drop(key)
        else:
            getattr(plan, kind)(key, predicate)
        assert plan.cost <= plan.naive_cost + 1e-9
    rebuilt = plan.replanned()
    for one in (plan, rebuilt):
        value = one.snapshot()
        check_form(value.tree)
        assert value.tree.cost == pytest.approx(one.cost, abs=1e-9)
        for item in generated.ITEMS[start : start + 6]:
            assert answers(value, item) == [holds(predicate, item) for predicate in one.predicates.values()]


def test_dropping_everything_leaves_nothing_behind() -> None:
    random = Random(1)
    order = list(range(60))
    plan = LivePlan(known(order))
    for key in range(100):
        plan.add(key, drawn(random, order))
    for key in random.sample(range(100), 100):
        plan.drop(key)
        plan.drop(key)
    assert plan.graph.records == {}
    assert plan.root_children == set()
    assert plan.cost == pytest.approx(0.0, abs=1e-9)


def test_common_parts_are_opened_and_closed_again() -> None:
    plan = LivePlan(known(list(range(60))))
    plan.add("x", And((WORDS[0], WORDS[1])))
    assert plan.cost == 1.0
    plan.add("y", And((WORDS[0], WORDS[2])))
    plan.add("z", And((WORDS[0], WORDS[3])))
    shared = plan.cost
    assert shared == pytest.approx(1 + 3 * plan.graph.known.share_of(WORDS[0]))
    plan.drop("y")
    plan.drop("z")
    assert plan.cost == 1.0


def test_a_weaker_predicate_that_comes_late_becomes_the_parent() -> None:
    plan = LivePlan(SourceStatistics())
    plan.add("high", Compare("revision", ">", 5.0))
    plan.add("higher", Compare("revision", ">", 7.0))
    plan.add("low", Compare("revision", ">", 3.0))
    tree = plan.snapshot().tree
    low = tree.node_of[2]
    assert tree.parent[tree.node_of].tolist().count(0) == 1
    assert tree.parent[low] == 0


def test_a_new_plan_leaves_the_old_one_as_it_was() -> None:
    random = Random(2)
    order = list(range(60))
    plan = LivePlan(known(order))
    for key in range(60):
        plan.add(key, drawn(random, order, 2))
    before = plan.snapshot().tree.parent.tolist()
    fresh = plan.replanned()
    fresh.drop(0)
    assert plan.snapshot().tree.parent.tolist() == before
    assert fresh.changes == 1


@pytest.mark.parametrize("least", [1, 2])
def test_the_estimate_of_a_fresh_plan_follows_its_true_cost(least: int) -> None:
    """Through changed predicates and changed habits of the source; conjunctions only are the harder case."""
    random = Random(3)
    order = list(range(60))
    plan = LivePlan(known(order))
    for key in range(250):
        plan.add(key, drawn(random, order, least))
    plan = plan.replanned()
    kept = in_force(plan)
    assert drift_of(plan, kept).excess == pytest.approx(0.0, abs=0.01)
    for step in range(3):
        order = order[9:] + order[:9]
        plan.reweigh(known(order, top=0.1 + 0.05 * step))
        for _ in range(80):
            plan.alter(random.randrange(250), drawn(random, order, least))
        estimate = drift_of(plan, kept)
        assert estimate.fresh_cost == pytest.approx(plan.replanned().cost, rel=0.05)
        assert estimate.excess > 0.1


def test_what_is_in_force_is_weighed_by_what_is_believed_now() -> None:
    a, b, c = WORDS[:3]
    plan = LivePlan(SourceStatistics(items=100.0, atoms={a: 10.0, b: 50.0, c: 50.0}))
    for key, other in enumerate((b, c)):
        plan.add(key, And((a, other)))
    plan.add(2, And((a, b, c)))
    kept = in_force(plan)
    assert cost_in_force(plan, kept) == pytest.approx(plan.cost)
    plan.reweigh(SourceStatistics(items=100.0, atoms={a: 90.0, b: 5.0, c: 5.0}))
    share = plan.graph.known.share_of
    assert cost_in_force(plan, kept) > 1 + 2 * share(a)
    assert drift_of(plan, kept).fresh_cost < cost_in_force(plan, kept)
    before = cost_in_force(plan, kept)
    plan.add(3, WORDS[7])
    assert cost_in_force(plan, kept) == pytest.approx(before + 1)


def test_looking_everywhere_brings_a_changed_plan_close_to_a_fresh_one() -> None:
    random = Random(4)
    order = list(range(60))
    plan = LivePlan(known(order))
    for key in range(200):
        plan.add(key, drawn(random, order, 2))
    plan.reweigh(known(order[::-1]))
    for _ in range(100):
        plan.alter(random.randrange(200), drawn(random, order[::-1], 2))
    plan.improve()
    assert plan.cost <= 1.05 * plan.replanned().cost
    assert plan.improve() == 0


def test_a_plan_is_made_anew_when_it_pays() -> None:
    stale = Drift(cost=150.0, fresh_cost=100.0)
    asked = {"rate": 10.0, "filter_s": 1e-6, "making_s": 1.0, "since_s": 600.0}
    assert stale.excess == pytest.approx(0.5)
    assert reason_to_wait(stale, **asked) == ""
    assert "little more" in reason_to_wait(Drift(105.0, 100.0), **asked)
    told = reason_to_wait(stale, **{**asked, "rate": 0.01})
    assert (
        told
        == "making one takes 1 s and would save 0.3 s in 7 days; it will be made when the last one is 1000 s old"
    )
    assert reason_to_wait(stale, **{**asked, "rate": 0.01, "since_s": 1000.0}) == ""
    assert "making one takes 1000 s" in reason_to_wait(stale, **{**asked, "making_s": 1000.0})
    assert "5 s ago" in reason_to_wait(stale, **{**asked, "since_s": 5.0})
    assert reason_to_wait(stale, **{**asked, "since_s": 5.0}, policy=ReplanPolicy(min_interval_s=1.0)) == ""
    assert Drift(0.0, 0.0).excess == 0.0
    assert drift_of(LivePlan(SourceStatistics()), InForce(())) == Drift(0.0, 0.0)


def test_disjunctions_share_weaker_clauses() -> None:
    plan = LivePlan(known(list(range(60)), top=0.05))
    plan.add("either", Or((WORDS[40], WORDS[41])))
    plan.add("one", WORDS[40])
    plan.add("other", And((WORDS[41], WORDS[42])))
    tree = plan.snapshot().tree
    assert tree.parent[tree.node_of].tolist() == [0, tree.node_of[0], tree.node_of[0]]


def test_a_new_predicate_is_compared_with_few_however_many_there_are() -> None:
    def compared(count: int) -> float:
        random = Random(1)
        words = [f"v{number}" for number in range(count // 4)]
        plan = LivePlan(SourceStatistics())
        for _ in range(count):
            phrase = " ".join(random.sample(words, 2))
            parts = [phrase, *random.sample(words, 2), "common"]
            plan.graph.take_in(
                plan.graph.registry.run_of(And(tuple(Contains(None, (Term(one),), 1) for one in parts)))
            )
        return plan.graph.compared / count

    assert compared(800) < 1.5 * compared(400)
