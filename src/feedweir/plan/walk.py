"""Walking a plan. Feeds of feeds make plans deep, so nothing here recurses over them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

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


def inputs_of(node: Node) -> tuple[Node, ...]:
    """What a node reads, in order."""
    match node:
        case Filter(input) | Window(input) | Block(input) | Distinct(_, input):
            return (input,)
        case Union(inputs):
            return inputs
        case AnnotationJoin(_, primary, window):
            return (primary, window)
        case PatternJoin(_, left, right):
            return (left, right)
        case _:
            return ()


def postorder(root: Node) -> list[Node]:
    """Every node once, after what it reads; the root is last. Nodes are the same when they are the same object."""
    found: list[Node] = []
    done: set[int] = set()
    waiting: list[tuple[Node, bool]] = [(root, False)]
    while waiting:
        node, is_ready = waiting.pop()
        if id(node) in done:
            continue
        if is_ready:
            done.add(id(node))
            found.append(node)
        else:
            waiting.append((node, True))
            waiting += [(input, False) for input in reversed(inputs_of(node))]
    return found


def rebuilt(root: Node, change: Callable[[Node], Node]) -> Node:
    """The plan with every node changed, from the leaves up; what does not change stays the same object."""
    new: dict[int, Node] = {}
    for node in postorder(root):
        new[id(node)] = change(map_inputs(node, lambda input: new[id(input)]))
    return new[id(root)]


def map_inputs(node: Node, change: Callable[[Node], Node]) -> Node:
    """The node with each input changed; the same node when none is.

    The window and blocks of a join must stay a window and blocks.
    """
    old = inputs_of(node)
    new = tuple(map(change, old))
    if all(one is other for one, other in zip(new, old, strict=True)):
        return node
    return with_inputs(node, new)


def with_inputs(node: Node, inputs: tuple[Node, ...]) -> Node:
    """The same operator over other inputs."""
    match node:
        case Source() | Feed():
            return node
        case Filter() | Window() | Block() | Distinct():
            return replace(node, input=inputs[0])
        case Union():
            return Union(inputs)
        case AnnotationJoin():
            window = inputs[1]
            if not isinstance(window, Window):
                raise TypeError(f"a join reads a window, not a {type(window).__name__}")
            return replace(node, primary=inputs[0], window=window)
        case PatternJoin():
            left, right = inputs
            if not isinstance(left, (Block, PatternJoin)) or not isinstance(right, Block):
                raise TypeError("a pattern join reads blocks")
            return replace(node, left=left, right=right)
