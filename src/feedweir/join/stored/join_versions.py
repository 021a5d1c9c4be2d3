"""The feeds with joins of each version of the set: which segments they are in, and which of those are gone.

    SETS/VERSION.joins/segments.json    the segments of a version, and the feeds that it no longer wants of each
    SETS/joins/NAME/                    segments

A change writes a segment with the feeds that came, together with what earlier small changes wrote.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from feedweir.errors import CompiledSetError
from feedweir.join.result_bounds import MOST_PER_HOUR, Limits
from feedweir.join.step import CompiledJoins
from feedweir.join.stored.compiled_joins import CompiledPart
from feedweir.join.stored.join_segments import (
    FORMAT,
    JoinSegment,
    Witnessing,
    queries_of_streams,
    write_segment,
)
from feedweir.join.streams import JoinFeed, JoinSet
from feedweir.join.window_bounds import JoinBounds
from feedweir.logs.files import replace_json
from feedweir.plan.nodes import Node
from feedweir.plan.query import Query

Longs = NDArray[np.int64]

_NAME = "segments.json"
_SEGMENTS = "joins"
_MUCH_LARGER = 4
"""How many times as large as what comes after it a segment must be to be left alone by a change."""
_NONE = np.empty(0, np.int64)


@dataclass(frozen=True, slots=True)
class Held:
    """A segment, and which of its feeds a version still wants."""

    segment: JoinSegment
    removed: Longs

    @property
    def is_wanted(self) -> NDArray[np.bool_]:
        return ~np.isin(self.segment.feeds, self.removed)

    def size(self) -> int:
        return len(self.segment.feeds) - len(self.removed)

    def feeds(self) -> list[JoinFeed]:
        """Its feeds with their plans; those of one stream share theirs."""
        wanted = self.is_wanted
        columns = (self.segment.feeds, self.segment.roots_of_feeds, self.segment.most)
        feeds, roots, most = (column[wanted] for column in columns)
        plans = self.segment.plans(np.unique(roots))
        rows = zip(feeds.tolist(), roots.tolist(), most.tolist(), strict=True)
        return [JoinFeed(feed, plans[root], limit) for feed, root, limit in rows]


class StoredJoins:
    """The feeds with joins of a version; of what is many, arrays in files that all processes map."""

    def __init__(self, held: Sequence[Held]) -> None:
        self._held = tuple(held)

    @cached_property
    def roots(self) -> tuple[Longs, Longs]:
        """(feeds, the keys of their streams), by key and feed."""
        feeds = [one.segment.feeds[one.is_wanted] for one in self._held]
        roots = [one.segment.roots_of_feeds[one.is_wanted] for one in self._held]
        feed, root = np.concatenate([_NONE, *feeds]), np.concatenate([_NONE, *roots])
        order = np.lexsort((feed, root))
        return feed[order], root[order]

    @property
    def feeds(self) -> Longs:
        """All feeds, ascending."""
        return np.sort(self.roots[0])

    @property
    def shards(self) -> list[int]:
        """The shards that have feeds."""
        living = np.unique(self.roots[1])
        return [
            shard
            for shard in sorted({shard for one in self._held for shard in one.segment.shards})
            if any(
                np.isin(one.segment.roots_in(shard, are_flat=flat), living).any()
                for one in self._held
                for flat in (True, False)
            )
        ]

    def compiled(
        self, shard: int, bounds: JoinBounds | None = None, *, most_per_hour: int = MOST_PER_HOUR
    ) -> CompiledJoins:
        """The joins of a shard, ready to be evaluated."""
        parts = self.parts(shard, bounds or JoinBounds())
        patterns = self.witnessing().get(shard)
        numbered = patterns.patterns if patterns is not None else None
        return CompiledJoins(
            self.others(shard), parts, self.roots, numbered, self.limits, most_per_hour=most_per_hour
        )

    @cached_property
    def limits(self) -> Limits:
        """Those of the feeds that say any."""
        chosen = [(one, one.is_wanted & (one.segment.most > 0)) for one in self._held]
        feed = np.concatenate([_NONE, *(one.segment.feeds[are] for one, are in chosen)])
        most = np.concatenate([_NONE, *(one.segment.most[are] for one, are in chosen)])
        order = np.argsort(feed)
        return Limits(feed[order], most[order])

    def place_of(self, feed: int) -> tuple[int, int] | None:
        """(key, shard) of a feed that is a join, or a chain of joins, over plain streams."""
        for one in self._held:
            at = int(np.searchsorted(one.segment.feeds, feed))
            if at < len(one.segment.feeds) and one.segment.feeds[at] == feed and feed not in one.removed:
                key = int(one.segment.roots_of_feeds[at])
                for shard in one.segment.shards:
                    if key in one.segment.roots_in(shard, are_flat=True):
                        return key, shard
        return None

    def parts(self, shard: int, bounds: JoinBounds) -> list[CompiledPart]:
        """The joins of a shard, by the segments in which they were compiled."""
        return [part for one in self._held if (part := one.segment.part(shard, bounds)) is not None]

    def others(self, shard: int | None = None) -> JoinSet:
        """The feeds, of a shard or of all, whose plans are more than joins over plain streams."""
        found: list[JoinFeed] = []
        for one in self._held:
            shards = one.segment.shards if shard is None else [shard]
            roots = np.concatenate([_NONE, *(one.segment.roots_in(each, are_flat=False) for each in shards)])
            chosen = one.is_wanted & np.isin(one.segment.roots_of_feeds, roots)
            if chosen.any():
                left = Held(one.segment, one.segment.feeds[~chosen])
                found += left.feeds()
        return JoinSet(found)

    def plan_of(self, feed: int) -> Node | None:
        """The plan of a feed, if it has joins."""
        for one in self._held:
            at = int(np.searchsorted(one.segment.feeds, feed))
            if at < len(one.segment.feeds) and one.segment.feeds[at] == feed and feed not in one.removed:
                root = one.segment.roots_of_feeds[at : at + 1]
                return one.segment.plans(root)[int(root[0])]
        return None

    def reading(self, streams: Iterable[int]) -> JoinSet:
        """The feeds that read one of these matched streams."""
        asked = np.array(sorted(streams), np.int64)
        found: list[JoinFeed] = []
        for one in self._held:
            root, stream = one.segment.uses
            readers = root[np.isin(stream, asked)]
            chosen = one.is_wanted & np.isin(one.segment.roots_of_feeds, readers)
            if chosen.any():
                found += Held(one.segment, one.segment.feeds[~chosen]).feeds()
        return JoinSet(found)

    @cached_property
    def matched(self) -> Longs:
        """The streams that the matcher fills for these joins, ascending."""
        living = np.unique(self.roots[1])
        used = [stream[np.isin(root, living)] for root, stream in (one.segment.uses for one in self._held)]
        return np.unique(np.concatenate([_NONE, *used]))

    def queries(self, streams: Longs | None = None) -> list[Query]:
        """What the matcher must find, for these streams or for all."""
        wanted = self.matched if streams is None else streams
        plans = {key: node for one in self._held for key, node in one.segment.matched(wanted).items()}
        return queries_of_streams(plans)

    def witnessing(self) -> dict[int, Witnessing]:
        """By shard what item tasks look for: each pattern once, in the order of the segments."""
        found: dict[int, Witnessing] = {}
        for one in self._held:
            for shard, own in one.segment.witnessing().items():
                before = found.get(shard, Witnessing((), _NONE))
                found[shard] = Witnessing(
                    tuple(dict.fromkeys((*before.patterns, *own.patterns))),
                    np.union1d(before.streams, own.streams),
                )
        return found

    def check(self) -> None:
        """Read every byte; `CompiledSetError` when any has changed."""
        for one in self._held:
            one.segment.check()


def save_joins(directory: Path, feeds: Iterable[JoinFeed]) -> None:
    """Write the feeds with joins of a version, all in one segment."""
    given = tuple(feeds)
    if given:
        _commit(directory, [(write_segment(_segments(directory), given), _NONE)])


def change_joins(
    since: Path, directory: Path, added: Sequence[JoinFeed], removed: Collection[int]
) -> tuple[list[Query], list[int]]:
    """Write a version that differs from another by some feeds: the queries that the matcher must find besides those
    it finds for the other, and the keys of those that nobody needs any more."""
    before = open_joins(since)
    gone = np.array(sorted(removed), np.int64)
    held = [
        Held(one.segment, np.union1d(one.removed, np.intersect1d(one.segment.feeds, gone)))
        for one in before._held
    ]
    kept, feeds = _merged(held, list(added))
    rows = [(one.segment.directory.name, one.removed) for one in kept]
    if feeds:
        rows.append((write_segment(_segments(directory), feeds), _NONE))
    if rows:
        _commit(directory, rows)
    after = open_joins(directory)
    new = np.setdiff1d(after.matched, before.matched)
    return after.queries(new), np.setdiff1d(before.matched, after.matched).tolist()


def _merged(held: Sequence[Held], feeds: list[JoinFeed]) -> tuple[list[Held], list[JoinFeed]]:
    """The segments that stay, and all feeds of the new one."""
    kept = [one for one in held if one.size()]
    while feeds and kept and kept[-1].size() <= _MUCH_LARGER * len(feeds):
        feeds = [*kept.pop().feeds(), *feeds]
    return kept, feeds


def open_joins(directory: Path) -> StoredJoins:
    """The feeds with joins of a version; `CompiledSetError` when they cannot be read."""
    path = directory / _NAME
    try:
        return _opened(directory, path.stat().st_mtime_ns)
    except FileNotFoundError:
        if directory.exists():
            raise CompiledSetError(f"{directory.name} lacks {_NAME}") from None
        return StoredJoins(())


@lru_cache(maxsize=8)
def _opened(directory: Path, _written_at: int) -> StoredJoins:
    """A version stays as it is, unless it is compiled again because it was damaged."""
    path = directory / _NAME
    try:
        written: Any = json.loads(path.read_bytes())
        rows = written["segments"]
        if written["format"] != FORMAT or written["digest"] != _digest(rows):
            raise CompiledSetError(f"{_NAME} of {directory.name} is damaged, or of another format")
        root = _segments(directory)
        return StoredJoins([Held(JoinSegment(root / name), np.array(gone, np.int64)) for name, gone in rows])
    except (OSError, ValueError, TypeError, LookupError, AttributeError) as error:
        raise CompiledSetError(f"{_NAME} of {directory.name} cannot be read: {error}") from error


def segment_names(directory: Path) -> list[str]:
    """The segments of a version; none if it has no joins."""
    return [one.segment.directory.name for one in open_joins(directory)._held]


def prune_joins(sets: Path, kept: Collection[int]) -> None:
    """Delete all versions but these, and the segments that none of them has."""
    used: set[str] = set()
    for path in sets.glob("*.joins"):
        if int(path.stem) not in kept:
            shutil.rmtree(path, ignore_errors=True)
            continue
        try:
            used |= {name for name, _ in json.loads((path / _NAME).read_bytes())["segments"]}
        except (OSError, ValueError, KeyError, TypeError):
            continue  # a damaged version is compiled again from its definitions
    for path in (sets / _SEGMENTS).glob("*"):
        if path.name not in used:
            shutil.rmtree(path, ignore_errors=True)


def _segments(directory: Path) -> Path:
    return directory.parent / _SEGMENTS


def _commit(directory: Path, rows: Sequence[tuple[str, Longs]]) -> None:
    listed = [[name, gone.tolist()] for name, gone in rows]
    directory.mkdir(parents=True, exist_ok=True)
    replace_json(directory / _NAME, {"format": FORMAT, "segments": listed, "digest": _digest(listed)})


def _digest(rows: object) -> int:
    return crc32(json.dumps(rows).encode())
