"""Feeds with joins, cut into streams: what the matcher finds, what the join step makes of it, what is read again.

A stream is what a node of a plan lets through; it is stored in the element log under a key of its own (`plan_wire`).
The largest parts of a plan without joins are streams that the compiled set fills like any feed; joins read those.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from feedweir.engine.files import replace_json
from feedweir.engine.plan_wire import plan_from_json, plan_to_json, stream_keys
from feedweir.errors import CompiledSetError
from feedweir.plan import branches, inputs_of, postorder, rebuilt
from feedweir.plan.nodes import (
    AnnotationJoin,
    Block,
    Filter,
    LastItems,
    Node,
    PatternJoin,
    Source,
    Union,
    Window,
)
from feedweir.plan.query import Query

FORMAT = 1


def has_joins(plan: Node) -> bool:
    """Whether an expanded plan needs more than one item at a time."""
    return not all(_is_plain(node) for node in postorder(plan))


def _is_plain(node: Node) -> bool:
    return isinstance(node, (Source, Filter, Union)) or (isinstance(node, Block) and not node.select)


def plain_queries(key: int, plan: Node) -> list[Query]:
    """An expanded plan without joins as queries of one key; a block by itself is a filter by its pattern."""
    ways = branches(rebuilt(plan, _as_filter))
    return [Query(key, sources, predicate) for sources, predicate in ways]


def _as_filter(node: Node) -> Node:
    return Filter(node.input, node.pattern) if isinstance(node, Block) else node


@dataclass(frozen=True, slots=True)
class JoinFeed:
    """A feed whose plan has joins, every virtual feed in it replaced by its definition."""

    feed: int
    plan: Node


def compile_plan(feed: int, plan: Node) -> list[Query] | JoinFeed:
    """An expanded plan as queries, or, when one item at a time will not do, as joins over streams."""
    if not has_joins(plan):
        return plain_queries(feed, plan)
    compiled = JoinFeed(feed, plan)
    JoinSet([compiled]).queries()  # what cannot be compiled is refused here, against this feed's name
    return compiled


@dataclass(frozen=True, slots=True)
class Stream:
    """A node whose elements the join step makes, and the keys of what it reads."""

    key: int
    node: Node
    inputs: tuple[int, ...]


class JoinSet:
    """All feeds with joins of one version. Equal parts of their plans are one stream."""

    def __init__(self, feeds: Iterable[JoinFeed]) -> None:
        self.feeds = tuple(feeds)
        self.roots: tuple[tuple[int, int], ...] = ()
        """(feed, key of its stream)."""
        self.found: dict[int, Node] = {}
        """Streams without joins, which the matcher fills, by key."""
        self.made: dict[int, Stream] = {}
        """Streams with joins, each after what it reads, by key."""
        self.kept: set[int] = set()
        """Keys of made streams that later batches read again."""
        self.below: dict[int, int] = {}
        """By key of a block the key of what it reads: a window of so many events counts those."""
        for feed in self.feeds:
            self._add(feed)

    def queries(self) -> list[Query]:
        """What the matcher must find for the joins."""
        return [query for key, node in self.found.items() for query in plain_queries(key, node)]

    def _add(self, feed: JoinFeed) -> None:
        keys = stream_keys(feed.plan)
        self.roots = (*self.roots, (feed.feed, keys[id(feed.plan)]))
        plain: set[int] = set()
        for node in postorder(feed.plan):
            inputs = inputs_of(node)
            if isinstance(node, Block):
                self.below[keys[id(node)]] = keys[id(node.input)]
            if _is_plain(node) and all(id(input) in plain for input in inputs):
                plain.add(id(node))
                continue
            for input in inputs:
                if id(input) in plain:
                    self.found.setdefault(keys[id(input)], input)
            self._make(node, keys, plain)

    def _make(self, node: Node, keys: dict[int, int], plain: set[int]) -> None:
        if isinstance(node, Window):
            return
        key = keys[id(node)]
        inputs = (input.input if isinstance(input, Window) else input for input in inputs_of(node))
        self.made.setdefault(key, Stream(key, node, tuple(keys[id(input)] for input in inputs)))
        for again in _read_again(node):
            if id(again) in plain:
                self.found.setdefault(keys[id(again)], again)
            else:
                self.kept.add(keys[id(again)])


def _read_again(node: Node) -> list[Node]:
    """What a join needs the earlier elements of; a window of so many events counts those of both sides."""
    match node:
        case AnnotationJoin(_, _, window):
            return [window.input]
        case PatternJoin(left=left, right=right, window=spec):
            blocks = [side for side in (left, right) if isinstance(side, Block)]
            if not isinstance(spec, LastItems):
                return [*blocks]
            counted = [side.input if isinstance(side, Block) else side for side in (left, right)]
            return [*blocks, *counted]
        case _:
            return []


def save_joins(path: Path, feeds: Iterable[JoinFeed]) -> None:
    """Keep the feeds with joins of a version."""
    rows = [[feed.feed, plan_to_json(feed.plan)] for feed in feeds]
    replace_json(path, {"format": FORMAT, "feeds": rows})


def load_joins(path: Path) -> JoinSet:
    """The feeds with joins of a version; none when it was compiled without any."""
    try:
        value = json.loads(path.read_bytes())
        if value["format"] != FORMAT:
            raise CompiledSetError(f"{path.name} is of format {value['format']}, not {FORMAT}")
        return JoinSet(JoinFeed(feed, plan_from_json(rows)) for feed, rows in value["feeds"])
    except FileNotFoundError:
        return JoinSet(())
    except (ValueError, KeyError, TypeError) as error:
        raise CompiledSetError(f"{path.name} cannot be read: {error}") from error
