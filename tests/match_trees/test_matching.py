from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import etree

from feedweir.errors import DocumentError, LanguageError
from feedweir.match.trees import TreeBounds, compile_trees, xpath_of
from feedweir.plan.predicates import PatternNode, TreePattern
from tests.match_trees.strategies import elements, patterns


def by_lxml(chosen: list[TreePattern], root: Any) -> list[int]:
    tree = etree.ElementTree(root)
    return [number for number, pattern in enumerate(chosen) if tree.xpath(f"boolean({xpath_of(pattern)})")]


@settings(max_examples=300, deadline=None)
@given(st.lists(patterns(), min_size=1, max_size=12), st.lists(elements(), min_size=1, max_size=4))
def test_all_patterns_together_match_what_lxml_says_of_each(
    chosen: list[TreePattern], roots: list[Any]
) -> None:
    trees = compile_trees(chosen)
    for root in roots:
        assert trees.matches(root).tolist() == by_lxml(chosen, root)


@settings(max_examples=50, deadline=None)
@given(st.lists(patterns(), min_size=1, max_size=8), st.lists(elements(), min_size=2, max_size=6))
def test_forgetting_never_changes_an_answer(chosen: list[TreePattern], roots: list[Any]) -> None:
    trees = compile_trees(chosen)
    trees.memory.max_paths = 1
    assert [trees.matches(root).tolist() for root in roots] == [by_lxml(chosen, root) for root in roots]


def test_names_are_compared_as_the_document_writes_them() -> None:
    xml = '<item xmlns="urn:feed" xmlns:dc="urn:dc"><dc:creator dc:role="x">Ada</dc:creator></item>'
    creator = PatternNode("/", "dc:creator", (PatternNode("/", "@dc:role"),), "", "=", "Ada")
    wanted = TreePattern(PatternNode("//", "item", (creator,)))
    assert compile_trees([wanted]).matches(xml).tolist() == [0]
    assert etree.fromstring(xml).xpath(xpath_of(wanted))


def test_equal_patterns_are_matched_once_and_reported_each() -> None:
    one = TreePattern(PatternNode("//", "a", (PatternNode("/", "b"), PatternNode("/", "c"))))
    other = TreePattern(PatternNode("//", "a", (PatternNode("/", "c"), PatternNode("/", "b"))))
    trees = compile_trees([one, other, one])
    assert trees.matches("<a><b/><c/></a>").tolist() == [0, 1, 2]
    assert len(trees.layout.groups.access) == 1


def test_comments_and_instructions_are_not_part_of_a_value() -> None:
    wanted = TreePattern(PatternNode("/", "a", (), "", "=", "xy"))
    assert compile_trees([wanted]).matches("<a>x<!-- no --><?no no?>y</a>").tolist() == [0]


def test_text_that_is_not_xml_is_refused_with_a_hint() -> None:
    with pytest.raises(DocumentError, match="not well-formed"):
        compile_trees([TreePattern(PatternNode("/", "a"))]).matches("<a><b></a>")


def test_a_document_that_declares_entities_is_refused() -> None:
    bomb = '<!DOCTYPE a [<!ENTITY x "xxxxxxxxxx">]><a>&x;</a>'
    with pytest.raises(DocumentError, match="declares entities"):
        compile_trees([TreePattern(PatternNode("/", "a"))]).matches(bomb)


def test_a_document_beyond_the_bounds_is_refused() -> None:
    trees = compile_trees([TreePattern(PatternNode("//", "a"))], bounds=TreeBounds(max_nodes=10, max_depth=5))
    with pytest.raises(DocumentError, match="10 nodes"):
        trees.matches("<a>" + "<b/>" * 20 + "</a>")
    with pytest.raises(DocumentError, match="deeper than 5"):
        trees.matches("<a>" * 8 + "</a>" * 8)


def test_a_pattern_too_large_is_refused() -> None:
    wide = PatternNode("//", "a", tuple(PatternNode("/", f"n{i}") for i in range(80)))
    with pytest.raises(LanguageError, match="81 steps"):
        compile_trees([TreePattern(wide)])


def test_no_patterns_match_nothing() -> None:
    assert compile_trees([]).matches("<a/>").tolist() == []
