"""Documents in which a pattern lies in very many ways cost no more than their pairs of nodes."""

from __future__ import annotations

from feedweir.match.trees import compile_trees
from feedweir.plan.predicates import PatternNode, TreePattern


def deep(steps: int) -> TreePattern:
    """`//a->x//a//a…//b->y`: between its two variables it lies in a chain in as many ways as steps can be chosen."""
    node = PatternNode("//", "b", variable="y")
    for _ in range(steps):
        node = PatternNode("//", "a", children=(node,))
    return TreePattern(PatternNode("//", "a", variable="x", children=(node,)))


def test_steps_between_variables_are_not_tried_in_every_combination() -> None:
    document = "<a>" * 200 + "<b>1</b>" + "</a>" * 200
    found = compile_trees([deep(8)]).witnesses([document])
    pairs = {(one, two) for one, two in zip(found.node1, found.node2, strict=True) if one >= 0}
    assert len(pairs) == 200 - 8, "each of the upper nodes once"


def test_what_does_not_fit_above_gives_no_pair() -> None:
    document = "<r><a><c><b>1</b></c></a><a><a><b>2</b></a></a></r>"
    found = compile_trees([deep(1)]).witnesses([document])
    assert len({*zip(found.node1, found.node2, strict=True)} - {(-1, -1)}) == 1
