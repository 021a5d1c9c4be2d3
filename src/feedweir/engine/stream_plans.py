"""What the plans of feeds with joins are made of: the parts without joins, and what joins read."""

from __future__ import annotations

from dataclasses import replace

from feedweir.plan import branches, inputs_of, postorder, rebuilt
from feedweir.plan.nodes import Block, Feed, Filter, Node, PatternJoin, Source, Union, Window
from feedweir.plan.query import Query


def has_joins(plan: Node) -> bool:
    """Whether an expanded plan needs more than one item at a time."""
    return not all(is_plain(node) for node in postorder(plan))


def is_plain(node: Node) -> bool:
    return isinstance(node, (Source, Filter, Union)) or (isinstance(node, Block) and not node.select)


def plain_queries(key: int, plan: Node) -> list[Query]:
    """An expanded plan without joins as queries of one key; a block by itself is a filter by its pattern."""
    ways = branches(rebuilt(plan, _as_filter))
    return [Query(key, sources, predicate) for sources, predicate in ways]


def _as_filter(node: Node) -> Node:
    return Filter(node.input, node.pattern) if isinstance(node, Block) else node


def streams_read(node: Node) -> list[Node]:
    """What the join step reads for a node: windows and blocks of joins are parts of them."""
    if isinstance(node, PatternJoin):
        return [block.input for block in blocks_of(node)]
    return [input.input if isinstance(input, Window) else input for input in inputs_of(node)]


def blocks_of(node: PatternJoin) -> list[Block]:
    """The blocks of a chain from left to right."""
    blocks: list[Block] = [node.right]
    left = node.left
    while isinstance(left, PatternJoin):
        blocks.append(left.right)
        left = left.left
    return [left, *reversed(blocks)]


def inside_patterns(plan: Node) -> set[int]:
    """The blocks and inner joins of chains, by `id`."""
    found: set[int] = set()
    for node in postorder(plan):
        if isinstance(node, PatternJoin):
            found |= {id(node.left), id(node.right)}
    return found


def with_streams_named(node: PatternJoin, keys: dict[int, int]) -> PatternJoin:
    """The join with the names of streams in the place of what its blocks read."""
    left: Block | PatternJoin = node.left
    left = with_streams_named(left, keys) if isinstance(left, PatternJoin) else _block(left, keys)
    return replace(node, left=left, right=_block(node.right, keys))


def _block(block: Block, keys: dict[int, int]) -> Block:
    return replace(block, input=Feed(str(keys[id(block.input)])))


def is_construction(node: Node) -> bool:
    return isinstance(node, Block) and bool(node.select)
