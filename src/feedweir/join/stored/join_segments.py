"""A segment: some feeds with joins, compiled, in a directory that never changes.

    feeds.arrays        each feed with the key of its stream; each stream with its shard, and what it reads
    plans.arrow         the plans, by the key of their stream
    matched.arrow       the plans of the streams that the matcher fills
    SHARD.arrays/.json  its joins over plain streams, compiled
    witness.json        by shard the tree patterns and streams that item tasks look for

Joins whose blocks read plain streams are by far the most; everything else is compiled from its plan when it is opened.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any
from uuid import uuid4
from zlib import crc32

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from feedweir.errors import CompiledSetError
from feedweir.join.patterns.rounds import PatternRounds
from feedweir.join.patterns.variables import blocks_of
from feedweir.join.stored.compiled_joins import CompiledPart, compiled_part, load_part, save_part
from feedweir.join.streams import JoinFeed, JoinSet, is_plain, plain_queries
from feedweir.join.window_bounds import JoinBounds
from feedweir.match.arrays import Array, load_arrays, save_arrays
from feedweir.match.sets.sealed import check_file, open_sealed, read_manifest, write_sealed
from feedweir.plan import postorder
from feedweir.plan.nodes import AnnotationJoin, Node, PatternJoin
from feedweir.plan.plan_wire import plan_from_json, plan_to_json, stream_keys
from feedweir.plan.predicate_wire import predicate_from_json, predicate_to_json
from feedweir.plan.predicates import TreePattern
from feedweir.plan.query import Query

Longs = NDArray[np.int64]

FORMAT = 3
_FEEDS, _PLANS, _MATCHED, _WITNESS = "feeds.arrays", "plans.arrow", "matched.arrow", "witness.json"


SHARDS = 8
"""Feeds with joins are divided by a stream that they read, so that an edited feed keeps its history."""


def shard_of(joins: JoinSet) -> int:
    """The shard of a plan follows from the first stream under a window, or else from the first two that it reads, in
    either order: so an edit of the rest keeps what is remembered, and windows over one stream are mostly in one shard.
    """
    under = (
        stream.inputs[1] for stream in joins.computed.values() if isinstance(stream.node, AnnotationJoin)
    )
    windows = (key for key in under if key in joins.matched)
    return crc32(str(next(windows, min([*joins.matched][:2], default=0))).encode()) % SHARDS


def is_flat(plan: Node) -> bool:
    """Whether a plan is one join, or one chain of them, over streams that the matcher fills."""
    return isinstance(plan, PatternJoin) and all(
        is_plain(node) for block in blocks_of(plan) for node in postorder(block.input)
    )


@dataclass(frozen=True, slots=True)
class Witnessing:
    """What item tasks look for on behalf of a shard."""

    patterns: tuple[TreePattern, ...]
    streams: Longs


def write_segment(root: Path, feeds: Iterable[JoinFeed]) -> str:
    """Compile feeds into a new segment below `root`; its name."""
    name = uuid4().hex
    write_sealed(root / name, lambda scratch: _write(scratch, tuple(feeds)))
    return name


def _write(scratch: Path, feeds: tuple[JoinFeed, ...]) -> dict[str, Any]:
    keys: dict[int, int] = {}
    plans: dict[int, Node] = {}
    for feed in feeds:
        if id(feed.plan) not in keys:
            key = keys[id(feed.plan)] = stream_keys(feed.plan)[id(feed.plan)]
            plans.setdefault(key, feed.plan)
    sets = {key: JoinSet([JoinFeed(0, plan)]) for key, plan in plans.items()}
    shards = {key: shard_of(joins) for key, joins in sets.items()}
    flat = {key: is_flat(plan) for key, plan in plans.items()}
    matched = {key: node for one in sets.values() for key, node in one.matched.items()}
    uses = sorted((key, stream) for key, one in sets.items() for stream in one.matched)
    rows = sorted((feed.feed, keys[id(feed.plan)]) for feed in feeds)
    most = {feed.feed: feed.most for feed in feeds}
    roots = sorted(plans)
    save_arrays(
        scratch / _FEEDS,
        {
            "feed": np.array([feed for feed, _ in rows], np.int64),
            "feed_root": np.array([key for _, key in rows], np.int64),
            "feed_most": np.array([most[feed] for feed, _ in rows], np.int64),
            "root": np.array(roots, np.int64),
            "root_shard": np.array([shards[key] for key in roots], np.int16),
            "root_is_flat": np.array([flat[key] for key in roots], np.bool_),
            "use_root": np.array([key for key, _ in uses], np.int64),
            "use_stream": np.array([stream for _, stream in uses], np.int64),
        },
    )
    _save_plans(scratch / _PLANS, plans)
    _save_plans(scratch / _MATCHED, matched)
    witness: dict[str, Any] = {}
    parts: list[int] = []
    for shard in sorted(set(shards.values())):
        own = {key: plans[key] for key in roots if shards[key] == shard}
        found = _write_shard(scratch, shard, own, flat, parts)
        witness[str(shard)] = [[predicate_to_json(one) for one in found.patterns], found.streams.tolist()]
    (scratch / _WITNESS).write_text(json.dumps(witness), encoding="utf-8")
    return {"format": FORMAT, "feeds": len(rows), "shards": sorted(set(shards.values())), "parts": parts}


def _write_shard(
    scratch: Path, shard: int, plans: Mapping[int, Node], flat: Mapping[int, bool], parts: list[int]
) -> Witnessing:
    """Compile the plans of a shard; what item tasks look for on their behalf."""
    others = JoinSet(JoinFeed(0, plan) for key, plan in plans.items() if not flat[key])
    patterns = dict.fromkeys(PatternRounds(others).patterns)
    streams = others.witness_streams()
    joins = {key: plan for key, plan in plans.items() if isinstance(plan, PatternJoin) and flat[key]}
    if joins:
        part = compiled_part(joins)
        save_part(scratch, str(shard), part)
        parts.append(shard)
        patterns |= dict.fromkeys(part.patterns.patterns)
        streams |= set(part.input_stream.tolist())
    return Witnessing(tuple(patterns), np.array(sorted(streams), np.int64))


def _save_plans(path: Path, plans: Mapping[int, Node]) -> None:
    texts = [json.dumps(plan_to_json(plan), separators=(",", ":")) for _, plan in sorted(plans.items())]
    table = pa.table({"key": pa.array(sorted(plans), pa.int64()), "plan": pa.array(texts, pa.large_string())})
    with pa.ipc.new_file(path, table.schema) as file:
        file.write_table(table)


class JoinSegment:
    """A segment, opened; what of it is read is checked when it is read first."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        details = read_manifest(directory)["details"]
        if details["format"] != FORMAT:
            raise CompiledSetError(f"{directory.name} is of format {details['format']}, not {FORMAT}")
        self.shards: list[int] = details["shards"]
        self._parts: list[int] = details["parts"]

    def check(self) -> None:
        """Read every byte; `CompiledSetError` when any has changed."""
        open_sealed(self.directory)

    @cached_property
    def _feeds(self) -> dict[str, Array]:
        return load_arrays(self._checked(_FEEDS))

    @property
    def feeds(self) -> Longs:
        """Ascending."""
        return self._feeds["feed"]

    @property
    def most(self) -> Longs:
        """How many documents each feed shows in an hour, or 0."""
        return self._feeds["feed_most"]

    @property
    def roots_of_feeds(self) -> Longs:
        return self._feeds["feed_root"]

    def roots_in(self, shard: int, *, are_flat: bool) -> Longs:
        """The keys of a shard's streams of feeds, ascending."""
        of_shard = self._feeds["root_shard"] == shard
        found: Longs = self._feeds["root"][of_shard & (self._feeds["root_is_flat"] == are_flat)]
        return found

    @property
    def uses(self) -> tuple[Longs, Longs]:
        """(streams of feeds, matched streams that they read)."""
        return self._feeds["use_root"], self._feeds["use_stream"]

    def plans(self, roots: Longs) -> dict[int, Node]:
        """The plans of streams, as far as they are here."""
        return _chosen(self._checked(_PLANS), roots)

    def matched(self, streams: Longs) -> dict[int, Node]:
        """The plans of matched streams, as far as they are here."""
        return _chosen(self._checked(_MATCHED), streams)

    def part(self, shard: int, bounds: JoinBounds) -> CompiledPart | None:
        """The compiled joins of a shard."""
        if shard not in self._parts:
            return None
        for ending in ("arrays", "json"):
            self._checked(f"{shard}.{ending}")
        return load_part(self.directory, str(shard), bounds)

    def witnessing(self) -> dict[int, Witnessing]:
        """By shard what item tasks look for."""
        value = json.loads(self._checked(_WITNESS).read_text(encoding="utf-8"))
        found = {}
        for shard, (texts, streams) in value.items():
            patterns = tuple(
                one for text in texts if isinstance(one := predicate_from_json(text), TreePattern)
            )
            found[int(shard)] = Witnessing(patterns, np.array(streams, np.int64))
        return found

    def _checked(self, name: str) -> Path:
        check_file(self.directory, name)
        return self.directory / name


def _chosen(path: Path, keys: Longs) -> dict[int, Node]:
    with pa.memory_map(str(path)) as file:
        table = pa.ipc.open_file(file).read_all()
    known = table["key"].to_numpy()
    places = np.flatnonzero(np.isin(known, keys))
    texts = table["plan"].take(pa.array(places)).to_pylist()
    return {
        key: plan_from_json(json.loads(text)) for key, text in zip(known[places].tolist(), texts, strict=True)
    }


def queries_of_streams(matched: Mapping[int, Node]) -> list[Query]:
    """What the matcher must find for these streams."""
    return [query for key, node in sorted(matched.items()) for query in plain_queries(key, node)]
