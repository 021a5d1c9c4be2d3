"""Variables with the same definition are one, whatever they are called and however their branches are written."""

from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from feedweir.join.patterns.templates import block_tree
from feedweir.join.patterns.variables import Variable, plain, preorder, result_variable, signed, variable_of
from feedweir.plan.predicates import PatternNode


def step(name: str, *children: PatternNode, variable: str = "", value: str | None = None) -> PatternNode:
    return PatternNode("/", name, children, variable, None if value is None else "=", value)


patterns = st.recursive(
    st.builds(
        lambda name, variable, value: step(name, variable=variable, value=value),
        st.sampled_from("abc"),
        st.sampled_from(("", "x")),
        st.sampled_from((None, "1")),
    ),
    lambda inner: st.builds(
        lambda name, children: step(name, *children),
        st.sampled_from("abc"),
        st.lists(inner, min_size=1, max_size=3),
    ),
    max_leaves=6,
)


def renamed(node: PatternNode, chance: random.Random) -> PatternNode:
    """With its branches in another order and other names for its variables."""
    children = [renamed(child, chance) for child in node.children]
    chance.shuffle(children)
    name = f"v{chance.random()}" if node.variable else ""
    return PatternNode(node.axis, node.name, tuple(children), name, node.op, node.value)


@given(patterns, st.randoms(use_true_random=False))
def test_neither_names_of_variables_nor_the_order_of_branches_change_what_a_pattern_says(
    pattern: PatternNode, chance: random.Random
) -> None:
    signature, ordered = signed(pattern)
    other, reordered = signed(renamed(pattern, chance))
    assert signature == other
    assert [(one.name, bool(one.variable), one.value) for one in preorder(ordered)] == [
        (one.name, bool(one.variable), one.value) for one in preorder(reordered)
    ]


@given(patterns)
def test_a_pattern_in_order_stays_as_it_is(pattern: PatternNode) -> None:
    _, ordered = signed(pattern)
    assert signed(ordered)[1] == ordered
    assert len(preorder(ordered)) == len(preorder(pattern))


def test_patterns_that_compare_otherwise_are_told_apart() -> None:
    said = [
        step("a", step("b", value="1")),
        step("a", step("b", value="2")),
        step("a", step("b")),
        step("a", step("b", variable="x")),
        step("a", step("c")),
        step("a", step("b"), step("b")),
        PatternNode("//", "a", (step("b"),)),
    ]
    assert len({signed(one)[0] for one in said}) == len(said)


def test_a_condition_has_no_variables_and_none_of_its_branches_twice() -> None:
    written = step("a", step("c", variable="x"), step("b"), step("b", variable="y"))
    assert plain(written) == step("a", step("b"), step("c"))


def end_of(
    root: PatternNode, name: str, *, ends: frozenset[int] | None = None, stream: str = "s"
) -> Variable:
    """The variable of the end that is called so; its path are the nodes above it that have a name."""
    tree = block_tree(root)
    end = tree.named()[name]
    path = [end]
    node = tree.parents[end]
    while node >= 0:
        if tree.nodes[node].variable:
            path.append(node)
        node = tree.parents[node]
    return variable_of(stream, tree, end, tuple(reversed(path)), ends or frozenset({end}))


def test_a_variable_is_the_path_to_it_with_the_conditions_that_hang_off_that_path() -> None:
    root = step("item", step("kind", value="news"), step("by", step("name", variable="n")))
    assert end_of(root, "n").pattern is not None
    condition = step("kind", value="news")
    expected = step("item", step("by", step("name", variable="x")), condition)
    assert end_of(root, "n").pattern.root == expected  # type: ignore[union-attr]
    assert end_of(root, "n").places == (2,)


def test_named_nodes_on_the_path_are_bound_too_the_topmost_first() -> None:
    root = step("item", step("by", step("name", variable="n"), variable="b"), variable="i")
    found = end_of(root, "n")
    assert found.places == (0, 1, 2)


def test_what_leads_to_another_end_is_no_condition_of_this_one() -> None:
    root = step("item", step("a", variable="x"), step("b", variable="y"))
    both = frozenset({1, 2})
    assert end_of(root, "x", ends=both) == end_of(step("item", step("a", variable="q")), "q")
    assert end_of(root, "x") != end_of(root, "x", ends=both), "alone, that there is a b is a condition"


def test_the_same_path_in_another_stream_is_another_variable() -> None:
    root = step("item", step("a", variable="x"))
    assert end_of(root, "x").number != end_of(root, "x", stream="t").number


def test_a_variable_of_a_result_is_known_by_its_stream_and_name() -> None:
    numbers = {
        result_variable(stream, name).number for stream in ("join 1", "join 2") for name in ("", "a", "b")
    }
    assert len(numbers) == 6
    assert result_variable("join 1", "a") == result_variable("join 1", "a")
    assert result_variable("join 1", "a").pattern is None
