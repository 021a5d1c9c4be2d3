"""Feeds planned together: filters meet at their sources, and one bad feed is one bad feed."""

from __future__ import annotations

from feedweir.optimize.explain import as_text, explain_plan
from feedweir.optimize.multi_query import MultiQueryPlan, plan_all
from feedweir.optimize.statistics import SourceStatistics
from feedweir.plan.nodes import Node
from tests.optimize import generated
from tests.optimize.naive_plan import run
from tests.optimize.plan_text import read_plan, read_predicate, show_predicate
from tests.optimize.test_factorise import answers

FEEDS: dict[str, Node] = {
    "p1": read_plan("filter a and b\n  union\n    source s1\n    source s2"),
    "p2": read_plan("filter a and c\n  union\n    source s2\n    source s3"),
    "p3": read_plan("filter ab\n  union\n    feed p2\n    source s1"),
    "p4": read_plan("join j language\n  feed p1\n  window 5 items\n    source s3"),
}
KNOWN = {
    "s2": SourceStatistics(
        items=1e9,
        seconds=1e8,
        atoms={read_predicate(word): 1e8 * (n + 1) for n, word in enumerate(("a", "b", "c", "ab"))},
    )
}


def planned(feeds: dict[str, Node] = FEEDS) -> MultiQueryPlan:
    return plan_all(feeds, FEEDS.get, KNOWN)


def test_the_filters_of_all_feeds_meet_at_their_sources() -> None:
    found = planned().sources
    assert {source: plan.feeds for source, plan in found.items()} == {
        "s1": ("p1", "p3", "p4"),
        "s2": ("p1", "p2", "p3", "p4"),
        "s3": ("p2", "p3", "p4"),
    }
    plan = found["s2"]
    text = as_text(explain_plan(plan.filters, plan.feeds, show_predicate, source="s2", rate=10.0))
    assert text.splitlines()[1:] == [
        "  a  in 10/s  out 1/s  shared by 4",
        "    b  in 1/s  out 0.2/s  → p1, p4",
        "    c  in 1/s  out 0.3/s  shared by 2  → p2",
        "      ab  in 0.3/s  out 0.12/s  → p3",
        "note: p4 is equal to p1",
        "note: p3 is contained in p2",
    ]


def test_the_filters_of_a_source_answer_for_every_feed_without_a_join() -> None:
    stream = generated.stream(5, 60)
    plan = planned()
    for name in ("p1", "p2", "p3"):
        expected = set(run(FEEDS[name], stream, FEEDS.get))
        found = {
            item.seq
            for item in stream
            if item.source in plan.sources
            for feed, holds in zip(
                plan.sources[item.source].feeds, answers(plan.sources[item.source].filters, item), strict=True
            )
            if feed == name and holds
        }
        assert found == expected


def test_a_feed_that_cannot_be_planned_is_named_and_the_others_are_planned() -> None:
    plan = planned({**FEEDS, "broken": read_plan("filter a\n  feed nobody")})
    assert list(plan.failures) == ["broken"]
    assert "nobody" in str(plan.failures["broken"])
    assert plan.cost == planned().cost
