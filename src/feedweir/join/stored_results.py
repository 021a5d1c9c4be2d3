"""The results of joins that were compiled before, for the feeds that show them: columns as far as they are many."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from feedweir.join.clock import Times
from feedweir.join.notices import late_message
from feedweir.join.patterns.found import (
    LevelResults,
    PatternResults,
    codes_of,
    documents_of,
    in_pair_order,
    pairs_of,
)
from feedweir.join.patterns.level_history import LevelState
from feedweir.join.ragged import Ragged, ranges
from feedweir.join.result_bounds import FeedBounds
from feedweir.join.result_tables import (
    group_documents,
    group_elements,
    in_order,
    pair_documents,
    pair_elements,
)
from feedweir.join.stored.compiled_joins import CompiledPart
from feedweir.logs.joined_log import MADE_SCHEMA, Construction
from feedweir.logs.store import ELEMENT_SCHEMA

Longs = NDArray[np.int64]


_NONE = np.empty(0, np.int64)
Emit = Callable[[pa.Table, pa.Table], None]
"""Takes a run: elements, and the documents that they stand for, each by feed and number."""

RUN_ROWS = 1_000_000
"""Results that are held before a run is written."""


@dataclass(frozen=True, slots=True)
class Shown:
    """Results for feeds: pairs of items as rows (feed, left, right) by feed; groups of any number of items by feed;
    other documents one by one."""

    pairs: Longs
    feeds: Longs
    """Of the groups."""
    groups: Ragged
    documents: Sequence[tuple[int, Construction]]
    """(feed, document), by feed."""

    def __len__(self) -> int:
        return len(self.pairs) + len(self.groups) + len(self.documents)


class StoredSet:
    """Joins compiled before: the feeds that show them, and what they read."""

    def __init__(self, parts: Sequence[CompiledPart], feeds: Longs, roots: Longs) -> None:
        """`feeds` with the keys of their joins, by key and feed."""
        self.parts = tuple(parts)
        keys = np.concatenate([np.empty(0, np.int64), *(part.keys for part in parts)])
        is_here = np.isin(roots, keys)
        self._feeds, self._roots = feeds[is_here], roots[is_here]

    @cached_property
    def keys(self) -> Longs:
        """Of the joins that feeds show, ascending; dropped ones stay compiled for a while."""
        return np.unique(self._roots)

    @cached_property
    def inputs(self) -> frozenset[int]:
        """The streams that they read."""
        found: set[int] = set()
        for part in self.parts:
            found.update(np.unique(part.input_stream).tolist())
        return frozenset(found)

    def feeds_of(self, keys: Iterable[int]) -> list[tuple[int, int]]:
        """(feed, key) of the feeds that show these joins, by feed."""
        asked = np.array(sorted(keys), np.int64)
        low, high = (np.searchsorted(self._roots, asked, side) for side in ("left", "right"))
        feeds = self._feeds[ranges(low.astype(np.int64), high.astype(np.int64))]
        pairs = zip(feeds.tolist(), np.repeat(asked, high - low).tolist(), strict=True)
        return sorted(pairs)

    def shown(self, found: LevelResults) -> Shown:
        """The results of some documents for the feeds; what is only pairs of items stays in columns."""
        is_foreign, is_pair = self._kinds[id(found.level)]
        plain = found.besides(is_foreign | ~is_pair)
        pairs, (keys, groups) = np.empty((0, 3), np.int64), (_NONE, Ragged.of(()))
        if found.has_derived:
            keys, groups = documents_of(plain, self.keys)
        else:
            pairs = pairs_of([plain], self.keys)
        group_feeds, chosen = self._shown_by(keys)
        rest = PatternResults((found.besides(is_foreign | is_pair),))
        left_out = frozenset(found.level.results.keys[is_foreign].tolist())
        documents = [
            (match.key, Construction(match.items, match.xml, is_selected=bool(match.xml)))
            for match in (rest.matches() if rest.levels[0].found or found.bindings else ())
            if match.key not in left_out
        ]
        feeds: dict[int, list[int]] = {}
        for feed, key in self.feeds_of({key for key, _ in documents}):
            feeds.setdefault(key, []).append(feed)
        of_feeds = [(feed, one) for key, one in documents for feed in feeds.get(key, ())]
        return Shown(
            self._of_feeds(pairs),
            group_feeds,
            groups.take(chosen),
            sorted(of_feeds, key=lambda pair: pair[0]),
        )

    def shown_pairs(self, pairs: Longs) -> Shown:
        """Pairs of items, as rows (key, left, right) by key, for the feeds."""
        return Shown(self._of_feeds(pairs), _NONE, Ragged.of(()), ())

    @cached_property
    def _kinds(self) -> dict[int, tuple[NDArray[np.bool_], NDArray[np.bool_]]]:
        """By `id` of a level: which of its results nobody is shown (their joins are gone, or in an earlier part as
        well), and which are only pairs."""
        found = {}
        earlier = np.empty(0, np.int64)
        for part in self.parts:
            for level in part.patterns.levels:
                results = level.results
                is_known = np.isin(results.keys, self.keys) & ~np.isin(results.keys, earlier)
                is_pair = (results.select == 0) & (results.stream == 0)
                found[id(level)] = (~is_known, np.asarray(is_pair))
            earlier = np.union1d(earlier, part.keys)
        return found

    def _of_feeds(self, pairs: Longs) -> Longs:
        """(feed, left, right) by feed, from (key, left, right) by key."""
        feeds, chosen = self._shown_by(pairs[:, 0])
        rows = pairs[chosen]
        rows[:, 0] = feeds
        return rows

    def _shown_by(self, key: Longs) -> tuple[Longs, Longs]:
        """(feed, row), by feed, of rows that have the key of a join, by key."""
        if not len(key):
            return _NONE, _NONE
        starts = np.flatnonzero(np.append(True, key[1:] != key[:-1])).astype(np.int64)
        stops = np.append(starts[1:], len(key))
        keys = key[starts]
        low, high = (np.searchsorted(self._roots, keys, side) for side in ("left", "right"))
        feeds = self._feeds[ranges(low.astype(np.int64), high.astype(np.int64))]
        place = np.repeat(np.arange(len(keys)), high - low)
        order = np.argsort(feeds, kind="stable")
        feeds, place = feeds[order], place[order]
        return np.repeat(feeds, stops[place] - starts[place]), ranges(starts[place], stops[place])

    def coded(self, found: LevelResults) -> Longs:
        """(place of the join, left, right), by documents' numbers, of matches that are pairs of items."""
        is_foreign, _ = self._kinds[id(found.level)]
        return found.rows_of(np.where(is_foreign, -1, codes_of(found.level.results.keys, self.keys)))

    def failures(self) -> dict[int, str]:
        """By key, why a join cannot be evaluated."""
        return {key: str(error) for part in self.parts for key, error in part.patterns.failures.items()}

    def timed(self) -> list[int]:
        """The keys of joins with a window of time."""
        return [key for part in self.parts for key in part.keys[part.is_timed].tolist()]

    def late(self, streams: Mapping[int, Longs], lateness_us: int) -> dict[int, str]:
        """By key a warning, when documents of a join's streams (given by number) came too late for it."""
        asked = np.array(sorted(streams), np.int64)
        found: dict[int, str] = {}
        for part in self.parts if len(asked) else ():
            timed = part.keys[part.is_timed]
            chosen = np.isin(part.input_stream, asked) & np.isin(part.input_key, timed)
            reads: dict[int, set[int]] = {}
            for key, stream in zip(
                part.input_key[chosen].tolist(), part.input_stream[chosen].tolist(), strict=True
            ):
                reads.setdefault(key, set()).add(stream)
            found |= {
                key: late_message(len(np.unique(np.concatenate([streams[one] for one in read]))), lateness_us)
                for key, read in reads.items()
            }
        return found


