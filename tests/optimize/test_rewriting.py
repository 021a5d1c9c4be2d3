"""Walking plans to replace nodes: what is equal becomes one object, what does not change stays, however deep."""

from __future__ import annotations

from copy import deepcopy

import pytest
from hypothesis import given, settings

from feedweir.language.plan_builder import build
from feedweir.language.queries import Query
from feedweir.optimize.normalisation import MOST_ROUNDS, normalise
from feedweir.optimize.plan_rewriter import downwards, upwards
from feedweir.optimize.rules import RULES
from feedweir.optimize.rules.drop_implied import MOST_ATOMS, shorter
from feedweir.optimize.rules.simplify_booleans import simpler
from feedweir.plan.nodes import AnnotationJoin, Block, Filter, Node, PatternJoin, Source, Union, Window
from feedweir.plan.predicates import (
    TRUE,
    And,
    Compare,
    Contains,
    Not,
    Or,
    PatternNode,
    Relates,
    Term,
    TreePattern,
)
from feedweir.plan.walk import inputs_of, postorder
from feedweir.plan.window_lengths import LastItems
from tests.plan.made import World, queries

A, B, C = (Source(name) for name in "ABC")
PATTERN = TreePattern(PatternNode("//", "item"))


def renamed(node: Node) -> Node:
    return C if node == A else node


@pytest.mark.parametrize("walk", [upwards, downwards])
@given(query=queries())
@settings(max_examples=60, deadline=None)
def test_a_plan_in_which_nothing_changes_is_the_same_plan(walk, query: Query) -> None:
    plan = build(query, World())
    walked = walk(plan, lambda node: node)
    assert walked == plan
    assert walk(walked, lambda node: node) is walked


@pytest.mark.parametrize("walk", [upwards, downwards])
@given(query=queries())
@settings(max_examples=60, deadline=None)
def test_every_node_is_replaced_wherever_it_stands(walk, query: Query) -> None:
    plan = build(query, World())
    changed = walk(plan, renamed)
    assert A not in postorder(changed)
    assert walk(changed, lambda node: node) == changed
    assert len(postorder(changed)) <= len(postorder(plan))


@pytest.mark.parametrize("walk", [upwards, downwards])
@given(query=queries())
@settings(max_examples=60, deadline=None)
def test_equal_parts_of_what_comes_out_are_one_object(walk, query: Query) -> None:
    order = postorder(walk(build(query, World()), lambda node: node))
    assert len({*order}) == len(order)


def test_upwards_a_node_is_changed_after_its_inputs_and_downwards_before() -> None:
    plan = Filter(Filter(A, TRUE), TRUE)
    assert seen(upwards, plan) == ["Source", "Filter", "Filter"]
    assert seen(downwards, plan) == ["Filter", "Filter", "Source"]


def seen(walk, plan: Node) -> list[str]:
    order: list[str] = []

    def note(node: Node) -> Node:
        order.append(type(node).__name__)
        return node

    walk(plan, note)
    return order


def test_what_a_step_gives_downwards_is_walked_in_its_turn() -> None:
    def split(node: Node) -> Node:
        match node:
            case Filter(Union(inputs), predicate):
                return Union(tuple(Filter(input, predicate) for input in inputs))
            case _:
                return node

    plan = Filter(Union((Union((A, B)), C)), TRUE)
    assert all(
        isinstance(inputs_of(one)[0], Source)
        for one in postorder(downwards(plan, split))
        if isinstance(one, Filter)
    )


def test_windows_and_blocks_of_joins_stay_what_they_are() -> None:
    def wrap(node: Node) -> Node:
        return Filter(node, TRUE) if isinstance(node, (Window, Block)) else node

    join = AnnotationJoin("j", A, Window(B, LastItems(3)), Relates("author", "=", "author"))
    assert upwards(join, wrap) == join
    pattern = PatternJoin("join", Block(A, PATTERN), Block(B, PATTERN), (), LastItems(3))
    assert upwards(pattern, wrap) == pattern
    assert isinstance(upwards(Block(A, PATTERN), wrap), Filter)


def test_no_walk_recurses_over_a_deep_plan() -> None:
    plan: Node = A
    for _ in range(5_000):
        plan = Filter(plan, TRUE)
    for walk in (upwards, downwards):
        changed = walk(plan, renamed)
        assert len(postorder(changed)) == 5_001
        assert C in postorder(changed)


def has(text: str) -> Contains:
    return Contains(None, (Term(text),), 1)


NUMBERS = [Compare("revision", ">", float(number)) for number in range(MOST_ATOMS + 2)]


@pytest.mark.parametrize(
    "predicate",
    [
        NUMBERS[0],
        And((has("a"), has("b"))),
        And(tuple(Compare("title", "=", str(number)) for number in range(MOST_ATOMS + 1))),
        Or((And((NUMBERS[0], has("a"))), And((NUMBERS[0], has("b"), has("c"))))),
    ],
)
def test_what_gets_no_shorter_is_left_as_it_is(predicate) -> None:
    equal = deepcopy(predicate)
    assert shorter(predicate) is predicate
    assert shorter(equal) is equal


def test_a_weaker_part_goes_and_a_contradiction_is_false() -> None:
    assert shorter(And((NUMBERS[3], NUMBERS[1]))) == NUMBERS[3]
    assert shorter(And((NUMBERS[3], Or((NUMBERS[1], has("a")))))) == NUMBERS[3]
    assert shorter(And((NUMBERS[3], Not(NUMBERS[1])))) == Or(())


def test_words_stay_as_they_were_written() -> None:
    words = And((has("a"), has("a")))
    assert simpler(words) is words
    assert shorter(words) is words
    assert simpler(And((NUMBERS[0], NUMBERS[0]))) == NUMBERS[0]


@given(queries(most_joins=1))
@settings(max_examples=40, deadline=None)
def test_rules_come_to_an_end_long_before_they_are_stopped(query: Query) -> None:
    heard: list[str] = []
    plan = build(query, World())
    normal = normalise(plan, lambda name: None, on_change=lambda rule, _: heard.append(rule))
    assert len(heard) < MOST_ROUNDS
    assert set(heard) <= {rule.__name__ for rule in RULES} | {"expand_feeds"}
    for rule in RULES:
        assert rule(normal) is normal
