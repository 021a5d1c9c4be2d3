"""Feeds with joins, cut into streams: what the matcher finds, what the join step makes of it, what is read again.

A stream is what a node of a plan lets through; it is known by a key of its own (`plan_wire`). The largest parts of a
plan without joins are streams that the compiled set fills like any feed; joins read those. Pattern joins are evaluated
together, in rounds: those of a round read nothing that another of the same round, or of a later one, makes.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any
from zlib import crc32

from feedweir.engine.files import replace_json
from feedweir.engine.plan_wire import plan_from_json, plan_to_json, stream_keys
from feedweir.engine.stream_plans import (
    has_joins,
    inside_patterns,
    is_construction,
    is_plain,
    plain_queries,
    streams_read,
    with_streams_named,
)
from feedweir.errors import CompiledSetError
from feedweir.plan import inputs_of, postorder
from feedweir.plan.nodes import (
    AnnotationJoin,
    Distinct,
    Node,
    PatternJoin,
    Window,
)
from feedweir.plan.query import Query

FORMAT = 2
DIGESTS = "digests.json"
SHARDS = 8
"""Feeds with joins are divided by the first stream they read, so that a feed that is edited finds its history again."""


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
    """A node whose elements the join step makes, and the keys of what it reads.

    A pattern join reads what its blocks read, from left to right; those are named by their keys in it.
    """

    key: int
    node: Node
    inputs: tuple[int, ...]
    round: int
    """How many pattern joins lie one behind the other on the way here, this one included."""
    depth: int
    """How many annotation joins and stories do so since the last of those."""

    @property
    def is_annotating(self) -> bool:
        return isinstance(self.node, (AnnotationJoin, Distinct))


class JoinSet:
    """All feeds with joins of one version, or of one shard of it. Equal parts of their plans are one stream."""

    def __init__(self, feeds: Iterable[JoinFeed]) -> None:
        self.feeds = tuple(feeds)
        self.roots: list[tuple[int, int]] = []
        """(feed, key of its stream)."""
        self.found: dict[int, Node] = {}
        """Streams without joins, which the matcher fills, by key."""
        self.made: dict[int, Stream] = {}
        """Streams with joins, each after what it reads, by key."""
        self.kept: set[int] = set()
        """Keys of made streams that later batches need to know: those under windows, and the first of stories."""
        known: dict[int, int] = {}
        for feed in self.feeds:
            if id(feed.plan) not in known:
                known[id(feed.plan)] = self._add(feed.plan)
            self.roots.append((feed.feed, known[id(feed.plan)]))

    def queries(self) -> list[Query]:
        """What the matcher must find for the joins."""
        return [query for key, node in self.found.items() for query in plain_queries(key, node)]

    @property
    def rounds(self) -> int:
        return max((stream.round for stream in self.made.values()), default=0)

    def patterns(self, round: int) -> list[Stream]:
        """The pattern joins of a round."""
        streams = (stream for stream in self.made.values() if stream.round == round)
        return [stream for stream in streams if isinstance(stream.node, PatternJoin)]

    @cached_property
    def _others(self) -> dict[tuple[int, int], list[Stream]]:
        found: dict[tuple[int, int], list[Stream]] = {}
        for stream in self.made.values():
            if not stream.is_annotating and not isinstance(stream.node, PatternJoin):
                found.setdefault((stream.round, stream.depth), []).append(stream)
        return found

    def others(self, round: int, depth: int) -> list[Stream]:
        """The made streams of a round and depth that are no joins, each after what it reads."""
        return self._others.get((round, depth), [])

    def witnessed(self) -> set[int]:
        """The found streams whose documents pattern joins may read, themselves or through what is made of them."""
        reads = {
            key
            for stream in self.made.values()
            if isinstance(stream.node, PatternJoin)
            for key in stream.inputs
        }
        for stream in reversed(self.made.values()):
            if stream.key in reads:
                reads.update(stream.inputs)
        return reads & self.found.keys()

    def _add(self, plan: Node) -> int:
        keys = stream_keys(plan)
        plain: set[int] = set()
        inside = inside_patterns(plan)
        for node in postorder(plan):
            inputs = inputs_of(node)
            if is_plain(node) and all(id(input) in plain for input in inputs):
                plain.add(id(node))
            elif id(node) not in inside and not isinstance(node, Window):
                self._make(node, keys, plain)
        return keys[id(plan)]

    def _make(self, node: Node, keys: dict[int, int], plain: set[int]) -> None:
        inputs = streams_read(node)
        for input in inputs:
            if id(input) in plain:
                self.found.setdefault(keys[id(input)], input)
        if isinstance(node, AnnotationJoin) and id(node.window.input) not in plain:
            self.kept.add(keys[id(node.window.input)])
        if isinstance(node, Distinct):
            self.kept.add(keys[id(node)])
        key = keys[id(node)]
        if key not in self.made:
            reads = tuple(keys[id(input)] for input in inputs)
            below = max((self.made[one].round for one in reads if one in self.made), default=0)
            round = below + isinstance(node, PatternJoin)
            same = (self.made[one] for one in reads if one in self.made)
            depth = max((one.depth for one in same if one.round == round), default=0)
            named = with_streams_named(node, keys) if isinstance(node, PatternJoin) else node
            is_annotating = isinstance(node, (AnnotationJoin, Distinct))
            self.made[key] = Stream(key, named, reads, round, depth + is_annotating)


def ways_to(joins: JoinSet, root: int, key: int) -> tuple[tuple[Stream, ...], ...]:
    """Through which streams, from its own on, a feed shows the elements of a stream with what was joined to them: not
    as those of a window, nor in documents that were made of them."""
    if root == key:
        return ((),)
    stream = joins.made.get(root)
    if stream is None or isinstance(stream.node, PatternJoin) or is_construction(stream.node):
        return ()
    shown = stream.inputs[:1] if isinstance(stream.node, AnnotationJoin) else stream.inputs
    return tuple((stream, *way) for input in shown for way in ways_to(joins, input, key))


def shard_of(plan: Node) -> int:
    """By the first stream under a window, or else by the first two that a plan reads, in whichever order: what is
    remembered of them stays when the rest of the query is edited, and windows over one stream are mostly in one shard.
    """
    joins = JoinSet([JoinFeed(0, plan)])
    under = (stream.inputs[1] for stream in joins.made.values() if isinstance(stream.node, AnnotationJoin))
    windows = (key for key in under if key in joins.found)
    return crc32(str(next(windows, min([*joins.found][:2], default=0))).encode()) % SHARDS


def save_joins(directory: Path, feeds: Iterable[JoinFeed]) -> None:
    """Keep the feeds with joins of a version, a file for each shard that has any; equal plans are kept once."""
    keys: dict[int, int] = {}
    plans: dict[int, Node] = {}
    shards: dict[int, list[tuple[int, int]]] = {}
    for feed in feeds:
        if id(feed.plan) not in keys:
            key = keys[id(feed.plan)] = stream_keys(feed.plan)[id(feed.plan)]
            plans.setdefault(key, feed.plan)
        shards.setdefault(keys[id(feed.plan)], []).append((feed.feed, keys[id(feed.plan)]))
    by_shard: dict[int, list[tuple[int, int]]] = {}
    for key, members in shards.items():
        by_shard.setdefault(shard_of(plans[key]), []).extend(members)
    for shard, members in sorted(by_shard.items()):
        places = {key: place for place, key in enumerate(dict.fromkeys(key for _, key in members))}
        value = {
            "format": FORMAT,
            "plans": [plan_to_json(plans[key]) for key in places],
            "feeds": sorted([feed, places[key]] for feed, key in members),
        }
        replace_json(directory / f"{shard}.json", value)
    if by_shard:
        written = {
            str(shard): crc32((directory / f"{shard}.json").read_bytes()) for shard in sorted(by_shard)
        }
        replace_json(directory / DIGESTS, written)


def shards_in(directory: Path) -> list[int]:
    """The shards that have feeds."""
    return sorted(_digests(directory))


def _digests(directory: Path) -> dict[int, int]:
    """What each shard's file was written as; none when it was compiled without any."""
    if not directory.exists():
        return {}
    try:
        written = json.loads((directory / DIGESTS).read_bytes())
        return {int(shard): int(digest) for shard, digest in written.items()}
    except (OSError, ValueError, TypeError, AttributeError) as error:
        raise CompiledSetError(f"{DIGESTS} of {directory.name} cannot be read: {error}") from error


def load_joins(directory: Path, shard: int | None = None) -> JoinSet:
    """The feeds with joins of a version, or of one shard; none when it was compiled without any."""
    digests = _digests(directory)
    shards = sorted(digests) if shard is None else [shard] if shard in digests else []
    return JoinSet(feed for one in shards for feed in _load(directory / f"{one}.json", digests[one]))


def _load(path: Path, digest: int) -> list[JoinFeed]:
    try:
        body = path.read_bytes()
        if crc32(body) != digest:
            raise CompiledSetError(f"{path.name} of {path.parent.name} is damaged")
        value: Any = json.loads(body)
        if value["format"] != FORMAT:
            raise CompiledSetError(f"{path.name} is of format {value['format']}, not {FORMAT}")
        plans = [plan_from_json(rows) for rows in value["plans"]]
        return [JoinFeed(feed, plans[place]) for feed, place in value["feeds"]]
    except (OSError, ValueError, KeyError, TypeError, IndexError) as error:
        raise CompiledSetError(f"{path.name} cannot be read: {error}") from error