class StoredRuns:
    """Collects results of a batch, and gives them away in runs when they are many."""

    def __init__(self, stored: StoredSet, times: Times, bounds: FeedBounds, emit: Emit | None) -> None:
        self._stored = stored
        self._times = times
        self._bounds = bounds
        self._emit = emit
        self._held: list[Shown] = []

    def take(self, found: LevelResults) -> None:
        self._hold(self._stored.shown(found))

    def take_divided(self, rows: Sequence[Longs], state: LevelState) -> None:
        """What several tasks found (`StoredSet.coded`), some documents at a time."""
        later = [np.maximum(one[1], one[2]) for one in rows]
        first = min((int(one.min(initial=state.next_number)) for one in later), default=0)
        counts = np.bincount(np.concatenate([_NONE, *later]) - first)
        ends = first + 1 + np.flatnonzero(np.diff(np.cumsum(counts) // RUN_ROWS, append=-1))
        for low, high in pairwise([first, *ends.tolist()]):
            chosen = [one[:, (low <= last) & (last < high)] for one, last in zip(rows, later, strict=True)]
            code, left, right = in_pair_order(*np.concatenate(chosen, axis=1))
            pairs = np.column_stack([self._stored.keys[code], state.seqs(left), state.seqs(right)])
            self._hold(self._stored.shown_pairs(pairs))

    def _hold(self, shown: Shown) -> None:
        self._held.append(shown)
        if self._emit is not None and sum(map(len, self._held)) >= RUN_ROWS:
            self._emit(*self.finish())

    def finish(self) -> tuple[pa.Table, pa.Table]:
        """What is held, as tables, without what is beyond the bounds of feeds."""
        held, self._held = self._held, []
        pairs = np.concatenate([np.empty((0, 3), np.int64), *(one.pairs for one in held)])
        if len(held) > 1:
            pairs = pairs[np.argsort(pairs[:, 0], kind="stable")]
        rows = sorted(
            ((feed, one.place[0], one) for shown in held for feed, one in shown.documents),
            key=lambda row: row[:2],
        )
        groups = [_groups_of(one) for one in held if len(one.groups)]
        elements = in_order(pair_elements(pairs), *(one for one, _ in groups), _elements_of(rows))
        made = in_order(pair_documents(pairs), *(one for _, one in groups), _documents_of(rows))
        return self._bounds.applied(elements, made, self._times)


def _groups_of(shown: Shown) -> tuple[pa.Table, pa.Table]:
    seq = np.maximum.reduceat(shown.groups.longs, shown.groups.ptr[:-1])
    return group_elements(shown.feeds, seq), group_documents(shown.feeds, seq, shown.groups)


_Row = tuple[int, int, Construction]


def _elements_of(rows: Sequence[_Row]) -> pa.Table:
    distinct = list(dict.fromkeys((feed, seq) for feed, seq, _ in rows))
    columns = [pa.array([row[place] for row in distinct], pa.int64()) for place in (0, 1)]
    return pa.table(columns, schema=ELEMENT_SCHEMA)


def _documents_of(rows: Sequence[_Row]) -> pa.Table:
    columns = (
        [feed for feed, _, _ in rows],
        [seq for _, seq, _ in rows],
        [list(one.made_of) for _, _, one in rows],
        [one.xml for _, _, one in rows],
        [one.is_selected for _, _, one in rows],
    )
    arrays = [pa.array(column, field.type) for column, field in zip(columns, MADE_SCHEMA, strict=True)]
    return pa.Table.from_arrays(arrays, schema=MADE_SCHEMA)
