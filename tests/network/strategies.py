"""Small views over a small vocabulary, so that they often embed in each other."""

from __future__ import annotations

from hypothesis import strategies as st

from feedweir.network.views import Returned, TreeBranch, laid_out
from feedweir.plan.predicates import PatternNode


@st.composite
def nodes(draw: st.DrawFn, depth: int = 0) -> PatternNode:
    is_attribute = depth > 0 and draw(st.integers(0, 7)) == 0
    name = draw(st.sampled_from(("@id", "@*") if is_attribute else ("a", "b", "a", "b", "c", "*")))
    children: list[PatternNode] = []
    if depth < 2 and not is_attribute:
        children = draw(st.lists(nodes(depth + 1), max_size=2))
    op, value = None, None
    if draw(st.integers(0, 3)) == 0:
        op = draw(st.sampled_from(("=", "!=", "<", ">", ">=")))
        value = draw(st.sampled_from(("x", "7", 7.0, 3.5)))
    return PatternNode(draw(st.sampled_from(("/", "//"))), name, tuple(children), "", op, value)  # type: ignore[arg-type]


@st.composite
def branches(draw: st.DrawFn, most_nodes: int = 4) -> TreeBranch:
    root = draw(nodes().filter(lambda node: len(laid_out(node)) <= most_nodes))
    places = st.integers(0, len(laid_out(root)) - 1)
    chosen = draw(st.sets(st.tuples(places, st.sampled_from(("val", "cont"))), max_size=3))
    returned = tuple(Returned(node, kind, f"n{node}") for node, kind in sorted(chosen))  # type: ignore[arg-type]
    return TreeBranch("S", root, returned)
