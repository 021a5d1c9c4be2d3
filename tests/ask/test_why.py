"""Reasons for plans without joins: each clause says what the naive meaning says."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedweir.ask.why import MAX_DEPTH, Clause, why
from feedweir.items.model import Item
from feedweir.plan.nodes import Feed, Filter, Node, Source, Union
from feedweir.plan.predicates import And, Contains, Not, Or, Predicate, Term
from tests.naive import holds
from tests.optimize.generated import SOURCES, item, predicates

sources = st.sampled_from((*SOURCES, "*")).map(Source)
RIVER = Contains(None, (Term("a"),), 1)


def plans_over(leaves: st.SearchStrategy[Node]) -> st.SearchStrategy[Node]:
    return st.recursive(
        leaves,
        lambda inner: (
            st.builds(Filter, inner, predicates(leaves=3))
            | st.lists(inner, min_size=1, max_size=3).map(lambda inputs: Union(tuple(inputs)))
        ),
        max_leaves=4,
    )


def reason(plan: Node, about: Item, feeds: Mapping[str, Node] | None = None) -> Clause:
    def never(*_: object) -> None:
        raise AssertionError("a plan without joins asks nothing of the logs")

    return why(plan, about, (feeds or {}).get, never, never, never)


def is_in(plan: Node, about: Item, feeds: Mapping[str, Node]) -> bool:
    match plan:
        case Source(name):
            return name in ("*", about.source)
        case Feed(name):
            return is_in(feeds[name], about, feeds)
        case Filter(inner, predicate):
            return is_in(inner, about, feeds) and holds(predicate, about)
        case Union(inputs):
            return any(is_in(one, about, feeds) for one in inputs)
        case _:
            raise AssertionError(plan)


def clauses(root: Clause) -> Iterator[Clause]:
    yield root
    for part in root.parts:
        yield from clauses(part)


@given(plans_over(sources), plans_over(sources | st.just(Feed("Inner"))), st.integers(0, 1_000))
def test_a_reason_holds_exactly_for_items_that_are_in_the_feed(inner: Node, outer: Node, seed: int) -> None:
    about, feeds = item(Random(seed)), {"Inner": inner}
    assert reason(outer, about, feeds).holds == is_in(outer, about, feeds)


@given(predicates(leaves=4), st.integers(0, 1_000))
def test_a_reason_shows_the_words_where_they_stand(predicate: Predicate, seed: int) -> None:
    about = item(Random(seed))
    for clause in clauses(reason(Filter(Source(about.source), predicate), about)):
        assert all(text for _, text in clause.spans)
        assert not clause.spans or clause.holds or not isinstance(predicate, Contains)


@given(plans_over(sources), st.integers(0, 1_000))
def test_the_lines_and_the_json_have_every_clause_once(plan: Node, seed: int) -> None:
    root = reason(plan, item(Random(seed)))
    lines = list(root.lines())
    assert len(lines) == len(list(clauses(root)))
    assert [line.strip()[0] for line in lines] == ["✓" if one.holds else "✗" for one in clauses(root)]

    def counted(value: Mapping[str, object]) -> int:
        parts = value["parts"]
        assert isinstance(parts, list)
        return 1 + sum(map(counted, parts))

    assert counted(root.to_json()) == len(lines)


def test_an_item_of_another_source_is_told_where_it_is_from() -> None:
    about = Item(source="s1", identity="1", arrived=item(Random(1)).arrived)
    assert reason(Source("s2"), about).note == "the item is from s1"
    assert reason(Source("s1"), about).note == ""
    assert reason(Source("*"), about).holds


def test_a_feed_that_does_not_exist_is_no_reason_to_fail() -> None:
    found = reason(Feed("Gone"), item(Random(1)))
    assert not found.holds
    assert "no such feed" in found.note


def test_feeds_within_feeds_are_explained_down_to_a_bound() -> None:
    feeds: dict[str, Node] = {f"F{n}": Feed(f"F{n + 1}") for n in range(MAX_DEPTH + 50)}
    feeds[f"F{MAX_DEPTH + 50}"] = Source("*")
    found = [one.note for one in clauses(reason(Feed("F0"), item(Random(1)), feeds))]
    assert found[-1] == "too deep to be shown"
    assert len(found) <= MAX_DEPTH + 2


@pytest.mark.parametrize(
    ("predicate", "is_satisfied"),
    [(And(()), True), (Or(()), False), (Not(And(())), False), (And((RIVER, Not(RIVER))), False)],
    ids=["true", "false", "not true", "contradiction"],
)
def test_constants_and_contradictions_have_reasons_too(predicate: Predicate, is_satisfied: bool) -> None:
    assert reason(Filter(Source("*"), predicate), item(Random(3))).holds is is_satisfied
