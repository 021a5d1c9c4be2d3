"""A union of unions is one union."""

from __future__ import annotations

from feedweir.optimize.rewrite import bottom_up
from feedweir.plan.nodes import Node, Union


def flatten_unions(node: Node) -> Node:
    """∪(a, ∪(b, c), a) → ∪(a, b, c): an item is in a union once, so an input is too."""
    return bottom_up(node, _flat)


def _flat(node: Node) -> Node:
    if not isinstance(node, Union):
        return node
    inputs: dict[Node, None] = {}
    for input in node.inputs:
        inputs.update(dict.fromkeys(input.inputs if isinstance(input, Union) else (input,)))
    if len(inputs) == 1:
        return next(iter(inputs))
    return node if tuple(inputs) == node.inputs else Union(tuple(inputs))
