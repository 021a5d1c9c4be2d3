"""Walk a plan and replace nodes, from the leaves up or from the root down.

Feeds of feeds make plans deep and let parts of them be shared, so nothing here recurses, and a node that is read twice
is rewritten once. Equal parts of what comes out are the same object, and a plan in which nothing is replaced stays the
same object.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import fields
from functools import cache

from feedweir.plan.nodes import AnnotationJoin, Node, PatternJoin
from feedweir.plan.walk import inputs_of, map_inputs, postorder

Step = Callable[[Node], Node]
"""What replaces one node; the same object when it stays."""


def upwards(root: Node, step: Step) -> Node:
    """The plan with `step` applied to every node after its inputs, but for the windows and blocks of joins."""
    known = _Known()
    order = postorder(root)
    in_place = {id(part) for node in order for part in _parts_of(node)}
    new: dict[int, Node] = {}
    for node in order:
        one = known.one(map_inputs(node, lambda input: new[id(input)]))
        new[id(node)] = one if id(node) in in_place else known.whole(step(one))
    return new[id(root)]


def _parts_of(node: Node) -> tuple[Node, ...]:
    """What a join reads that belongs to it."""
    match node:
        case AnnotationJoin(_, _, window):
            return (window,)
        case PatternJoin(_, left, right):
            return left, right
        case _:
            return ()


def downwards(root: Node, step: Step) -> Node:
    """The plan with `step` applied to every node before its inputs, and then to the inputs of what it gives."""
    known = _Known()
    settled: dict[int, Node] = {}
    new: dict[int, Node] = {}
    waiting: list[tuple[Node, bool]] = [(known.whole(root), False)]
    while waiting:
        node, is_ready = waiting.pop()
        if is_ready:
            new[id(node)] = known.one(map_inputs(settled[id(node)], lambda input: new[id(input)]))
        elif id(node) not in settled:
            settled[id(node)] = known.whole(step(node))
            waiting.append((node, True))
            waiting += [(input, False) for input in reversed(inputs_of(settled[id(node)]))]
    return new[id(known.whole(root))]


class _Known:
    """One object for all equal nodes. What it has seen is kept alive, so that an `id` means one node."""

    def __init__(self) -> None:
        self._nodes: dict[Hashable, Node] = {}
        self._seen: dict[int, tuple[Node, Node]] = {}
        """By `id` a node, and the one that is kept for it."""

    def whole(self, root: Node) -> Node:
        """The one for a node, those for all below it being put in their places."""
        waiting = [root]
        while waiting:
            node = waiting[-1]
            below = [input for input in inputs_of(node) if id(input) not in self._seen]
            if id(node) in self._seen or not below:
                waiting.pop()
            waiting += below
            if not below and id(node) not in self._seen:
                self._seen[id(node)] = node, self.one(map_inputs(node, self._kept))
        return self._kept(root)

    def one(self, node: Node) -> Node:
        """The one for all nodes that say the same of the same inputs."""
        inputs = inputs_of(node)
        names = _field_names(type(node))  # type: ignore[arg-type]
        said = tuple([value for name in names if not _is_input(value := getattr(node, name), inputs)])
        kept = self._nodes.setdefault((type(node), said, tuple(map(id, inputs))), node)
        self._seen.setdefault(id(kept), (kept, kept))
        return kept

    def _kept(self, node: Node) -> Node:
        return self._seen[id(node)][1]


@cache
def _field_names(kind: type) -> tuple[str, ...]:
    return tuple(field.name for field in fields(kind))


def _is_input(value: object, inputs: tuple[Node, ...]) -> bool:
    return value is inputs or any(value is input for input in inputs)
