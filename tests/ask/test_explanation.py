"""What `explain` shows: each step of a plan, what its operators cost, and on what basis."""

from __future__ import annotations

from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from feedweir.ask.explanation import OperatorCost, PlanExplanation, PlanStep, costs_of
from feedweir.language.plan_text import explain
from feedweir.optimize.cost import JoinCounts
from feedweir.optimize.join_order import KnownStreams
from feedweir.optimize.statistics import SourceStatistics
from feedweir.plan.nodes import Filter, Node, Source, Union
from feedweir.plan.predicates import Contains, Predicate, Term
from feedweir.plan.walk import postorder
from tests.optimize.generated import predicates

DAY_S = timedelta(days=1).total_seconds()
KNOWN = KnownStreams(
    {
        name: SourceStatistics(items, seconds)
        for name, items, seconds in (("s1", 100.0, DAY_S), ("s2", 10.0, DAY_S))
    },
    dict[str, JoinCounts](),
)
RIVER = Contains("title", (Term("river"),), 1)

plans = st.recursive(
    st.sampled_from(("s1", "s2")).map(Source),
    lambda inner: (
        st.builds(Filter, inner, predicates(leaves=2)) | st.tuples(inner, inner).map(lambda two: Union(two))
    ),
    max_leaves=4,
)


@given(plans)
def test_every_operator_that_works_has_a_cost_and_no_other(plan: Node) -> None:
    costs = costs_of(plan, KNOWN)
    assert len(costs) == sum(isinstance(node, Filter) for node in postorder(plan))
    assert all(cost.rate_out <= cost.rate_in * (1 + 1e-9) for cost in costs), "a filter adds nothing"
    assert all(cost.work >= 0 for cost in costs)


def test_a_filter_is_evaluated_as_often_as_items_arrive() -> None:
    (cost,) = costs_of(Filter(Source("s1"), RIVER), KNOWN)
    assert cost.operator == "σ title contains 'river'"
    assert abs(cost.rate_in - 100 / DAY_S) < 1e-9
    assert abs(cost.work - cost.rate_in) < 1e-9


def test_a_filter_above_another_is_evaluated_as_often_as_items_pass_that() -> None:
    below, above = costs_of(Filter(Filter(Source("s1"), RIVER), RIVER), KNOWN)
    assert abs(above.rate_in - below.rate_out) < 1e-12
    assert abs(above.work - below.rate_out) < 1e-12


def test_an_explanation_shows_its_steps_in_order_and_the_sum_of_all_work() -> None:
    first: Node = Filter(Filter(Source("s1"), RIVER), RIVER)
    last: Node = Filter(Source("s1"), RIVER)
    steps = (PlanStep("as written", first), PlanStep("merge_filters", last))
    shown = PlanExplanation(steps, costs_of(last, KNOWN))
    assert shown.plan is last
    written, merged, costs = shown.text.split("\n\n")
    assert written.splitlines()[0] == "as written"
    assert merged.splitlines() == ["merge_filters", *(f"  {line}" for line in explain(last).splitlines())]
    assert costs.startswith(f"costs {sum(cost.work for cost in shown.costs):.3g} evaluations/s\n")
    assert shown.dot.count("label=") == len(postorder(last))
    (value,) = shown.costs_value()
    assert value["operator"] == "σ title contains 'river'"


def test_a_plan_without_costs_shows_only_its_steps() -> None:
    assert PlanExplanation((PlanStep("as written", Source("s1")),)).text == "as written\n  source s1"


def test_the_cost_of_a_join_says_whether_it_was_counted() -> None:
    assumed = OperatorCost("⋈ w", 1.0, 0.5, 2.0, 30.0)
    assert assumed.text == (
        "⋈ w: in 1/s, out 0.5/s, 2 evaluations/s, 30 items in the window (assumed: nothing was counted yet)"
    )
    counted = OperatorCost("⋈ w", 1.0, 0.5, 2.0, 0.0, tried=40.0, kept=10.0, pairs=12.0)
    assert counted.text.endswith("(counted: 10 of 40 items had a partner, 12 in all)")


@given(predicates(leaves=3))
def test_a_filter_alone_says_nothing_about_a_basis(predicate: Predicate) -> None:
    for cost in costs_of(Filter(Source("s1"), predicate), KNOWN):
        assert "counted" not in cost.text.replace(cost.operator, "")
        assert "assumed" not in cost.text.replace(cost.operator, "")
