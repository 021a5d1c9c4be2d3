"""What the join room is given: join queries, and what it says of those it refuses."""

from __future__ import annotations

from dataclasses import dataclass

from feedweir.plan.construct import filled, holes_of
from feedweir.plan.nodes import Block, Feed, Node, PatternJoin, Source

__all__ = ["JoinQuery", "blocks_of", "filled", "holes_of", "inner_stream", "is_inner", "stream_name"]


@dataclass(frozen=True, slots=True)
class JoinQuery:
    """`key` is what results report."""

    key: int
    join: PatternJoin


def stream_name(node: Node) -> str:
    """How the stream of a block's input is called: equal inputs are one stream."""
    match node:
        case Source(name):
            return f"source {name}"
        case Feed(name):
            return f"feed {name}"
        case _:
            return repr(node)


def inner_stream(number: int) -> str:
    """How the hidden stream of an inner join's results is called."""
    return f"join {number}"


def is_inner(stream: str) -> bool:
    return stream.startswith("join ")


def blocks_of(join: PatternJoin) -> list[Block]:
    """The blocks from left to right."""
    left = blocks_of(join.left) if isinstance(join.left, PatternJoin) else [join.left]
    return [*left, join.right]
