"""Plans as trees and as pictures: every node once, and every edge."""

from __future__ import annotations

from datetime import timedelta
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from feedweir.language.plan_text import dot, explain, label
from feedweir.plan.nodes import Feed, Filter, Node, Source, Union, Window
from feedweir.plan.predicates import Contains, Term
from feedweir.plan.walk import inputs_of
from feedweir.plan.window_lengths import LastItems, TimeSpan
from tests.optimize.generated import predicates

RIVER = Contains("title", (Term("river"),), 1)

leaves = st.sampled_from(("s1", "s2", "*")).map(Source) | st.sampled_from(("News", "It's")).map(Feed)
plans = st.recursive(
    leaves,
    lambda inner: (
        st.builds(Filter, inner, predicates(leaves=2))
        | st.lists(inner, min_size=1, max_size=3).map(lambda inputs: Union(tuple(inputs)))
        | st.builds(Window, inner, st.sampled_from((LastItems(5), TimeSpan(timedelta(days=2)))))
    ),
    max_leaves=5,
)


def nodes_of(plan: Node) -> dict[int, Node]:
    """Every object once."""
    found: dict[int, Node] = {}
    waiting = [plan]
    while waiting:
        node = waiting.pop()
        if id(node) not in found:
            found[id(node)] = node
            waiting += inputs_of(node)
    return found


@given(plans)
def test_a_tree_has_a_line_for_every_node_below_the_one_that_reads_it(plan: Node) -> None:
    lines = explain(plan).splitlines()
    assert lines[0] == label(plan)
    depths = [(len(line) - len(line.lstrip())) // 2 for line in lines]
    assert all(later <= earlier + 1 for earlier, later in pairwise(depths))
    assert {label(node) for node in nodes_of(plan).values()} <= {line.strip() for line in lines}


@given(plans)
def test_a_picture_has_every_node_once_and_every_edge(plan: Node) -> None:
    drawn = dot(plan).splitlines()
    nodes = nodes_of(plan).values()
    assert drawn[0] == "digraph plan {"
    assert drawn[-1] == "}"
    assert sum("[label=" in line for line in drawn) == len(nodes)
    assert sum(" -> " in line for line in drawn if "[label=" not in line) == sum(
        len(inputs_of(node)) for node in nodes
    )


def test_what_several_nodes_read_is_shown_once_and_then_named() -> None:
    shared = Filter(Source("s1"), RIVER)
    assert explain(Union((shared, shared))).splitlines() == [
        "∪",
        "  σ title contains 'river'",
        "    source s1",
        "  σ as on line 2",
    ]
    assert dot(Union((shared, shared))).count("n1 -> n0") == 2


def test_quotes_in_a_picture_do_not_end_its_text() -> None:
    spoken = Contains("title", (Term('say "a\\b"'),), 1)
    (line,) = (one for one in dot(Filter(Source("s1"), spoken)).splitlines() if "σ" in one)
    inside = line.partition('label="')[2].removesuffix('"];')
    assert '"' not in inside.replace('\\"', "").replace("\\\\", "")


def test_operators_are_written_as_in_the_algebra() -> None:
    window = Window(Source("s1"), LastItems(5))
    assert label(window) == "ω last 5 items"
    assert label(Source("*")) == "source (every one)"
    assert label(Feed("News")) == "feed News"
