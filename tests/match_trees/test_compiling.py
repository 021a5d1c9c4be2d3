"""Patterns on their way into arrays: equal parts are one, steps are shared, atoms are chosen to be rare."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from feedweir.errors import LanguageError
from feedweir.match.arrays import ranges_of
from feedweir.match.trees import compile_trees, fits, tree_of
from feedweir.match.trees.documents.document import DocumentTree, TreeBounds, written_plainly
from feedweir.match.trees.documents.label_paths import PathTable
from feedweir.match.trees.patterns.alignments import alignments
from feedweir.match.trees.patterns.bound_patterns import DOCUMENT, NOT_BOUND, binds, bound_of
from feedweir.match.trees.patterns.pattern_steps import MAX_PATTERN_NODES, grow
from feedweir.match.trees.patterns.postings import layout_of, offsets
from feedweir.match.trees.tree_codes import ANY_ATTRIBUTE, ANY_ELEMENT, EXISTS, OP, TEXT_EQ, WANTED
from feedweir.plan.predicates import PatternNode, TreePattern
from tests.match_trees.strategies import patterns


def node(
    name: str, *below: PatternNode, axis: str = "/", variable: str = "", equals: str = ""
) -> PatternNode:
    op = "=" if equals else None
    return PatternNode(axis, name, below, variable, op, equals or None)  # type: ignore[arg-type]


def tree(name: str, *below: PatternNode, equals: str = "") -> TreePattern:
    return TreePattern(node(name, *below, axis="//", equals=equals))


# Equal parts are one


def test_patterns_that_differ_in_order_repetition_or_variables_only_are_one() -> None:
    one = tree("a", node("b"), node("c", node("@k")))
    turned = tree("a", node("c", node("@k", variable="v")), node("b"), node("b"))
    grown = grow([one, turned, tree("a", node("b"))])
    assert grown.roots[0] == grown.roots[1] != grown.roots[2]
    assert len(grown.steps.rows) == 5


def test_branches_have_smaller_numbers_than_what_they_hang_on() -> None:
    grown = grow([tree("a", node("b", node("c")), node("d")), tree("c")])
    for step, row in enumerate(grown.steps.rows.tolist()):
        assert all(below < step for below in grown.steps.branch[row[4] : row[5]].tolist())


def test_names_are_coded_by_kind_and_wildcards_stand_below_zero() -> None:
    grown = grow([tree("b", node("@k"), node("*"), node("@*")), tree("a")])
    labels = grown.vocabulary
    assert {name: labels.label(name) for name in ("a", "b", "@k", "*", "@*")} == {
        "a": 0,
        "b": 2,
        "@k": 1,
        "*": ANY_ELEMENT,
        "@*": ANY_ATTRIBUTE,
    }
    assert labels.labels == 4
    assert sorted(grown.steps.rows[:, WANTED].tolist()) == [-2, -1, 0, 1, 2]


def test_comparisons_are_sorted_and_each_is_there_once() -> None:
    grown = grow([tree("a", equals=text) for text in ("x", "b", "x")] + [tree("b", equals="x"), tree("a")])
    assert grown.comparisons.op.tolist() == [EXISTS, TEXT_EQ, TEXT_EQ]
    assert grown.comparisons.text.tolist() == [-1, 0, 1]
    assert grown.vocabulary.texts == {"b": 0, "x": 1}
    ops = dict(zip(grown.roots.tolist(), grown.steps.rows[grown.roots, OP].tolist(), strict=True))
    assert ops[int(grown.roots[4])] == EXISTS


@pytest.mark.parametrize(("n_leaves", "is_small"), [(0, True), (62, True), (63, False), (500, False)])
def test_a_pattern_has_as_many_steps_as_it_may_have_at_most(n_leaves: int, is_small: bool) -> None:
    pattern = tree("a", *(node(f"b{n}") for n in range(n_leaves)))
    assert fits(pattern) is is_small
    if not is_small:
        with pytest.raises(
            LanguageError, match=f"a tree pattern of {n_leaves + 1} steps is too large"
        ) as raised:
            compile_trees([pattern])
        assert raised.value.hint == f"at most {MAX_PATTERN_NODES} steps"


# Steps and atoms


def test_patterns_share_the_steps_that_they_begin_with() -> None:
    layout = layout_of(grow([tree("a", node("b")), tree("a", node("b", node("c"))), tree("a", node("d"))]))
    assert len(layout.routes) == 1 + 4  # above the root; a, b, c, d


def test_equal_patterns_are_one_group_and_those_that_branch_come_first() -> None:
    layout = layout_of(
        grow([tree("a", node("b")), tree("a", node("b"), node("c")), tree("a", node("b")), tree("x")])
    )
    assert len(set(layout.group_of.tolist())) == 3
    assert layout.group_of[0] == layout.group_of[2]
    assert layout.group_of[1] == 0
    assert sorted(layout.groups.members.tolist()) == [0, 1, 2, 3]


def test_a_pattern_that_branches_is_found_by_its_equality() -> None:
    grown = grow([tree("a", node("b"), node("c", equals="x"), node("d"))])
    layout = layout_of(grown)
    (access,) = layout.groups.access.tolist()
    compared = int(layout.atoms.compared[access])
    assert grown.comparisons.op[compared] == TEXT_EQ


def test_where_all_compare_alike_what_is_asked_least_finds() -> None:
    usual = [tree("a", node("b"), node(f"x{n}")) for n in range(5)]
    layout = layout_of(grow(usual))
    found_at = [int(layout.atoms.route[atom]) for atom in layout.groups.access.tolist()]
    assert len(set(found_at)) == 5


@given(st.lists(st.tuples(st.integers(0, 20), st.integers(0, 4)), max_size=6))
def test_stretches_are_laid_one_after_the_other(some: list[tuple[int, int]]) -> None:
    starts, counts = (np.array([pair[n] for pair in some], np.int64) for n in (0, 1))
    expected = [number for start, count in some for number in range(start, start + count)]
    assert ranges_of(starts, counts).tolist() == expected
    assert offsets(counts).tolist() == [sum(counts[:n]) for n in range(len(some) + 1)]


@settings(max_examples=60, deadline=None)
@given(st.lists(patterns(), min_size=1, max_size=8))
def test_every_pattern_is_in_one_group_and_is_found_by_one_atom(chosen: list[TreePattern]) -> None:
    layout = layout_of(grow(chosen))
    assert sorted(layout.groups.members.tolist()) == list(range(len(chosen)))
    assert len(layout.groups.access) == len(set(layout.group_of.tolist()))
    assert (layout.groups.access < len(layout.atoms.route)).all()
    branching = len(layout.postings.heads) - 1
    found = [
        *layout.postings.plain.tolist(),
        *layout.groups.members[: len(chosen) - len(layout.postings.plain)],
    ]
    assert sorted(found) == list(range(len(chosen)))
    assert branching == int((np.diff(layout.groups.branchings_ptr) > 0).sum())


# Variables


def test_a_variable_is_paired_with_the_nearest_variable_above_it() -> None:
    pattern = TreePattern(
        node("a", node("b", node("c", variable="z")), node("d", variable="y"), variable="x")
    )
    bound = bound_of(5, pattern)
    assert [one.name for one in bound.nodes] == ["a", "b", "c", "d"]
    assert bound.parents == (-1, 0, 1, 0)
    assert bound.above == (NOT_BOUND, NOT_BOUND, 0, 0)
    assert bound.is_last == (False, False, True, True)
    assert bound.pairs == ((0, 2), (0, 3))
    assert not bound.is_linear


def test_a_variable_alone_is_paired_with_the_document() -> None:
    bound = bound_of(0, TreePattern(node("a", node("b", variable="x"))))
    assert (bound.above, bound.pairs, bound.is_linear) == ((NOT_BOUND, DOCUMENT), ((DOCUMENT, 1),), True)


def test_a_pattern_that_compares_is_not_linear_and_one_without_variables_binds_nothing() -> None:
    assert not bound_of(0, TreePattern(node("a", node("b", variable="x", equals="1")))).is_linear
    assert binds(node("a", node("b", variable="x")))
    assert not binds(node("a", node("b")))


steps = st.tuples(st.integers(0, 1), st.sampled_from((0, 2, ANY_ELEMENT)))


@settings(max_examples=200, deadline=None)
@given(
    st.lists(steps, min_size=1, max_size=4),
    st.lists(st.sampled_from((0, 2, 4)), min_size=1, max_size=5),
    st.data(),
)
def test_alignments_are_those_of_trying_every_depth(
    wanted: list[tuple[int, int]], labels: list[int], data: st.DataObject
) -> None:
    second = data.draw(st.integers(0, len(wanted) - 1))
    first = data.draw(st.integers(-1, second - 1))
    laid = [
        places
        for places in product(range(len(labels)), repeat=len(wanted))
        if places[-1] == len(labels) - 1
        and all(
            is_fitting(labels[place], step, place, before)
            for step, place, before in zip(wanted, places, (-1, *places[:-1]), strict=True)
        )
    ]
    expected = {(second, places[first] if first >= 0 else -1, places[second]) for places in laid}
    assert alignments(wanted, labels, [(first, second)]) == sorted(expected)


def is_fitting(label: int, step: tuple[int, int], place: int, before: int) -> bool:
    is_deep, name = step
    return (place > before if is_deep else place == before + 1) and name in (label, ANY_ELEMENT)


# Documents


def test_a_document_is_written_as_lxml_has_it_and_plainly_where_that_is_odd() -> None:
    found = tree_of('<a k="1&amp;2"><![CDATA[<x>]]><b xmlns:p="u:p" p:q="\'"/>t</a>')
    assert isinstance(found, DocumentTree)
    assert found.xml.startswith(b"<a k=")
    plain = written_plainly(found.root).decode()
    assert plain == '<a k="1&amp;2">&lt;x&gt;<b p:q="\'"></b>t</a>'


def test_bounds_are_those_of_one_document() -> None:
    trees = compile_trees([tree("b")], bounds=TreeBounds(max_nodes=4, max_depth=2))
    found = trees.matches_of(tree_of(one) for one in ("<a><b/><b/></a>", "<a><b/><b/><b/><b/></a>", "<b/>"))
    assert [found.of(place).tolist() for place in range(3)] == [[0], [], [0]]
    assert list(found.refused) == [1]
    assert "more than 4 nodes or is deeper than 2" in str(found.refused[1])


def test_label_paths_keep_their_numbers_when_their_table_grows() -> None:
    paths = PathTable()
    paths.room.parent[1:4], paths.room.label[1:4] = (0, 1, 1), (2, 4, 6)
    paths.room.used[0] = 4
    paths.grow()
    assert len(paths) == 4
    assert [paths.labels(path) for path in range(4)] == [(), (2,), (2, 4), (2, 6)]
    assert len(paths.room.keys) == 2048
    assert int((paths.room.keys >= 0).sum()) == 3


def test_the_states_of_label_paths_grow_with_the_patterns_and_not_with_the_documents() -> None:
    trees = compile_trees([tree("a", node("b")), tree("c")])
    names = [f"x{n}" for n in range(50)]
    trees.matches_of(tree_of(f"<a><{name}><b/></{name}><b/></a>") for name in names)
    assert len(trees._automaton.states) <= 6
    assert len(trees._paths) <= 5
