"""What is kept of the structure of documents never changes an answer."""

from __future__ import annotations

from copy import deepcopy
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import etree

from feedweir.match.trees import TreeSet, compile_trees, tree_of
from feedweir.plan.predicates import PatternNode, TreePattern
from tests.match_trees.strategies import TEXTS, elements, patterns
from tests.match_trees.test_matching import by_lxml, step


def varied(root: Any, chance: Random) -> Any:
    """A document of the same structure with other values; some elements are there several times in a row."""
    made = etree.Element(root.tag)
    made.text = chance.choice(TEXTS)
    for name in root.attrib:
        made.set(name, chance.choice(TEXTS))
    for child in root:
        for _ in range(chance.choice((1, 1, 1, 2, 4))):
            made.append(varied(child, chance))
    return made


def answers(trees: TreeSet, roots: list[Any]) -> list[list[int]]:
    found = trees.matches_of([tree_of(root) for root in roots])
    return [found.of(place).tolist() for place in range(len(roots))]


@settings(max_examples=150, deadline=None)
@given(st.lists(patterns(), min_size=1, max_size=12), elements(), st.randoms(use_true_random=False))
def test_documents_of_one_structure_are_answered_as_lxml_answers_each(
    chosen: list[TreePattern], root: Any, chance: Random
) -> None:
    roots = [root, *(varied(root, chance) for _ in range(5)), deepcopy(root)]
    assert answers(compile_trees(chosen), roots) == [by_lxml(chosen, one) for one in roots]


@settings(max_examples=40, deadline=None)
@given(st.lists(patterns(), min_size=1, max_size=8), elements(), st.randoms(use_true_random=False))
def test_more_structures_than_are_kept_are_answered_alike(
    chosen: list[TreePattern], root: Any, chance: Random
) -> None:
    roots = [varied(root, chance) for _ in range(12)]
    trees = compile_trees(chosen)
    trees.memory.max_results = 1
    trees.forget()
    assert answers(trees, roots * 2) == [by_lxml(chosen, one) for one in roots * 2]


def test_documents_with_more_label_paths_than_there_is_room_for_are_answered_alike() -> None:
    """Combinations of three names, nine deep: some thousand paths."""
    roots = [etree.fromstring(combined(number)) for number in range(0, 3**9, 31)]
    chosen = [TreePattern(step("a", step("b", step("c")), axis="//"))]
    trees = compile_trees(chosen)
    before = len(trees._paths.room.keys)
    assert answers(trees, roots) == [by_lxml(chosen, root) for root in roots]
    assert len(trees._paths.room.keys) > before
    paths = [trees._paths.labels(path) for path in range(len(trees._paths))]
    assert len(set(paths)) == len(paths)
    assert answers(trees, roots) == [by_lxml(chosen, root) for root in roots]


def combined(number: int) -> str:
    """Elements inside each other, named by the digits of a number to the base of three."""
    labels = "".join("abc"[number // 3**place % 3] for place in range(9))
    return "".join(f"<{label}>" for label in labels) + "".join(f"</{label}>" for label in reversed(labels))


def kept(*documents: str) -> int:
    """How many structures there are among documents."""
    wanted = [TreePattern(step("*", step(name), step("@k"), axis="//")) for name in "abc"]
    trees = compile_trees(wanted)
    trees.matches_of([tree_of(document) for document in documents])
    return int(trees.document_shapes.replaced[0])


@pytest.mark.parametrize(
    ("documents", "count"),
    [
        (("<a><b/><b/></a>", "<a><b/><b/><b/></a>", "<a><b>x</b><b/><b>y</b><b/></a>"), 1),
        (("<a><b><c/><c/></b><b><c/><c/><c/></b></a>", "<a><b><c/><c/></b><b><c/><c/></b></a>"), 1),
        (("<a><b/></a>", "<a><b/><b/></a>"), 2),
        (("<a><b/><c/></a>", "<a><b><c/></b></a>"), 2),
        (("<a k=''><b/></a>", "<a><b k=''/></a>"), 2),
        (("<a><b/><b/><b k=''/></a>", "<a><b/><b/></a>"), 2),
        (("<a><b/><b/><c><b/></c></a>", "<a><b/><b/><b/><c/></a>"), 2),
    ],
)
def test_structures_differ_where_patterns_can_tell_them_apart(documents: tuple[str, ...], count: int) -> None:
    assert kept(*documents) == count


def test_an_atom_that_is_true_beside_the_only_place_where_a_pattern_fits_is_not_enough() -> None:
    wanted = TreePattern(step("*", step("a"), step("b", equals="x"), axis="//"))
    trees = compile_trees([wanted])
    beside = "<r><n><a/><b>{}</b></n><m><b>{}</b></m></r>"
    assert [len(trees.matches(beside.format(*two))) for two in ("yx", "xy", "yy", "xx")] == [0, 1, 0, 1]


def test_two_values_must_be_found_below_the_same_node() -> None:
    wanted = TreePattern(step("n", step("a", equals="x"), step("b", equals="x"), axis="//"))
    trees = compile_trees([wanted])
    two = "<r><n><a>{}</a><b>{}</b></n><n><a>{}</a><b>{}</b></n></r>"
    assert [len(trees.matches(two.format(*four))) for four in ("xyyx", "xxyy", "yyxx", "yxxy")] == [
        0,
        1,
        1,
        0,
    ]


def test_patterns_that_differ_in_what_they_compare_with_have_one_shape() -> None:
    wanted = [
        TreePattern(PatternNode("//", "a", (PatternNode("/", "b", (), "", op, value), PatternNode("/", "c"))))
        for op, value in (("=", "x"), ("<", 7.0), ("!=", "y"))
    ]
    wanted.append(TreePattern(step("a", step("b"), step("c"), axis="//")))
    assert len(compile_trees(wanted).layout.shapes.step) == 2
