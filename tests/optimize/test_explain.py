"""A plan explains itself: what each filter asks, for whom, how often."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import pytest

from feedweir.optimize.filter_plans.factored_filters import FactoredFilters, factorise
from feedweir.optimize.filter_plans.plan_report import (
    Execution,
    ExplainedPlan,
    PlanNodes,
    as_dot,
    as_text,
    as_value,
    explain_nodes,
)
from feedweir.optimize.statistics import SourceStatistics
from feedweir.plan.predicates import Predicate
from tests.optimize.plan_text import read_predicate, show_predicate

FEEDS = {"p1": "a and b", "p2": "a and c", "p3": "a and c and d", "p3 again": "d and c and a", "all": "true"}
PREDICATES = [read_predicate(text) for text in FEEDS.values()]
KNOWN = SourceStatistics(
    items=1e9,
    seconds=1e8,
    atoms={
        read_predicate(word): 1e9 * share for word, share in zip("abcd", (0.1, 0.2, 0.3, 0.4), strict=True)
    },
)


def explain_plan(
    factored: FactoredFilters,
    feeds: Sequence[str],
    show: Callable[[Predicate], str],
    *,
    source: str,
    rate: float = 1.0,
    measured: Mapping[int, float] | None = None,
) -> ExplainedPlan:
    """Explain a plan; `feeds` names its predicates in order, `measured` gives counted evaluations a
    second by node.
    """
    tree = factored.tree
    named: list[list[str]] = [[] for _ in range(tree.count)]
    for feed, node in zip(feeds, tree.node_of.tolist(), strict=True):
        named[node].append(feed)
    nodes = PlanNodes(
        tree.parent.tolist(),
        ["", *(show(factored.residual_of(node)) for node in range(1, tree.count))],
        ["", *(show(factored.predicate_of(node)) for node in range(1, tree.count))],
        tree.selectivity.tolist(),
        named,
    )
    return explain_nodes(nodes, source=source, rate=rate, measured=measured)


def explained(measured: dict[int, float] | None = None) -> ExplainedPlan:
    factored = factorise(PREDICATES, KNOWN)
    return explain_plan(
        factored, list(FEEDS), show_predicate, source="s2", rate=KNOWN.rate, measured=measured
    )


def test_the_text_shows_the_tree_with_rates_and_feeds() -> None:
    assert as_text(explained()).splitlines() == [
        "source s2: 10 items/s, 12.3 evaluations/s (24.6% of 50 without sharing)",
        "every item  in 10/s  out 10/s  shared by 5  → all",
        "  a  in 10/s  out 1/s  shared by 4",
        "    b  in 1/s  out 0.2/s  → p1",
        "    c  in 1/s  out 0.3/s  shared by 3  → p2",
        "      d  in 0.3/s  out 0.12/s  → p3, p3 again",
        "note: p3 again is equal to p3",
        "note: p3 is contained in p2",
    ]


def test_measured_costs_stand_beside_predicted_ones() -> None:
    assert "measured 9.5/s" in as_text(explained({1: 9.5}))
    nodes = as_value(explained({1: 9.5}))["nodes"]
    assert [node["measured_cost"] for node in nodes][:2] == [None, 9.5]
    total = sum(node["predicted_cost"] for node in nodes)
    assert total == pytest.approx(as_value(explained())["cost"])


def test_long_lists_of_feeds_are_cut() -> None:
    factored = factorise([PREDICATES[0]] * 9, KNOWN)
    plan = explain_plan(factored, [f"f{n}" for n in range(9)], show_predicate, source="s")
    assert "f0, f1, f2, f3, f4 and 4 more" in as_text(plan)


def test_the_picture_escapes_what_people_write() -> None:
    factored = factorise([PREDICATES[0]], KNOWN)
    dot = as_dot(explain_plan(factored, ["x"], lambda _: 'say "hi" \\ there', source='a "source"'))
    assert dot.startswith('digraph "a \\"source\\"" {')
    assert 'label="say \\"hi\\" \\\\ there\\nx"' in dot
    assert "n0 -> n1" in dot
    assert dot.endswith("}")


def test_a_source_without_filters_is_explained_too() -> None:
    plan = explain_plan(factorise([], KNOWN), [], show_predicate, source="s")
    assert as_text(plan) == "source s: 1 items/s, 0 evaluations/s (0.0% of 0 without sharing)"


def test_the_way_of_execution_stands_beside_the_others() -> None:
    nodes = PlanNodes(
        (-1, 0, 1), ("", "a", "b"), ("", "a", "a and b"), (1.0, 0.5, 0.1), ((), ("x",), ("y", "z"))
    )
    execution = Execution("tree", {"tree": 1e-6, "index": 2e-6}, sampled=1234.0)
    plan = explain_nodes(
        nodes, source="s", rate=2.0, measured={1: 2.0, 2: 0.8}, execution=execution, never=[2]
    )
    assert as_text(plan).splitlines() == [
        "source s: 2 items/s, 3 evaluations/s (50.0% of 6 without sharing)",
        "by tree (per item: index 2 µs, tree 1 µs; shares from 1.23e+03 sampled items)",
        "  a  in 2/s  out 1/s  shared by 3  measured 2/s  → x",
        "    b  in 1/s  out 0.2/s  measured 0.8/s  → y, z",
        "note: y can never match",
        "note: z can never match",
    ]
    assert plan.measured_cost == pytest.approx(2.8)
    told = as_value(plan)
    assert (told["way"], told["advice"], told["measured_cost"]) == (
        "tree",
        list(plan.advice),
        plan.measured_cost,
    )
