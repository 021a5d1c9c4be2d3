"""Normalisation: any plan to the four-level form of sources, filters, windows and joins, unions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from feedweir.errors import FeedweirError
from feedweir.optimize.rules import RULES, Rule, expand_feeds
from feedweir.plan import inputs_of
from feedweir.plan.expand import Lookup
from feedweir.plan.nodes import (
    AnnotationJoin,
    Block,
    Distinct,
    Feed,
    Filter,
    LastItems,
    Node,
    PatternJoin,
    Source,
    Union,
    Window,
)

MAX_ROUNDS = 100
"""Each round brings a filter down by a level at least; no plan that a person wrote is as deep as this."""


def normalise(node: Node, lookup: Lookup, *, rules: Sequence[Rule] = RULES) -> Node:
    """An equivalent plan in four-level form; the same object when it has that form already."""
    expanded = expand_feeds(node, lookup)
    check(node, expanded, "expand_feeds")
    current = expanded
    for _ in range(MAX_ROUNDS):
        changed = _round(current, rules)
        if changed is current:
            return current
        current = changed
    raise FeedweirError(f"the rules did not come to an end in {MAX_ROUNDS} rounds")


def _round(node: Node, rules: Sequence[Rule]) -> Node:
    for rule in rules:
        changed = rule(node)
        if changed is not node:
            check(node, changed, rule.__name__)
        node = changed
    return node


def check(before: Node, after: Node, rule: str) -> None:
    """What must hold after every rule, whatever it does; the error names the rule."""
    for what, old, new in (
        ("source", _sources(before), _sources(after)),
        ("join", _joins(before), _joins(after)),
        ("window", _windows(before), _windows(after)),
    ):
        if rule != "expand_feeds" and not new <= old:
            raise FeedweirError(f"rule `{rule}` made up a {what}: {sorted(map(str, new - old))[0]}")
    feeds = {one.name for one in walk(after) if isinstance(one, Feed)}
    if feeds:
        raise FeedweirError(f"rule `{rule}` left the virtual feed `{min(feeds)}`")
    for one in walk(after):
        if isinstance(one, AnnotationJoin) and not isinstance(one.window, Window):
            raise FeedweirError(f"rule `{rule}` took the window from join `{one.identifier}`")


def walk(node: Node) -> Iterator[Node]:
    """The node and everything below it."""
    yield node
    for input in inputs_of(node):
        yield from walk(input)


def _sources(node: Node) -> set[object]:
    return {one.name for one in walk(node) if isinstance(one, Source)}


def _joins(node: Node) -> set[object]:
    return {one.identifier for one in walk(node) if isinstance(one, AnnotationJoin)}


def _windows(node: Node) -> set[object]:
    return {one.spec for one in walk(node) if isinstance(one, Window)}


def is_four_level(node: Node) -> bool:
    """Whether unions stand above joins, joins above filters, and filters on sources.

    What cannot be moved is allowed where it must stay: a filter above a window of a count or above a pattern
    join. What a window or a block reads has the same form by itself.
    """
    inputs = node.inputs if isinstance(node, Union) else (node,)
    return all(_is_joined(input) for input in inputs)


def _is_joined(node: Node) -> bool:
    match node:
        case AnnotationJoin(_, primary, window):
            return _is_joined(primary) and is_four_level(window.input)
        case Window(input) | Block(input) | Distinct(_, input):
            return is_four_level(input)
        case PatternJoin(_, left, right):
            return _is_joined(left) and _is_joined(right)
        case Filter(PatternJoin() | Distinct() | Window(_, LastItems()) as input):
            return _is_joined(input)
        case Filter(Source()) | Source():
            return True
        case _:
            return False
