from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import etree

from feedweir.match.trees import TreeBounds, compile_trees
from feedweir.match.trees.patterns.bound_patterns import NOT_BOUND, bound_of
from feedweir.plan.predicates import PatternNode, TreePattern
from tests.match_trees import naive
from tests.match_trees.strategies import elements, patterns

Row = tuple[int, int, int, int, int]


def obvious_rows(chosen: list[TreePattern], roots: list[Any]) -> tuple[list[Row], dict[tuple[int, int], str]]:
    rows: set[Row] = set()
    values: dict[tuple[int, int], str] = {}
    for document, root in enumerate(roots):
        nodes = naive.document(root)
        for number, pattern in enumerate(chosen):
            bound = bound_of(number, pattern)
            for embedding in naive.embeddings(pattern, nodes):
                for node, above in enumerate(bound.above):
                    if above != NOT_BOUND:
                        first = embedding[above] if above >= 0 else -1
                        rows.add((document, number, node, first, embedding[node]))
                        if bound.is_last[node]:
                            values[document, embedding[node]] = nodes[embedding[node]].value
    return sorted(rows), values


@settings(max_examples=200, deadline=None)
@given(st.lists(patterns(binds=True), min_size=1, max_size=6), st.lists(elements(), min_size=1, max_size=3))
def test_witnesses_are_the_bindings_of_all_embeddings(chosen: list[TreePattern], roots: list[Any]) -> None:
    found = compile_trees(chosen).witnesses(roots)
    columns = (found.document, found.pattern, found.variable, found.node1, found.node2)
    rows, values = obvious_rows(chosen, roots)
    assert list(zip(*(column.tolist() for column in columns), strict=True)) == rows
    keys = zip(found.value_document.tolist(), found.value_node.tolist(), strict=True)
    assert dict(zip(keys, found.values, strict=True)) == values


def test_a_pattern_that_binds_every_pair_of_nodes_hits_the_bound_and_only_there() -> None:
    every = TreePattern(PatternNode("//", "*", (PatternNode("//", "*", (), "y"),), "x"))
    large = etree.fromstring("<a>" * 100 + "</a>" * 100)
    small = etree.fromstring("<a><b/></a>")
    found = compile_trees([every], bounds=TreeBounds(max_witnesses=1000)).witnesses([small, large, small])
    assert list(found.refused) == [1]
    assert "1,000 pairs" in str(found.refused[1])
    assert found.document.tolist() == [0, 2]


def test_a_branching_pattern_hits_the_same_bound() -> None:
    every = TreePattern(
        PatternNode("//", "*", (PatternNode("//", "*", (), "y"), PatternNode("//", "a")), "x")
    )
    large = etree.fromstring("<a>" * 100 + "</a>" * 100)
    found = compile_trees([every], bounds=TreeBounds(max_witnesses=1000)).witnesses([large])
    assert list(found.refused) == [0]
    assert len(found.document) == 0
