"""How a pattern lies in one item, beside trying every node for every step."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import etree

from feedweir.errors import WorkError
from feedweir.items.model import Item
from feedweir.join.patterns.bindings import MAX_EMBEDDINGS, bindings
from feedweir.join.patterns.variables import preorder
from feedweir.plan.predicates import PatternNode, TreePattern
from tests.match_trees import naive
from tests.match_trees.strategies import nodes

NOON = datetime(2026, 6, 1, tzinfo=UTC)


def item(raw: str) -> Item:
    return Item(source="A", identity="1", arrived=NOON, raw=raw)


@st.composite
def named_patterns(draw: st.DrawFn) -> TreePattern:
    """With a variable of its own at every node."""

    def named(node: PatternNode) -> PatternNode:
        children = tuple(named(child) for child in node.children)
        return PatternNode(node.axis, node.name, children, next(names), node.op, node.value)

    names = (f"v{place}" for place in range(100))
    return TreePattern(named(draw(nodes())))


documents = st.sampled_from(
    (
        "<a><b>7</b><b>x</b><c><a>7</a></c></a>",
        "<a id='7'><b b='x'> 12 </b><c id='x'/></a>",
        "<c><c><c>3.5</c></c><a>-1<b/></a></c>",
        "<b>x</b>",
    )
)


@settings(max_examples=150)
@given(named_patterns(), documents, st.data())
def test_a_pattern_lies_in_an_item_in_each_way_that_differs_in_what_is_wanted(
    pattern: TreePattern, raw: str, data: st.DataObject
) -> None:
    names = [node.variable for node in preorder(pattern.root)]
    wanted = frozenset(data.draw(st.lists(st.sampled_from(names), unique=True, max_size=2)))
    tree = naive.document(etree.fromstring(raw))
    expected = {
        tuple(
            sorted(
                (names[place], tree[number].value) for place, number in way.items() if names[place] in wanted
            )
        )
        for way in naive.embeddings(pattern, tree)
    }
    found = bindings(pattern, item(raw), wanted)
    assert set(found) == expected
    assert len(found) == len(expected), "each once"


def step(name: str, *children: PatternNode, variable: str = "", axis: str = "//") -> PatternNode:
    return PatternNode(axis, name, children, variable)  # type: ignore[arg-type]


def test_names_are_written_as_the_document_writes_them() -> None:
    raw = "<e xmlns:m='urn:m' xml:lang='de' m:k='1'><m:t m:k='2'>x</m:t></e>"
    for name, value in [("m:t", "x"), ("@xml:lang", "de"), ("@m:k", "1")]:
        found = bindings(TreePattern(step(name, variable="v")), item(raw), frozenset({"v"}))
        assert (("v", value),) in found


def test_a_document_in_which_a_pattern_lies_in_too_many_ways_gives_the_first_of_them() -> None:
    raw = "<a>" + "".join(f"<b>{n}</b>" for n in range(120)) + "</a>"
    pair = TreePattern(step("a", step("b", variable="x"), step("b", variable="y")))
    assert len(bindings(pair, item(raw), frozenset({"x", "y"}))) == MAX_EMBEDDINGS
    assert len(bindings(pair, item(raw), frozenset({"x"}))) <= 120


def test_a_pattern_that_would_be_tried_for_ever_is_stopped_with_a_hint() -> None:
    raw = "<a>" + "<b/>" * 60 + "</a>"
    many = TreePattern(step("a", *(step("b", variable=f"v{n}") for n in range(8)), step("z")))
    with pytest.raises(WorkError, match="more than 1,000,000 steps") as refused:
        bindings(many, item(raw), frozenset())
    assert "several feeds" in str(refused.value.hint)


def test_one_way_is_enough_where_nothing_is_wanted() -> None:
    assert bindings(TreePattern(step("b", variable="x")), item("<a><b/><b/></a>"), frozenset()) == ((),)
    assert bindings(TreePattern(step("z")), item("<a/>"), frozenset()) == ()
