"""Feeds with joins, cut into streams: what the matcher finds, what the join step computes from it.

A stream is what a node of a plan lets through; it is known by a key (`plan.plan_wire`). The largest parts of a plan
without joins are streams that the compiled set fills like any feed; joins read those. Pattern joins are evaluated
together, in rounds: those of a round read nothing that another of the same round, or of a later one, gives.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property

from feedweir.join.patterns.variables import blocks_of
from feedweir.plan import branches, inputs_of, postorder, rebuilt
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
from feedweir.plan.plan_wire import chains_of, stream_keys
from feedweir.plan.predicates import FALSE
from feedweir.plan.query import Query


def has_joins(plan: Node) -> bool:
    """Whether an expanded plan needs more than one item at a time."""
    return not all(is_plain(node) for node in postorder(plan))


def is_plain(node: Node) -> bool:
    return isinstance(node, (Source, Filter, Union)) or (isinstance(node, Block) and not node.select)


def plain_queries(key: int, plan: Node) -> list[Query]:
    """An expanded plan without joins as queries of one key; a block by itself is a filter by its pattern. A plan
    that can match nothing is one query as well, so that the user can be warned."""
    found = branches(rebuilt(plan, _as_filter)) or (((), FALSE),)
    return [Query(key, sources, predicate) for sources, predicate in found]


def _as_filter(node: Node) -> Node:
    return Filter(node.input, node.pattern) if isinstance(node, Block) else node


def streams_read(node: Node) -> list[Node]:
    """What the join step reads for a node: windows and blocks of joins are parts of them."""
    if isinstance(node, PatternJoin):
        return [block.input for block in blocks_of(node)]
    return [input.input if isinstance(input, Window) else input for input in inputs_of(node)]


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


@dataclass(frozen=True, slots=True)
class JoinFeed:
    """A feed whose plan has joins, every virtual feed in it replaced by its definition."""

    feed: int
    plan: Node
    most: int = 0
    """How many documents it shows in an hour; 0 for as many as any feed."""


def compile_plan(feed: int, plan: Node) -> list[Query] | JoinFeed:
    """An expanded plan as queries, or, when one item at a time will not do, as joins over streams."""
    if not has_joins(plan):
        return plain_queries(feed, plan)
    compiled = JoinFeed(feed, plan)
    JoinSet([compiled]).queries()  # what cannot be compiled is refused here, against this feed's name
    return compiled


@dataclass(frozen=True, slots=True)
class Stream:
    """A node whose elements the join step computes, and the keys of what it reads.

    A pattern join reads what its blocks read, from left to right; those are named by their keys in it.
    """

    key: int
    node: Node
    inputs: tuple[int, ...]
    round: int
    """How many pattern joins are below it, one above the other, itself included."""
    depth: int
    """How many annotation joins and stories are, above the last of those pattern joins."""

    @property
    def is_annotating(self) -> bool:
        return isinstance(self.node, (AnnotationJoin, Distinct))


class JoinSet:
    """All feeds with joins of one version, or of one shard of it. Equal parts of their plans are one stream."""

    def __init__(self, feeds: Iterable[JoinFeed]) -> None:
        self.feeds = tuple(feeds)
        self.roots: list[tuple[int, int]] = []
        """(feed, key of its stream)."""
        self.matched: dict[int, Node] = {}
        """By key, streams without joins: the matcher fills them."""
        self.computed: dict[int, Stream] = {}
        """By key, streams with joins, each after what it reads."""
        self.names: dict[int, str] = {}
        """By key of an annotation join the name under which its items are counted."""
        self.remembered: set[int] = set()
        """Keys of computed streams that later batches need: those under windows, and the first reports of stories."""
        known: dict[int, int] = {}
        for feed in self.feeds:
            if id(feed.plan) not in known:
                known[id(feed.plan)] = self._add(feed.plan)
            self.roots.append((feed.feed, known[id(feed.plan)]))

    def queries(self) -> list[Query]:
        """What the matcher must find for the joins."""
        return [query for key, node in self.matched.items() for query in plain_queries(key, node)]

    @property
    def rounds(self) -> int:
        return max((stream.round for stream in self.computed.values()), default=0)

    def patterns(self, round: int) -> list[Stream]:
        """The pattern joins of a round."""
        streams = (stream for stream in self.computed.values() if stream.round == round)
        return [stream for stream in streams if isinstance(stream.node, PatternJoin)]

    @cached_property
    def _others(self) -> dict[tuple[int, int], list[Stream]]:
        found: dict[tuple[int, int], list[Stream]] = {}
        for stream in self.computed.values():
            if not stream.is_annotating and not isinstance(stream.node, PatternJoin):
                found.setdefault((stream.round, stream.depth), []).append(stream)
        return found

    def others(self, round: int, depth: int) -> list[Stream]:
        """The computed streams of a round and depth that are no joins, each after what it reads."""
        return self._others.get((round, depth), [])

    @cached_property
    def owners(self) -> dict[int, int]:
        """By key of a computed stream the oldest feed that reads it, directly or through others."""
        found: dict[int, int] = {}
        for feed, root in sorted(self.roots):
            waiting = [root]
            while waiting:
                key = waiting.pop()
                if key in self.computed and key not in found:
                    found[key] = feed
                    waiting += self.computed[key].inputs
        return found

    def witness_streams(self) -> set[int]:
        """The matched streams whose documents pattern joins read, directly or through other streams."""
        reads = {
            key
            for stream in self.computed.values()
            if isinstance(stream.node, PatternJoin)
            for key in stream.inputs
        }
        for stream in reversed(self.computed.values()):
            if stream.key in reads:
                reads.update(stream.inputs)
        return reads & self.matched.keys()

    def _add(self, plan: Node) -> int:
        keys, chains = stream_keys(plan), chains_of(plan)
        plain: set[int] = set()
        inside = inside_patterns(plan)
        for node in postorder(plan):
            inputs = inputs_of(node)
            if is_plain(node) and all(id(input) in plain for input in inputs):
                plain.add(id(node))
            elif id(node) not in inside and not isinstance(node, Window):
                self._make(node, keys, plain)
            if id(node) in chains:
                self.names.setdefault(keys[id(node)], chains[id(node)].name)
        return keys[id(plan)]

    def _make(self, node: Node, keys: dict[int, int], plain: set[int]) -> None:
        inputs = streams_read(node)
        for input in inputs:
            if id(input) in plain:
                self.matched.setdefault(keys[id(input)], input)
        if isinstance(node, AnnotationJoin) and id(node.window.input) not in plain:
            self.remembered.add(keys[id(node.window.input)])
        if isinstance(node, Distinct):
            self.remembered.add(keys[id(node)])
        key = keys[id(node)]
        if key not in self.computed:
            reads = tuple(keys[id(input)] for input in inputs)
            below = max((self.computed[one].round for one in reads if one in self.computed), default=0)
            round = below + isinstance(node, PatternJoin)
            same = (self.computed[one] for one in reads if one in self.computed)
            depth = max((one.depth for one in same if one.round == round), default=0)
            named = with_streams_named(node, keys) if isinstance(node, PatternJoin) else node
            is_annotating = isinstance(node, (AnnotationJoin, Distinct))
            self.computed[key] = Stream(key, named, reads, round, depth + is_annotating)


StreamPath = tuple[Stream, ...]
"""Streams from that of a feed down to one whose elements it shows."""


def paths_to(joins: JoinSet, root: int, key: int) -> tuple[StreamPath, ...]:
    """The paths of streams by which a feed shows the elements of a stream as such: not as partners, nor in documents
    constructed from them."""
    if root == key:
        return ((),)
    stream = joins.computed.get(root)
    if stream is None or isinstance(stream.node, PatternJoin) or is_construction(stream.node):
        return ()
    shown = stream.inputs[:1] if isinstance(stream.node, AnnotationJoin) else stream.inputs
    return tuple((stream, *path) for input in shown for path in paths_to(joins, input, key))
