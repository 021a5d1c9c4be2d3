from __future__ import annotations

import random
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from feedweir.join.patterns.templates import JoinGraph, Templates, colours_of, isomorphism, minor


def two_sided(parents: list[int], edges: list[tuple[int, int]]) -> JoinGraph:
    size = len(parents)
    both = (*parents, *(parent if parent < 0 else parent + size for parent in parents))
    return JoinGraph((0,) * size + (1,) * size, both, tuple(sorted((a, b + size) for a, b in edges)))


def templates_of(parents: list[int], joins: int) -> int:
    """How many templates there are with that many value joins between leaves of two documents of one schema."""
    leaves = [node for node in range(len(parents)) if node not in parents]
    pairs = [(a, b) for a in leaves for b in leaves]
    templates = Templates()
    for edges in combinations(pairs, joins):
        templates.place(minor(two_sided(parents, list(edges)))[0])
    return len(templates.all)


@pytest.mark.parametrize(("joins", "count"), [(1, 1), (2, 3), (3, 6), (4, 16)])
def test_a_flat_schema_has_as_many_templates_as_the_table_says(joins: int, count: int) -> None:
    assert templates_of([-1] + [0] * joins, joins) == count


@pytest.mark.parametrize(("joins", "count"), [(1, 1), (2, 3), (3, 16)])
def test_a_complex_schema_has_as_many_templates_as_the_table_says(joins: int, count: int) -> None:
    three_levels = [-1, 0, 0] + [1] * joins + [2] * (joins - 1)
    assert templates_of(three_levels, joins) == count


def test_the_minor_drops_leaves_without_joins_unary_nodes_and_what_is_above_the_common_ancestor() -> None:
    # left: 0 ─ 1 ─ {2 ─ 3, 4}, right: 5 ─ {6, 7 ─ 8, 9}; 9 joins nothing
    graph = JoinGraph((0,) * 5 + (1,) * 5, (-1, 0, 1, 2, 1, -1, 5, 5, 7, 5), ((3, 6), (4, 8)))
    reduced, kept = minor(graph)
    assert kept == (1, 3, 4, 5, 6, 8)
    assert reduced.parents == (-1, 0, 0, -1, 3, 3)


def test_the_minor_keeps_nodes_that_the_output_needs() -> None:
    graph = JoinGraph((0, 0, 0, 1), (-1, 0, 0, -1), ((1, 3),), outputs=(2,))
    assert minor(graph)[1] == (0, 1, 2, 3)


@st.composite
def graphs(draw: st.DrawFn) -> JoinGraph:
    parents = [-1, *(draw(st.integers(0, place)) for place in range(draw(st.integers(1, 6))))]
    nodes = st.integers(0, len(parents) - 1)
    edges = draw(st.lists(st.tuples(nodes, nodes), min_size=1, max_size=4, unique=True))
    return minor(two_sided(parents, edges))[0]


@settings(max_examples=200, deadline=None)
@given(graphs(), st.randoms(use_true_random=False))
def test_a_graph_with_its_nodes_in_another_order_has_the_same_template(
    graph: JoinGraph, chance: random.Random
) -> None:
    order = list(range(len(graph.sides)))
    chance.shuffle(order)
    place = {node: number for number, node in enumerate(order)}
    other = JoinGraph(
        tuple(graph.sides[node] for node in order),
        tuple(place[graph.parents[node]] if graph.parents[node] >= 0 else -1 for node in order),
        tuple(sorted((place[a], place[b]) for a, b in graph.edges)),
    )
    assert sorted(colours_of(graph)) == sorted(colours_of(other))
    templates = Templates()
    templates.place(graph)
    template, mapping = templates.place(other)
    assert template.number == 0
    assert {(mapping[a], mapping[b]) for a, b in graph.edges} == set(other.edges)


def test_graphs_of_different_shape_have_no_isomorphism() -> None:
    aligned = minor(two_sided([-1, 0, 0, 1, 1, 2], [(3, 3), (4, 4), (5, 5)]))[0]
    crossed = minor(two_sided([-1, 0, 0, 1, 1, 2], [(3, 3), (4, 5), (5, 4)]))[0]
    assert isomorphism(aligned, crossed, colours_of(crossed)) is None
