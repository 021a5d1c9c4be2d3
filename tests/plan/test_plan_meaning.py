"""Plans mean what the queries say: built, expanded and flattened."""

from hypothesis import given, settings
from hypothesis import strategies as st

from feedweir.items.model import Item
from feedweir.language.plan_builder import build
from feedweir.language.queries import Query
from feedweir.plan import branches, expand, rebuilt
from tests.naive import elements_of, holds
from tests.plan.made import World, histories, meaning, queries

definitions = st.fixed_dictionaries(
    {
        "V": queries(most_joins=1),
        "W": queries(("A", "V"), most_joins=1),
        "X": queries(("B", "W", "V"), most_joins=1),
    }
)
plain = st.fixed_dictionaries(
    {
        "V": queries(most_joins=0),
        "W": queries(("A", "V"), most_joins=0),
        "X": queries(("W", "V"), most_joins=0),
    }
)


@given(queries(), histories())
@settings(max_examples=80, deadline=None)
def test_a_plan_gives_what_the_query_says(query: Query, items: list[Item]) -> None:
    world = World()
    node = build(query, world, feed="F")
    assert elements_of(node, items) == meaning(query, items, world, "F")


@given(definitions, histories())
@settings(max_examples=40, deadline=None)
def test_feeds_of_feeds_give_what_their_definitions_say(queries: dict[str, Query], items: list[Item]) -> None:
    world = World(queries)
    plans = {name: build(query, world, feed=name) for name, query in queries.items()}
    whole = expand(plans["X"], plans.get)
    assert elements_of(whole, items) == meaning(queries["X"], items, world, "X")


@given(plain, histories())
@settings(max_examples=60, deadline=None)
def test_branches_give_the_items_of_a_feed_without_joins(
    queries: dict[str, Query], items: list[Item]
) -> None:
    world = World(queries)
    plans = {name: build(query, world, feed=name) for name, query in queries.items()}
    whole = expand(plans["X"], plans.get)
    found = {
        item.seq
        for sources, predicate in branches(whole)
        for item in items
        if (not sources or item.source in sources) and holds(predicate, item)
    }
    assert found == {element.item.seq for element in elements_of(whole, items)}


@given(queries())
@settings(max_examples=30, deadline=None)
def test_a_change_that_changes_nothing_gives_the_same_object(query: Query) -> None:
    node = build(query, World())
    assert rebuilt(node, lambda inner: inner) is node
