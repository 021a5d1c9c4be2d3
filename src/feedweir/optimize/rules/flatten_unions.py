"""A union of unions is one union."""

from __future__ import annotations

from feedweir.optimize.plan_rewriter import upwards
from feedweir.plan.nodes import Node, Union


def flatten_unions(node: Node) -> Node:
    """∪(a, ∪(b, c), a) → ∪(a, b, c): an item is in a union once, so an input is too."""
    return upwards(node, _flat)


def _flat(node: Node) -> Node:
    if not isinstance(node, Union):
        return node
    inputs: dict[int, Node] = {}
    for input in node.inputs:
        # equal inputs are the same object, and comparing what is deep would recurse
        inputs.update({id(one): one for one in (input.inputs if isinstance(input, Union) else (input,))})
    if len(inputs) == 1:
        return next(iter(inputs.values()))
    is_flat = [*inputs] == [*map(id, node.inputs)]
    return node if is_flat else Union(tuple(inputs.values()))
