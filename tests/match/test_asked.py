"""What is asked of each source, found by columns: as by going through the queries."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from feedweir.optimize.filter_plans.source_plans import Asked, asked_of_sources, places_of
from feedweir.plan.predicates import TRUE, Contains, Not, Term
from feedweir.plan.query import Query

_STORM = Contains(None, (Term("storm"),), 1)
queries = st.builds(
    Query,
    st.integers(0, 5),
    st.lists(st.sampled_from("abcd"), max_size=3).map(tuple),
    st.sampled_from((TRUE, _STORM, Not(_STORM))),
)


def names_of(asked: list[Query]) -> list[tuple[int, int]]:
    seen: Counter[int] = Counter()
    names = []
    for query in asked:
        names.append((query.key, seen[query.key]))
        seen[query.key] += 1
    return names


def obviously_asked(asked: list[Query], most: int) -> dict[str, Asked]:
    found: dict[str, Asked] = {}
    for query, name in zip(asked, names_of(asked), strict=True):
        for source in query.sources:
            found.setdefault(source, {})[name] = query.predicate
    chosen: dict[str, Asked] = {}
    for source in sorted(found, key=lambda source: (-len(found[source]), source)):
        if len(found[source]) <= most and any(one != TRUE for one in found[source].values()):
            most -= len(found[source])
            chosen[source] = found[source]
    return chosen


@settings(max_examples=60, deadline=None)
@given(st.lists(queries, max_size=12), st.integers(0, 12))
def test_the_sources_asked_most_are_planned_as_far_as_there_is_room(asked: list[Query], most: int) -> None:
    found, expected = asked_of_sources(asked, most=most), obviously_asked(asked, most)
    assert [(source, list(one.items())) for source, one in found.items()] == [
        (source, list(one.items())) for source, one in expected.items()
    ]


@settings(max_examples=60, deadline=None)
@given(st.lists(queries, max_size=12))
def test_places_are_those_of_queries_sorted_by_key(asked: list[Query]) -> None:
    order = sorted(range(len(asked)), key=lambda number: asked[number].key)
    names = names_of(asked)
    places = places_of(asked)
    assert dict(places) == {names[number]: place for place, number in enumerate(order)}
    with pytest.raises(KeyError):
        places[5, len(asked)]
