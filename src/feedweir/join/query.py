"""What the join room is given: join queries, and what it says of those it refuses."""

from __future__ import annotations

import re
from dataclasses import dataclass

from feedweir.plan.nodes import Block, Feed, Node, PatternJoin, Source

_HOLE = re.compile(r"\{\$([A-Za-z_][\w.'-]*)\}")


@dataclass(frozen=True, slots=True)
class JoinQuery:
    """`key` is what results report. With `publish`, its results are documents of that stream, which others can read:
    a block whose input is `Feed(publish)`."""

    key: int
    join: PatternJoin
    publish: str = ""


def holes_of(select: str) -> tuple[str, ...]:
    """The variables that a construction names, each once, sorted."""
    return tuple(sorted(set(_HOLE.findall(select))))


def filled(select: str, values: dict[str, str]) -> str:
    """The construction with its holes filled, as XML text."""
    return _HOLE.sub(lambda hole: _escaped(values.get(hole[1], "")), select)


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;")


def stream_name(node: Node) -> str:
    """How the stream of a block's input is called: equal inputs are one stream."""
    match node:
        case Source(name):
            return f"source {name}"
        case Feed(name):
            return f"feed {name}"
        case _:
            return repr(node)


def blocks_of(join: PatternJoin) -> list[Block]:
    """The blocks from left to right."""
    left = blocks_of(join.left) if isinstance(join.left, PatternJoin) else [join.left]
    return [*left, join.right]
