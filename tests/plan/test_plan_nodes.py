"""Walking plans, filling templates, and what each node says of itself."""

from __future__ import annotations

from datetime import timedelta
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from feedweir.items.model import Item
from feedweir.language.plan_builder import build, same_story, sides_apart
from feedweir.language.plan_text import explain, label
from feedweir.language.queries import Join, Named, Query
from feedweir.plan.construction import filled, holes_of
from feedweir.plan.nodes import (
    AnnotationJoin,
    Block,
    Distinct,
    Feed,
    Filter,
    Node,
    PatternJoin,
    Source,
    Union,
    Window,
)
from feedweir.plan.predicates import (
    TRUE,
    And,
    Compare,
    JoinAnd,
    JoinPredicate,
    Or,
    PatternNode,
    Predicate,
    Relates,
    TreePattern,
    conjunction,
)
from feedweir.plan.walk import inputs_of, map_inputs, postorder, rebuilt, with_inputs
from feedweir.plan.window_lengths import LastItems, TimeSpan
from tests.language.generated import item_atoms, join_predicates
from tests.naive import holds, relates
from tests.plan.made import World, histories, queries

A, B = Source("A"), Source("B")
PATTERN = TreePattern(PatternNode("//", "item", (), "x"))
BLOCK = Block(A, PATTERN)
WINDOW = Window(B, LastItems(5))
SAME = Relates("author", "=", "author")
NODES: list[Node] = [
    A,
    Feed("V"),
    Filter(A, TRUE),
    Union((A, B)),
    WINDOW,
    AnnotationJoin("j", A, WINDOW, SAME),
    Distinct("d", A, TimeSpan(timedelta(days=7)), SAME),
    BLOCK,
    PatternJoin("followed by", BLOCK, Block(B, PATTERN), (("x", "y"),), LastItems(3)),
]


@pytest.mark.parametrize("node", NODES, ids=lambda node: type(node).__name__)
def test_a_node_over_its_own_inputs_is_itself(node: Node) -> None:
    assert with_inputs(node, inputs_of(node)) == node
    assert map_inputs(node, lambda input: input) is node


@pytest.mark.parametrize("node", NODES, ids=lambda node: type(node).__name__)
def test_a_changed_input_is_read_in_place_of_the_old_one(node: Node) -> None:
    changed = rebuilt(node, lambda inner: Source("C") if inner == A else inner)
    assert (changed is node) == (A not in postorder(node))
    assert [inner for inner in postorder(changed) if inner == A] == []


def test_a_join_refuses_inputs_that_are_no_windows_and_no_blocks() -> None:
    with pytest.raises(TypeError, match="reads a window, not a Source"):
        with_inputs(NODES[5], (A, B))
    with pytest.raises(TypeError, match="reads blocks"):
        with_inputs(NODES[8], (A, BLOCK))


@given(queries())
@settings(max_examples=60, deadline=None)
def test_every_node_stands_once_after_what_it_reads(query: Query) -> None:
    order = postorder(build(query, World()))
    place = {id(node): number for number, node in enumerate(order)}
    assert len(place) == len(order)
    for number, node in enumerate(order):
        assert all(place[id(input)] < number for input in inputs_of(node))


@pytest.mark.parametrize(
    ("node", "said"),
    [
        (A, "source A"),
        (Source("*"), "source (every one)"),
        (Feed("V"), "feed V"),
        (Filter(A, Compare("title", "=", "x")), "σ title = 'x'"),
        (Union((A, B)), "∪"),
        (WINDOW, "ω last 5 items"),
        (AnnotationJoin("F.j", A, WINDOW, SAME), "⋈ F.j: author = window.author"),
        (Distinct("F.d", A, TimeSpan(timedelta(days=7)), SAME), "δ F.d: last 7 days"),
        (BLOCK, "π //item->x"),
        (Block(A, PATTERN, "<a/>"), "π //item->x, select <a/>"),
        (NODES[8], "⋈ followed by x = y, within 3 items"),
        (PatternJoin("join", BLOCK, BLOCK, (), LastItems(1), "<a/>"), "⋈ join within 1 item, select <a/>"),
    ],
)
def test_a_node_says_what_it_does(node: Node, said: str) -> None:
    assert label(node) == said
    assert explain(node).splitlines()[0] == said


