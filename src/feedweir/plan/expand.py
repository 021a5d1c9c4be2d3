"""Virtual feeds replaced by their definitions, however deep."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from feedweir.errors import CatalogError
from feedweir.plan.nodes import AnnotationJoin, Block, Feed, Filter, Node, PatternJoin, Source, Union, Window

Lookup = Callable[[str], Node | None]
"""The plan of a virtual feed as its definition was written; None when there is none."""


def expand(node: Node, lookup: Lookup) -> Node:
    """The plan with every virtual feed's definition in its place; equal definitions are the same object."""
    return _expand(node, lookup, {}, ())


def _expand(node: Node, lookup: Lookup, done: dict[str, Node], path: tuple[str, ...]) -> Node:
    match node:
        case Source():
            return node
        case Feed(name):
            if name not in done:
                done[name] = _expand(_definition(name, lookup, path), lookup, done, (*path, name))
            return done[name]
        case _:
            return map_inputs(node, lambda inner: _expand(inner, lookup, done, path))


def _definition(name: str, lookup: Lookup, path: tuple[str, ...]) -> Node:
    if name in path:
        raise CatalogError(
            f"feed `{name}` reads itself: {' → '.join((*path[path.index(name) :], name))}",
            hint="change one of these feeds",
        )
    node = lookup(name)
    if node is None:
        users = f", which `{path[-1]}` reads" if path else ""
        raise CatalogError(f"there is no feed `{name}`{users}", hint="register or create it")
    return node


def map_inputs(node: Node, change: Callable[[Node], Node]) -> Node:
    """The node with each input changed, those of a join's window and blocks; the same node when none is."""
    match node:
        case Source() | Feed():
            return node
        case Filter(input) | Window(input) | Block(input):
            changed = change(input)
            return node if changed is input else replace(node, input=changed)
        case Union(inputs):
            changed_inputs = tuple(map(change, inputs))
            same = all(new is old for new, old in zip(changed_inputs, inputs, strict=True))
            return node if same else Union(changed_inputs)
        case AnnotationJoin(_, primary, window):
            new_window = replace(window, input=change(window.input))
            return replace(node, primary=change(primary), window=new_window)
        case PatternJoin(_, left, right):
            new_left = _changed_left(left, change)
            return replace(node, left=new_left, right=replace(right, input=change(right.input)))


def _changed_left(left: Block | PatternJoin, change: Callable[[Node], Node]) -> Block | PatternJoin:
    """A join's window and blocks stay where they are; only what they read is changed."""
    if isinstance(left, Block):
        return replace(left, input=change(left.input))
    right = replace(left.right, input=change(left.right.input))
    return replace(left, left=_changed_left(left.left, change), right=right)


def inputs_of(node: Node) -> tuple[Node, ...]:
    """What a node reads, in order."""
    match node:
        case Filter(input) | Window(input) | Block(input):
            return (input,)
        case Union(inputs):
            return inputs
        case AnnotationJoin(_, primary, window):
            return (primary, window)
        case PatternJoin(_, left, right):
            return (left, right)
        case _:
            return ()
