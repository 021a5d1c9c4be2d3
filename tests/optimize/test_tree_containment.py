"""Which tree patterns imply which: compared with the naive evaluator, on documents that separate them."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest
from hypothesis import assume, given, settings
from lxml import etree

from feedweir.items.model import Item
from feedweir.language.tokens import Cursor
from feedweir.language.tree_patterns import tree_pattern
from feedweir.match.trees.tree_codes import EXISTS, TEXT_EQ, TEXT_NE, comparison_of
from feedweir.optimize.containment import relations
from feedweir.optimize.tree_containment import condition_implies, satisfies, tree_implies
from feedweir.plan.predicates import And, Compare, PatternNode, TreePattern
from tests.match_trees.strategies import patterns
from tests.naive import LONG_AGO, has_tree_pattern, xpath_compares


def read(text: str) -> TreePattern:
    return tree_pattern(Cursor(text))


def item_of(root: Any) -> Item:
    return Item(identity="1", source="S", arrived=LONG_AGO, raw=etree.tostring(root).decode())


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("/a/b", "//b"),
        ("//a[b][c]", "//a[c]"),
        ("//a/b/c", "//a//c"),
        ("//a[b = 5]", "//a/b"),
        ("//a[b = 5]", "//a[b > 3]"),
        ("//a[b = 'x']", "//a[b != 'y']"),
        ("//a[b > 5]", "//a[b >= 5]"),
        ("//a[b > 5]", "//a[b != 5]"),
        ("//a/*//b", "//a//*/b"),
        ("//a//*/b", "//a/*//b"),
        ("//a//b/c", "//a/*//c"),
        ("//a//b", "//a/*"),
        ("//a/b/c", "//*/*/*"),
        ("//a/@id", "//a//@id"),
        ("//a/@id", "//a/@*"),
    ],
)
def test_one_pattern_implies_another_and_not_the_other_way_unless_they_are_equal(
    one: str, other: str
) -> None:
    assert tree_implies(read(one), read(other))
    is_same = {one, other} == {"//a/*//b", "//a//*/b"}
    assert tree_implies(read(other), read(one)) is is_same


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("//a//b", "//a/b"),
        ("//a", "//a[. = 'x']"),
        ("//a[. >= 5]", "//a[. > 5]"),
        ("//a[. != 5]", "//a[. < 5]"),
        ("//a/b", "//b/a"),
        ("//a/@id", "//a/*"),
        ("//a//b", "//a/*/b"),
    ],
)
def test_patterns_that_do_not_imply(one: str, other: str) -> None:
    assert not tree_implies(read(one), read(other))


@given(patterns(), patterns())
@settings(max_examples=300, deadline=None)
def test_what_is_implied_holds_of_every_document_of_the_pattern(one: TreePattern, other: TreePattern) -> None:
    assume(tree_implies(one, other))
    for root in models(one, most=2):
        item = item_of(root)
        if has_tree_pattern(one, item):
            assert has_tree_pattern(other, item)


@given(patterns(), patterns())
@settings(max_examples=400, deadline=None)
def test_what_is_not_implied_fails_on_a_document(one: TreePattern, other: TreePattern) -> None:
    one, other = TreePattern(bare(one.root)), TreePattern(bare(other.root))
    assume(size(one.root) <= 5)
    assume(not has_branching_star(other.root))
    if not tree_implies(one, other):
        assert any(
            not has_tree_pattern(other, item_of(root)) for root in models(one, most=size(other.root) + 1)
        )


CONDITIONS = [(op, value) for op in ("=", "!=", "<", "<=", ">", ">=") for value in (3.0, 5.0, "5", "x", "y")]


@pytest.mark.parametrize("one", CONDITIONS)
@pytest.mark.parametrize("other", CONDITIONS)
def test_a_comparison_implies_another_exactly_when_every_value_says_so(one: Any, other: Any) -> None:
    values = ("2", "3", "4", "5", "5.0", " 5", "6", "x", "y", "z", "")
    a, b = (comparison_of(PatternNode("/", "a", op=op, value=value)) for op, value in (one, other))
    meant = [v for v in values if xpath_compares(v, *one)]
    assert meant == [v for v in values if satisfies(v, a)]
    is_never = not meant
    if condition_implies(a, b):
        assert all(xpath_compares(v, *other) for v in meant)
    elif not is_never:
        assert not all(xpath_compares(v, *other) for v in meant)


def test_every_value_satisfies_no_comparison() -> None:
    assert satisfies("x", (EXISTS, "", 0.0))
    assert not condition_implies((EXISTS, "", 0.0), (TEXT_EQ, "x", 0.0))
    assert not condition_implies((EXISTS, "", 0.0), (TEXT_NE, "x", 0.0))


def test_advice_at_creation_knows_tree_patterns() -> None:
    narrow = And((read("//item[category = 'rock']"), Compare("language", "=", "en")))
    (advice,) = relations({"": narrow}, {"Rock": {"": read("//category")}})
    assert str(advice) == "contained in Rock"


# Documents that a pattern holds of


def models(pattern: TreePattern, most: int) -> Any:
    """The canonical documents of a pattern: `//` as up to so many levels between, `*` as an unknown name."""
    edges = [node for node in nodes_of(pattern.root) if node.axis == "//"]
    for levels in product(range(most + 1), repeat=min(len(edges), 3)):
        gaps = dict(zip(map(id, edges), levels, strict=False))
        top = etree.Element("document")
        if build(pattern.root, top, gaps) and len(top) == 1:
            yield top[0]


def build(node: PatternNode, above: Any, gaps: dict[int, int]) -> bool:
    for _ in range(gaps.get(id(node), 0)):
        above = etree.SubElement(above, "z")
    if node.name.startswith("@"):
        if above.tag == "document":
            return False
        above.set("z" if node.name == "@*" else node.name[1:], value_for(node))
        return True
    here = etree.SubElement(above, "z" if node.name == "*" else node.name)
    here.text = value_for(node)
    return all(build(child, here, gaps) for child in node.children)


def value_for(node: PatternNode) -> str:
    return str(node.value) if node.value is not None and node.op in ("=", "<=", ">=") else "0"


def bare(node: PatternNode) -> PatternNode:
    children = tuple(bare(child) for child in node.children if not child.name.startswith("@"))
    return PatternNode(node.axis, node.name, children)


def nodes_of(node: PatternNode) -> list[PatternNode]:
    return [node, *(inner for child in node.children for inner in nodes_of(child))]


def size(node: PatternNode) -> int:
    return len(nodes_of(node))


def has_branching_star(node: PatternNode) -> bool:
    return any(inner.name == "*" and len(inner.children) > 1 for inner in nodes_of(node))
