"""Small documents and patterns over a small vocabulary, so that they often meet."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st
from lxml import etree

from feedweir.plan.predicates import PatternNode, TreePattern

NAMES = ("a", "b", "c")
TEXTS = ("", "x", "7", " 12 ", "3.5", "-1")


@st.composite
def elements(draw: st.DrawFn, depth: int = 0) -> Any:
    element = etree.Element(draw(st.sampled_from(NAMES)))
    element.text = draw(st.sampled_from(TEXTS))
    if draw(st.integers(0, 3)) == 0:
        element.set(draw(st.sampled_from(("id", "b"))), draw(st.sampled_from(TEXTS)))
    if depth < 4:
        for child in draw(st.lists(elements(depth + 1), max_size=3)):
            element.append(child)
            child.tail = draw(st.sampled_from(("", "x")))
    return element


@st.composite
def nodes(draw: st.DrawFn, depth: int = 0, *, binds: bool = False) -> PatternNode:
    is_attribute = depth > 0 and draw(st.integers(0, 5)) == 0
    name = draw(st.sampled_from(("@id", "@b", "@*") if is_attribute else (*NAMES, "*")))
    children: list[PatternNode] = []
    if depth < 3 and not is_attribute:
        children = draw(st.lists(nodes(depth + 1, binds=binds), max_size=2))
    op, value = None, None
    if draw(st.integers(0, 3)) == 0:
        op = draw(st.sampled_from(("=", "!=", "<", "<=", ">", ">=")))
        value = draw(st.sampled_from(("x", "7", "", 7.0, 12.0, 3.5, -1.0)))
    variable = f"v{depth}" if binds and draw(st.booleans()) else ""
    return PatternNode(draw(st.sampled_from(("/", "//"))), name, tuple(children), variable, op, value)  # type: ignore[arg-type]


def patterns(*, binds: bool = False) -> st.SearchStrategy[TreePattern]:
    return nodes(binds=binds).map(TreePattern)
