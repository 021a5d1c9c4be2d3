"""Rules as pairs of texts, then both sides executed; and plans of any shape in normal form."""

from __future__ import annotations

from datetime import timedelta
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from feedweir.errors import CatalogError, FeedweirError
from feedweir.optimize import rules
from feedweir.optimize.normalisation import MOST_GROWTH, check, normalise
from feedweir.plan.nodes import (
    AnnotationJoin,
    Block,
    Distinct,
    Feed,
    Filter,
    LastItems,
    Node,
    PatternJoin,
    Source,
    TimeSpan,
    Union,
    Window,
)
from feedweir.plan.predicates import Contains, Relates, Term
from feedweir.plan.walk import inputs_of, postorder
from tests.optimize import generated
from tests.optimize.naive_plan import run
from tests.optimize.plan_text import read_plan, show_plan

FEEDS = {
    "inner": read_plan("filter a\n  union\n    source s1\n    source s2"),
    "outer": read_plan("union\n  source s3\n  feed inner"),
}
STREAM = generated.stream(3, 60)


def rule_named(name: str) -> rules.Rule:
    rule = getattr(rules, name)
    return partial(rule, lookup=FEEDS.get) if name == "expand_feeds" else rule


def pairs() -> list[tuple[str, str, str]]:
    """(rule, before, after) of every case of every fixture file."""
    found = []
    for path in sorted((Path(__file__).parent / "rules").glob("*.txt")):
        for case in path.read_text(encoding="utf-8").split("\n# "):
            title, _, body = case.removeprefix("# ").partition("\n")
            before, _, after = body.partition("=>\n")
            found.append(pytest.param(path.stem, before, after, id=f"{path.stem}: {title}"))
    return found


def is_executable(node: Node) -> bool:
    return not any(isinstance(one, (Block, PatternJoin)) for one in postorder(node))


@pytest.mark.parametrize(("name", "before", "after"), pairs())
def test_a_rule_turns_before_into_after_with_the_same_answers(name: str, before: str, after: str) -> None:
    plan, expected = read_plan(before), read_plan(after)
    changed = rule_named(name)(plan)
    assert show_plan(changed) == show_plan(expected)
    if is_executable(plan):
        assert run(changed, STREAM, FEEDS.get) == run(plan, STREAM, FEEDS.get)


@pytest.mark.parametrize(("name", "before", "after"), pairs())
def test_a_rule_that_changes_nothing_returns_the_same_object(name: str, before: str, after: str) -> None:
    rule = rule_named(name)
    plan = rule(read_plan(after))
    assert rule(plan) is plan


def test_every_rule_has_a_fixture_file() -> None:
    names = {rule.__name__ for rule in rules.RULES} | {"expand_feeds"}
    assert names == {path.stem for path in (Path(__file__).parent / "rules").glob("*.txt")}


specs = st.sampled_from((TimeSpan(timedelta(hours=40)), LastItems(3)))
relations = st.sampled_from([Relates(name, "=", name) for name in ("language", "category")])
leaves = st.sampled_from([*(Source(name) for name in generated.SOURCES), Feed("inner"), Feed("outer")])
small = generated.predicates(leaves=3)


def wider(inner: st.SearchStrategy[Node]) -> st.SearchStrategy[Node]:
    windows = st.builds(Window, inner, specs)
    return st.one_of(
        st.builds(Filter, inner, small),
        st.builds(Union, st.lists(inner, max_size=3).map(tuple)),
        st.builds(AnnotationJoin, st.sampled_from(("j", "k")), inner, windows, relations),
        st.builds(Filter, windows, small),
    )


plans = st.recursive(leaves, wider, max_leaves=5)


@settings(max_examples=120, deadline=None)
@given(plans)
def test_a_normalised_plan_gives_the_same_elements(plan: Node) -> None:
    normal = normalise(plan, FEEDS.get)
    assert run(normal, STREAM[:40], FEEDS.get) == run(plan, STREAM[:40], FEEDS.get)
    assert normalise(normal, FEEDS.get) is normal


def is_normal(node: Node) -> bool:
    """Whether unions stand above joins, joins above filters, and filters on sources.

    What cannot be moved is allowed where it must stay: a filter above a window of a count or above a pattern join. A
    filter is over one source or a union of several. What joins and blocks read has the same form by itself.
    """
    inputs = node.inputs if isinstance(node, Union) else (node,)
    return all(_is_joined(input) for input in inputs)


def _is_joined(node: Node) -> bool:
    match node:
        case Filter(PatternJoin() | Distinct() | Block() as input):
            return _is_joined(input)
        case Filter(input):
            return all(
                isinstance(one, Source) for one in (input.inputs if isinstance(input, Union) else (input,))
            )
        case Union():
            return False
        case _:
            return all(map(is_normal, inputs_of(node)))


bare = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.builds(Filter, inner, small),
        st.builds(Union, st.lists(inner, max_size=3).map(tuple)),
        st.builds(
            AnnotationJoin, st.sampled_from(("j", "k")), inner, st.builds(Window, inner, specs), relations
        ),
    ),
    max_leaves=6,
)


@settings(max_examples=120, deadline=None)
@given(bare)
def test_a_normalised_plan_has_filters_at_sources_and_joins_above_them(plan: Node) -> None:
    assert is_normal(normalise(plan, FEEDS.get))


def word(number: int) -> Contains:
    return Contains(None, (Term(f"w{number}"),), 1)


def test_a_plan_as_deep_as_anybody_likes_is_rewritten() -> None:
    plan: Node = Source("s1")
    for number in range(1_500):
        plan = Union((plan, Source(f"t{number}")))
    normal = normalise(Filter(plan, word(1)), FEEDS.get)
    assert is_normal(normal)
    assert len(postorder(normal)) == 1_503


def test_a_plan_that_would_grow_beyond_measure_is_left_as_it_was_written() -> None:
    plan: Node = Union((Filter(Source("s1"), word(0)), Source("s2")))
    for number in range(1, 40):
        plan = Union((Filter(plan, word(2 * number)), Filter(plan, word(2 * number + 1))))
    heard: list[str] = []
    left = normalise(plan, FEEDS.get, on_change=lambda rule, _: heard.append(rule))
    assert len(postorder(left)) <= MOST_GROWTH * len(postorder(plan))
    assert heard[-1].startswith("left as it was written")


def test_a_filter_and_a_count_window_give_other_items_in_the_other_order() -> None:
    outside = read_plan("filter a\n  window 5 items\n    source s1")
    inside = read_plan("window 5 items\n  filter a\n    source s1")
    assert run(outside, STREAM, FEEDS.get) != run(inside, STREAM, FEEDS.get)


def test_an_error_names_the_rule_that_broke_the_plan() -> None:
    def invent(node: Node) -> Node:
        return Source("nowhere")

    with pytest.raises(FeedweirError, match="rule `invent` made up a source: nowhere"):
        normalise(Source("s1"), FEEDS.get, rules=(invent,))
    with pytest.raises(FeedweirError, match="`merge_filters` left the virtual feed `inner`"):
        check(Feed("inner"), Feed("inner"), "merge_filters")


def test_rules_that_never_end_are_stopped() -> None:
    def swap(node: Node) -> Node:
        assert isinstance(node, Union)
        return Union(node.inputs[::-1])

    with pytest.raises(FeedweirError, match="did not come to an end"):
        normalise(Union((Source("s1"), Source("s2"))), FEEDS.get, rules=(swap,))


def test_an_unknown_feed_is_named() -> None:
    with pytest.raises(CatalogError, match="nobody"):
        normalise(Feed("nobody"), FEEDS.get)
