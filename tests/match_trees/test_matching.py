from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import etree

from feedweir.errors import DocumentError, LanguageError
from feedweir.match.trees import TreeBounds, compile_trees, tree_of, xpath_of
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


@settings(max_examples=60, deadline=None)
@given(st.lists(patterns(), min_size=1, max_size=8), st.lists(elements(), max_size=6), st.integers(1, 300))
def test_a_batch_is_answered_as_its_documents_are_however_it_is_cut(
    chosen: list[TreePattern], roots: list[Any], cut: int
) -> None:
    trees = compile_trees(chosen)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("feedweir.match.trees.tree_set._CHUNK_BYTES", cut)
        found = trees.matches_of([tree_of(root) for root in roots])
    assert [found.of(place).tolist() for place in range(len(roots))] == [
        by_lxml(chosen, root) for root in roots
    ]


def test_what_is_found_is_written_down_in_several_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("feedweir.match.trees.tree_set._ROOM", 1)
    trees = compile_trees([TreePattern(step(name, axis="//")) for name in ("a", "b", "*")])
    documents = [tree_of(xml) for xml in ("<a><b/></a>", "<b/>", "<c/>", "<a/>")]
    found = trees.matches_of(documents * 50)
    expected = [[0, 1, 2], [1, 2], [2], [0, 2]] * 50
    assert [found.of(place).tolist() for place in range(200)] == expected


@settings(max_examples=60, deadline=None)
@given(st.lists(patterns(), min_size=1, max_size=8), st.lists(elements(), min_size=5, max_size=12))
def test_a_large_document_listed_by_name_and_value_is_answered_as_lxml_does(
    chosen: list[TreePattern], parts: list[Any]
) -> None:
    root = etree.Element("r")
    for part in parts * 8:
        root.append(deepcopy(part))
    assert compile_trees(chosen).matches(root).tolist() == by_lxml(chosen, root)


@settings(max_examples=50, deadline=None)
@given(st.lists(patterns(), min_size=1, max_size=8), st.lists(elements(), min_size=2, max_size=6))
def test_forgetting_never_changes_an_answer(chosen: list[TreePattern], roots: list[Any]) -> None:
    trees = compile_trees(chosen)
    trees.memory.max_paths = 1
    assert [trees.matches(root).tolist() for root in roots] == [by_lxml(chosen, root) for root in roots]


def step(name: str, *below: PatternNode, axis: Any = "/", equals: str | None = None) -> PatternNode:
    return PatternNode(axis, name, below, "", None if equals is None else "=", equals)


def test_branches_side_by_side_at_different_depths_are_each_verified() -> None:
    first = step("b", step("c", step("x"), step("y")))
    second = step("b", step("c", step("d", step("x"), step("z"))))
    wanted = TreePattern(step("a", first, second))
    half = "<a><b><c><x/><y/></c><c><d><x/></d><d><z/></d></c></b></a>"
    whole = "<a><b><c><x/><y/></c><c><d><x/></d><d><z/><x/></d></c></b></a>"
    trees = compile_trees([wanted])
    assert [len(trees.matches(xml)) for xml in (half, whole)] == [0, 1]


def test_nodes_within_nodes_are_not_tried_again_and_again() -> None:
    wanted = step("x", axis="//")
    for _ in range(20):
        wanted = step("a", wanted, step("b", axis="//"), axis="//")
    deep = "<a>" * 200 + "<b/>" + "</a>" * 200
    assert compile_trees([TreePattern(wanted)]).matches(f"<r>{deep}<c><x/></c></r>").tolist() == []
    assert compile_trees([TreePattern(wanted)]).matches(
        f"<r>{deep.replace('<b/>', '<b/><x/>')}</r>"
    ).tolist() == [0]


NUMBERS = (
    "7",
    " 7 ",
    "7.0",
    "007",
    "-.5",
    "5.",
    ".",
    "-",
    "",
    "+5",
    "- 5",
    "1e3",
    "1E-2",
    "5e",
    "1e+",
    "1 e3",
    "NaN",
)
NUMBERS += (
    "0.1",
    "300.25",
    "123456789012345",
    "1234567890123456",
    "\xa07",
    "7x",
    "1.2.3",
    "--1",
    "1,5",
    "\t12\n",
)


@pytest.mark.parametrize("text", NUMBERS)
def test_texts_read_as_the_numbers_that_lxml_reads(text: str) -> None:
    chosen = [
        TreePattern(PatternNode("/", "a", (), "", op, value))
        for op in ("=", "!=", "<", "<=", ">", ">=")
        for value in (7.0, -0.5, 5.0, 1000.0, 0.01, 0.1, 300.25, 123456789012345.0)
    ]
    root = etree.Element("a")
    root.text = text
    assert compile_trees(chosen).matches(root).tolist() == by_lxml(chosen, root)


@settings(max_examples=100, deadline=None)
@given(
    st.lists(
        st.sampled_from(("x", "&", "<", ">", '"', "'", "\n", "\t", "\r", "é", "𝒳", "]]>", "\u0085")),
        max_size=6,
    )
)
def test_a_value_is_what_was_written_whatever_its_characters(parts: list[str]) -> None:
    text = "".join(parts)
    root = etree.Element("a")
    root.set("k", text)
    root.text = text
    inside = etree.SubElement(root, "b")
    inside.text, inside.tail = text, text
    wanted = [
        TreePattern(step("a", step("@k", equals=text))),
        TreePattern(step("a", equals=text * 3)),
        TreePattern(step("b", axis="//", equals=text)),
    ]
    assert compile_trees(wanted).matches(root).tolist() == [0, 1, 2]


def test_sections_and_references_that_were_left_alone_are_read_too() -> None:
    parser = etree.XMLParser(resolve_entities=False, recover=True, strip_cdata=False)
    xml = '<a xmlns:p="urn:p" p:k="1&amp;2">x&nbsp;y<b>&foo;q<!--c-->r<?i x?>s</b>t<![CDATA[<z>&]]>u<c/>w</a>'
    root = etree.fromstring(xml, parser)
    wanted = [
        TreePattern(step("a", step("@p:k", equals="1&2"), step("c"), equals=root.xpath("string()"))),
        TreePattern(step("a", step("b", equals="qrs"))),
    ]
    assert compile_trees(wanted).matches(root).tolist() == by_lxml(wanted, root) == [0, 1]
    among = compile_trees(wanted).matches_of([tree_of(one) for one in ("<a/>", root, "<a><b>qrs</b></a>")])
    assert [among.of(place).tolist() for place in range(3)] == [[], [0, 1], [1]]


def test_declared_namespaces_are_not_attributes() -> None:
    xml = '<a xmlns="urn:a" xmlns:p="urn:p"><b/></a>'
    assert compile_trees([TreePattern(step("@*", axis="//"))]).matches(xml).tolist() == []


def test_a_document_beyond_the_bounds_is_refused_among_others() -> None:
    trees = compile_trees([TreePattern(step("b", axis="//"))], bounds=TreeBounds(max_nodes=10))
    found = trees.matches_of([tree_of(one) for one in ("<b/>", "<a>" + "<b/>" * 20 + "</a>", "<a><b/></a>")])
    assert [found.of(place).tolist() for place in range(3)] == [[0], [], [0]]
    assert list(found.refused) == [1]


def test_names_that_no_pattern_has_make_no_new_paths() -> None:
    trees = compile_trees([TreePattern(step("a", step("b"), axis="//"))])
    trees.matches("<r>" + "".join(f"<n{i} k{i}='1'/>" for i in range(500)) + "</r>")
    assert len(trees._paths) == 4


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
