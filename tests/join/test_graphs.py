"""Join graphs: how blocks become graphs, what is refused, and that the minor keeps what the definition says."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedweir.errors import LanguageError
from feedweir.join.patterns.templates import JoinGraph, block_tree, join_graph, minor
from feedweir.plan.predicates import PatternNode


def node(variable: str, *children: PatternNode, name: str = "n") -> PatternNode:
    return PatternNode("/", name, children, variable)


def tree_of(*names: str) -> PatternNode:
    """A root with a leaf for each name."""
    return node("", *(node(name) for name in names))


def test_nodes_of_a_block_are_numbered_from_the_root_downwards_and_left_to_right() -> None:
    tree = block_tree(node("r", node("a", node("b")), node("c")))
    assert [one.variable for one in tree.nodes] == ["r", "a", "b", "c"]
    assert tree.parents == (-1, 0, 1, 0)
    assert tree.named() == {"r": 0, "a": 1, "b": 2, "c": 3}


def test_equalities_are_edges_from_left_to_right_each_once_however_they_are_written() -> None:
    left, right = block_tree(tree_of("a", "b")), block_tree(tree_of("c", "d"))
    graph = join_graph(left, right, [("d", "a"), ("a", "d"), ("b", "c")])
    assert graph.edges == ((1, 5), (2, 4))
    assert graph.sides == (0, 0, 0, 1, 1, 1)
    assert graph.parents == (-1, 0, 0, -1, 3, 3)
    assert graph.ends == (1, 2, 4, 5)


def test_what_the_output_needs_is_an_end_on_whichever_side_it_is() -> None:
    left, right = block_tree(tree_of("a", "b")), block_tree(tree_of("c"))
    graph = join_graph(left, right, [("a", "c")], ["b", "c"])
    assert graph.outputs == (2, 4)
    assert graph.ends == (1, 2, 4)


@pytest.mark.parametrize(
    ("left", "right", "equalities", "message", "hint"),
    [
        (tree_of("a", "a"), tree_of("b"), [("a", "b")], "a is bound twice", "a name of its own"),
        (tree_of("a"), tree_of("a"), [("a", "a")], "a is bound in both blocks", "another name"),
        (tree_of("a", "b"), tree_of("c"), [("a", "b")], "a = b compares two", "a variable of each block"),
        (tree_of("a"), tree_of("b", "c"), [("b", "c")], "b = c compares two", "a variable of each block"),
        (tree_of("a"), tree_of("b"), [("a", "z")], "no pattern binds variable z", "bound: a, b"),
        (tree_of(""), tree_of(""), [("y", "z")], "no pattern binds variable y", "bound: none"),
    ],
)
def test_variables_that_make_no_sense_are_refused_with_a_hint(
    left: PatternNode, right: PatternNode, equalities: list[tuple[str, str]], message: str, hint: str
) -> None:
    with pytest.raises(LanguageError, match=message) as refused:
        join_graph(block_tree(left), block_tree(right), equalities)
    assert hint in str(refused.value.hint)


def test_an_output_that_no_block_binds_is_refused() -> None:
    with pytest.raises(LanguageError, match="no pattern binds variable q"):
        join_graph(block_tree(tree_of("a")), block_tree(tree_of("b")), [("a", "b")], ["q"])


@st.composite
def graphs(draw: st.DrawFn) -> JoinGraph:
    sizes = (draw(st.integers(1, 7)), draw(st.integers(1, 7)))
    parents: list[int] = []
    for size in sizes:
        first = len(parents)
        parents += [-1, *(first + draw(st.integers(0, place)) for place in range(size - 1))]
    lefts, rights = st.integers(0, sizes[0] - 1), st.integers(sizes[0], len(parents) - 1)
    edges = draw(st.lists(st.tuples(lefts, rights), min_size=1, max_size=3, unique=True))
    outputs = draw(st.lists(st.integers(0, len(parents) - 1), max_size=2, unique=True))
    sides = (0,) * sizes[0] + (1,) * sizes[1]
    return JoinGraph(sides, tuple(parents), tuple(sorted(edges)), tuple(sorted(outputs)))


def obvious_minor(graph: JoinGraph) -> dict[int, int]:
    """By node that is kept its parent: leaves, tops and unary nodes that are no ends go, one by one."""
    parents = dict(enumerate(graph.parents))
    while True:
        children = {one: [below for below, above in parents.items() if above == one] for one in parents}
        useless = [one for one in parents if one not in graph.ends and len(children[one]) < 2]
        if not useless:
            return parents
        above = parents.pop(useless[0])
        parents |= dict.fromkeys(children[useless[0]], above)


@given(graphs())
def test_the_minor_is_what_remains_when_useless_nodes_are_removed_one_by_one(graph: JoinGraph) -> None:
    reduced, kept = minor(graph)
    assert kept == tuple(sorted(kept))
    above = {
        one: kept[parent] if parent >= 0 else -1 for one, parent in zip(kept, reduced.parents, strict=True)
    }
    assert above == obvious_minor(graph)
    assert tuple(graph.sides[one] for one in kept) == reduced.sides
    assert tuple((kept[one], kept[other]) for one, other in reduced.edges) == graph.edges
    assert tuple(kept[one] for one in reduced.outputs) == graph.outputs


@given(graphs())
def test_a_minor_has_no_smaller_minor(graph: JoinGraph) -> None:
    reduced, _ = minor(graph)
    assert minor(reduced) == (reduced, tuple(range(len(reduced.sides))))