def test_what_stands_in_a_plan_twice_is_shown_once() -> None:
    shared = Filter(A, TRUE)
    lines = explain(Union((shared, Filter(shared, TRUE)))).splitlines()
    assert lines == ["∪", "  σ true", "    source A", "  σ true", "    σ as on line 2"]


@given(st.lists(item_atoms, min_size=1, max_size=4), histories(3))
@settings(max_examples=80, deadline=None)
def test_a_conjunction_wants_all_of_its_parts_each_once(parts: list[Predicate], items: list[Item]) -> None:
    together = conjunction((And(tuple(parts)), parts[0]))
    for item in items:
        assert holds(together, item) == all(holds(part, item) for part in parts)
    kept = together.parts if isinstance(together, And) else (together,)
    assert len(set(kept)) == len(kept)


def test_a_conjunction_of_one_is_that_one() -> None:
    one = Or((TRUE,))
    assert conjunction((one, one)) is one


@given(join_predicates, st.sampled_from([LastItems(5), TimeSpan(timedelta(days=3))]), histories(4))
@settings(max_examples=150, deadline=None)
def test_what_is_asked_of_each_side_and_between_them_is_what_was_written(
    predicate: JoinPredicate, window: LastItems | TimeSpan, items: list[Item]
) -> None:
    of_item, of_window, between = sides_apart(Join(window, Named("B"), "", predicate))
    for one in items:
        for other in items:
            apart = (
                all(holds(part, one) for part in of_item)
                and all(holds(part, other) for part in of_window)
                and relates(between, one, other)
            )
            assert apart == relates(predicate, one, other)


def test_a_window_of_a_count_is_counted_before_its_items_are_asked() -> None:
    from feedweir.language import parse

    def plan(window: str) -> str:
        (asked,) = parse(
            f"from A join last {window} on B with [author = window.author and window.language = 'en']"
        )
        return explain(build(asked.query, World()))  # type: ignore[union-attr]

    assert "σ language = 'en'" in plan("3 days")
    assert "σ" not in plan("5 items")


def test_one_story_is_the_same_link_or_tellings_of_different_sources() -> None:
    story = same_story(0.5)
    assert explain(Distinct("d", A, LastItems(3), story)) == "δ d: last 3 items\n  source A"
    _, tells = story.parts  # type: ignore[union-attr]
    assert isinstance(tells, JoinAnd)
    assert tells.parts[1] == Relates(None, "tells", None, 0.5)


@pytest.mark.parametrize(
    ("select", "holes"),
    [
        ("<a>{$x} and {$y}</a>", ("x", "y")),
        ("<a b='{x}'>{ $x }</a>", ("x",)),
        ("<a/>", ()),
        ("<a>{} { }</a>", ()),
        ("<a>{$b_1}{$x'}</a>", ("b_1", "x'")),
    ],
)
def test_the_holes_of_a_template_are_the_variables_it_names(select: str, holes: tuple[str, ...]) -> None:
    assert holes_of(select) == holes


XML_TEXT = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs", "Cn"]), max_size=20)


@given(XML_TEXT, XML_TEXT)
def test_a_value_is_text_wherever_it_is_put(one: str, other: str) -> None:
    made = ElementTree.fromstring(filled("<a b=\"{$x}\" c='{$x}'><d>{y}</d></a>", {"x": one, "y": other}))
    assert made.attrib == {"b": one, "c": one}
    assert made[0].text == (other or None)


def test_a_hole_without_a_value_is_empty() -> None:
    assert filled("<a>{$x}</a>", {}) == "<a></a>"
