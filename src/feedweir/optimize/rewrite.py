"""Walk a plan bottom-up and replace nodes; a plan in which nothing is replaced stays the same object."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

from feedweir.plan.nodes import AnnotationJoin, Block, Distinct, Filter, Node, PatternJoin, Union, Window

Step = Callable[[Node], Node]
_Fed = TypeVar("_Fed", bound=Filter | Window | Block | Distinct)


def bottom_up(node: Node, step: Step) -> Node:
    """The plan with `step` applied to every node after its inputs.

    A join's window and the blocks of a pattern join keep their place; only what they read is rewritten.
    """
    match node:
        case Filter(input) | Window(input) | Block(input) | Distinct(_, input):
            return step(_with_input(node, bottom_up(input, step)))
        case Union(inputs):
            new = tuple(bottom_up(input, step) for input in inputs)
            is_same = all(one is other for one, other in zip(new, inputs, strict=True))
            return step(node if is_same else Union(new))
        case AnnotationJoin(_, primary, window):
            new_primary = bottom_up(primary, step)
            new_window = _with_input(window, bottom_up(window.input, step))
            is_same = new_primary is primary and new_window is window
            return step(node if is_same else replace(node, primary=new_primary, window=new_window))
        case PatternJoin():
            return step(_pattern(node, step))
        case _:
            return step(node)


def _with_input(node: _Fed, input: Node) -> _Fed:
    return node if input is node.input else replace(node, input=input)


def _pattern(node: PatternJoin, step: Step) -> PatternJoin:
    right = _with_input(node.right, bottom_up(node.right.input, step))
    left = node.left
    new_left = (
        _with_input(left, bottom_up(left.input, step)) if isinstance(left, Block) else _pattern(left, step)
    )
    is_same = right is node.right and new_left is left
    return node if is_same else replace(node, left=new_left, right=right)
