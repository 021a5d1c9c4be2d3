"""Filtering RSS documents as published: its figures, all matchers alike, indexes through any sequence of changes."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from feedweir.items.triples import Node, Statement
from feedweir.match.graphs.graph_builder import compile_graphs
from feedweir.match.graphs.graph_forms import parts_of
from feedweir.match.graphs.triple_batches import batch_of_statements
from feedweir.plan.predicates import Constraint, GraphPattern, GraphTerm, Iri, Triple, Variable
from feedweir.published.graphs import (
    ContainmentTrees,
    GraphMatcher,
    MatrixMatcher,
    MergingIndex,
    PublicationMatrix,
    SubscriptionMatrix,
    containment_checking,
    g_topss,
    maps_into,
    merger_of,
    similarity,
)
from tests import naive

EX = "http://e.org/"


def node(name: str) -> Node:
    return Node("literal", name) if name.replace(".", "").isdigit() else Node("iri", EX + name)


def graph(*edges: str) -> list[Statement]:
    """Edges as `a e1 b`."""
    return [Statement(*map(node, edge.split())) for edge in edges]


def asks(*edges: str, where: tuple[Constraint, ...] = ()) -> GraphPattern:
    """Edges as `a e1 ?x`."""

    def term(word: str) -> GraphTerm:
        return Variable(word[1:]) if word.startswith("?") else Iri(EX + word)

    return GraphPattern(tuple(Triple(*map(term, edge.split())) for edge in edges), where)


def merging(threshold: float = 0.3, upper: int = 3, lower: int = 1) -> MergingIndex:
    return MergingIndex(upper, lower, PublicationMatrix(threshold))


MATCHERS: dict[str, Callable[[], GraphMatcher]] = {
    "match": MatrixMatcher,
    "G-ToPSS": g_topss,
    "containment": ContainmentTrees,
    "merging": merging,
}


@pytest.mark.parametrize("name", MATCHERS)
def test_figure_1_a_publication_about_the_project_matches_the_subscription(name: str) -> None:
    matcher = MATCHERS[name]()
    after_2003 = (Constraint("x", ">", 2003.0),)
    matcher.add(1, asks("page project filter", "filter supervisor ann", "filter year ?x", where=after_2003))
    matcher.add(2, asks("page project filter", "filter year ?x", where=(Constraint("x", ">", 2007.0),)))
    assert matcher.match(graph("page project filter", "filter supervisor ann", "filter year 2005")) == {1}
    assert matcher.match(graph("page project filter", "filter supervisor ann", "filter year 2003")) == set()
    matcher.remove(1)
    assert matcher.match(graph("page project filter", "filter supervisor ann", "filter year 2008")) == {2}


def test_figures_3_and_4_two_subscriptions_are_one_graph_and_constraints_lie_in_order() -> None:
    matrix = SubscriptionMatrix()
    matrix.add(1, asks("a e1 b", "b e2 c"))
    matrix.add(2, asks("a e1 b", "a e2 ?x", where=(Constraint("x", ">", 10.0),)))
    matrix.add(5, asks("a e2 ?y", where=(Constraint("y", ">", 10.0),)))
    matrix.add(6, asks("a e2 ?y", where=(Constraint("y", ">", 4.0), Constraint("y", "!=", 7.0))))
    a, b, e1, e2 = map(node, ("a", "b", "e1", "e2"))
    assert set(matrix.edges) == {e1, e2}
    assert matrix.edges[e1][a, b].subscriptions == {1, 2}
    shared = matrix.edges[e2][a, None]
    assert shared.tables[1].values[">"] == [4.0, 10.0]
    assert shared.tables[1].uses[">", 10.0] == {(2, 1), (5, 0)}
    assert {one for one, _ in shared.satisfied(a, node("11"))} == {2, 5, 6}
    assert shared.satisfied(a, node("7")) == set()
    matrix.remove(2)
    assert matrix.edges[e1][a, b].subscriptions == {1}
    for one in (1, 5, 6):
        matrix.remove(one)
    assert matrix.edges == {}


def test_figure_5_containment_makes_a_tree() -> None:
    trees = ContainmentTrees()
    trees.add(1, asks("a e1 b", "b e2 c"))
    trees.add(2, asks("?x e1 b"))
    trees.add(3, asks("a e1 b", "b e2 ?z"))
    trees.add(4, asks("q e3 r"))
    trees.add(5, asks("a e1 b"))
    assert trees.roots == (2, 4)
    assert containment_checking(asks("a e1 b", "a e3 c"), trees.index.matrix).found == (2,)
    assert containment_checking(asks("?x e1 ?y"), trees.index.matrix).found == (2,)
    assert trees.match(graph("a e1 b", "b e2 c")) == {1, 2, 3, 5}


def test_figure_6_the_join_of_binding_tables_shows_containment() -> None:
    general = asks("a e1 b", "a e1 ?x", "?x e2 d")
    special = asks("a e1 b", "a e1 c", "b e2 d", "c e2 d")
    assert maps_into(general, special)
    assert not maps_into(special, general)
    matrix = SubscriptionMatrix()
    matrix.add(1, special)
    assert containment_checking(general, matrix) == containment_checking(general, matrix)
    assert containment_checking(general, matrix).found == (1,)
    assert not containment_checking(general, matrix).contained


def test_figure_7_a_merger_has_the_common_edges_and_its_false_positives_are_not_delivered() -> None:
    one, other = asks("a e1 b", "b e2 c"), asks("a e1 b", "b e3 d")
    assert merger_of(one, other) == asks("a e1 b")
    index = merging(upper=10, lower=1)
    index.add(1, one)
    index.add(2, other)
    index.collect(graph("a e1 b", "b e2 c", "b e3 d"))
    index.merge()
    assert len(index) == 1
    assert index.match(graph("a e1 b", "b e4 c")) == set()
    assert index.false_positives == 1
    assert index.match(graph("a e1 b", "b e3 d")) == {2}


def test_figure_8_a_leaf_an_inner_node_a_root_and_a_member_of_a_merger_leave() -> None:
    trees = ContainmentTrees()
    for number, edges in enumerate((["?x e1 ?y"], ["a e1 ?y"], ["a e1 b"], ["a e1 c"])):
        trees.add(number, asks(*edges))
    trees.remove(3)
    assert (trees.roots, trees.parent) == ((0,), {1: 0, 2: 0})
    trees.remove(1)
    assert (trees.roots, trees.parent) == ((0,), {2: 0})
    trees.remove(0)
    assert (trees.roots, trees.parent) == ((2,), {})
    index = merging(upper=10, lower=1)
    index.add(1, asks("a e1 b", "b e2 c"))
    index.add(2, asks("a e1 b", "b e3 d"))
    index.collect(graph("a e1 b", "b e2 c", "b e3 d"))
    index.merge()
    index.remove(1)
    assert (len(index), index.members, index.match(graph("a e1 b", "b e3 d"))) == (1, {}, {2})


def test_similar_publications_become_one_summary_again_and_again() -> None:
    matrix = PublicationMatrix(0.4)
    first, second, third = (
        frozenset(graph(*edges)) for edges in (["a e b", "a e c"], ["a e b", "a e d"], ["a e b"])
    )
    assert similarity(first, second) == pytest.approx(1 / 3)
    matrix.collect(first, 3)
    matrix.collect(second, 4)
    assert len(matrix.summaries) == 2
    matrix.collect(third, 5)
    (summary,) = matrix.summaries
    assert (summary.edges, summary.counter) == (third, 12)
    assert matrix.take() is summary
    assert matrix.take() is None


def test_merging_begins_at_the_upper_threshold_and_ends_at_the_lower() -> None:
    index = merging(upper=6, lower=3)
    index.statistics.collect(frozenset(graph("a e1 b", *(f"b e2 {n}c" for n in range(9)))), 9)
    for number in range(6):
        index.add(number, asks("a e1 b", f"b e2 {number}c"))
    assert (len(index), index.merges) == (6, 0)
    index.add(6, asks("a e1 b", "b e2 6c"))
    assert (len(index), index.merges) == (3, 1)
    assert index.match(graph("a e1 b", "b e2 6c", "b e2 1c")) == {1, 6}


# Any sequence

_nodes = st.sampled_from("abc")
_ends = st.one_of(_nodes, _nodes, st.sampled_from(("?x", "?y")))
_edges = st.builds(lambda v, e, w: f"{v} e{e} {w}", _ends, st.integers(1, 2), _ends)


@st.composite
def subscriptions(draw: st.DrawFn) -> GraphPattern:
    edges = draw(st.lists(_edges, min_size=1, max_size=3))
    names = sorted({word[1:] for edge in edges for word in edge.split() if word.startswith("?")})
    held = st.builds(
        Constraint,
        st.sampled_from(names or ["x"]),
        st.sampled_from(("=", "!=", "<", "<=", ">", ">=")),
        st.sampled_from((3.0, 4.0)),
    )
    return asks(*edges, where=tuple(draw(st.lists(held, max_size=2))) if names else ())


publications = st.lists(
    st.builds(
        lambda v, e, w: Statement(node(v), node(f"e{e}"), node(w)),
        _nodes,
        st.integers(1, 2),
        st.sampled_from(("a", "b", "c", "3", "4")),
    ),
    max_size=6,
    unique=True,
)


@settings(max_examples=120, deadline=None)
@given(
    st.lists(st.one_of(subscriptions(), st.integers(0, 9), publications), max_size=14),
    st.lists(publications, min_size=1, max_size=3),
)
def test_any_sequence_of_coming_and_leaving_answers_as_building_anew(
    changes: list[object], seen: list[list[Statement]]
) -> None:
    matchers = {name: make() for name, make in MATCHERS.items()}
    held: dict[int, GraphPattern] = {}
    for number, change in enumerate(changes):
        if isinstance(change, GraphPattern):
            held[number] = change
            for matcher in matchers.values():
                matcher.add(number, change)
        elif isinstance(change, int) and held:
            leaving = sorted(held)[change % len(held)]
            del held[leaving]
            for matcher in matchers.values():
                matcher.remove(leaving)
        elif isinstance(change, list):
            matchers["merging"].collect(change)  # type: ignore[attr-defined]
    trees = matchers["containment"]
    assert isinstance(trees, ContainmentTrees)
    roots = trees.roots
    assert not [
        (one, other) for one in roots for other in roots if one != other and maps_into(held[one], held[other])
    ]
    for publication in seen:
        plain = [(tuple(one.subject), tuple(one.predicate), tuple(one.object)) for one in publication]
        expected = {number for number, one in held.items() if naive.has_subgraph(one, plain)}
        assert {name: matcher.match(publication) for name, matcher in matchers.items()} == dict.fromkeys(
            matchers, expected
        )
        assert ours(held, publication) == expected


def ours(held: dict[int, GraphPattern], publication: list[Statement]) -> set[int]:
    parts = list(dict.fromkeys(part for one in held.values() for part in parts_of(one)))
    had = {parts[n] for n in compile_graphs(parts).matches(batch_of_statements([publication])).parts.tolist()}
    return {number for number, one in held.items() if had.issuperset(parts_of(one))}
