"""From one version of a set to the next: what was added and removed, and segments merged by size.

A change writes one small segment and one version. Segments of similar size are merged at once, large ones by
`prepare_merge`, which may run beside the changes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from feedweir.match.arrays import Array
from feedweir.match.atom_shares import Frequencies
from feedweir.match.index.filter_forest import SourceTree
from feedweir.match.sets.query_store import FILE, read_table, table_of
from feedweir.match.sets.sealed import check_file
from feedweir.match.sets.segments import Segment, SegmentedSet, numbers_of, opened_segment, path_of
from feedweir.match.sets.set_versions import (
    CompileOptions,
    begin_merge,
    commit_version,
    forget_merge,
    number_of,
    segments_being_merged,
    segments_of,
    write_segment,
)
from feedweir.plan.query import Query
from feedweir.plan.query_columns import SCHEMA, QueryTable

_LARGE = 50_000
"""Queries from which on a segment is merged only when asked: rewriting it takes longer than a change may."""
_TOO_MANY, _TOO_MUCH = 6, 0.1
"""From this many segments, or this share of queries outside the largest, a merge pays: more would make matching
slower, fewer would have everything rewritten more often."""
_MUCH_LARGER = 16
"""CompileOptions many times as large as all newer ones together a segment must be to be left alone by a change."""
_NOTHING = np.empty(0, np.int64)


def apply_changes(
    root: Path,
    added: Iterable[Query] = (),
    removed_keys: Iterable[int] = (),
    *,
    frequencies: Frequencies | None = None,
    since: int | None = None,
    version: int | None = None,
    prepared: PreparedMerge | None = None,
) -> SegmentedSet:
    """The next version: without the queries of `removed_keys`, and then with those added.

    It follows the newest version or the one named by `since`, and gets the next number or the one named by `version`,
    which replaces one of that number. A merge that has been prepared is put in place with it, if it still can be.
    """
    current = number_of(root, since)
    segments = segments_of(root, current)
    if prepared is not None and _is_still_possible(segments, prepared):
        segments = _after_merge(root, segments, prepared)
    elif prepared is not None:
        forget_merge(root)
    removed = _sorted(np.fromiter(removed_keys, np.int64))
    table = table_of(added)
    busy = segments_being_merged(root)
    rewritten = _to_be_merged([one for one in segments if one.name not in busy], len(table))
    kept = [_without_keys(root, segment, removed) for segment in segments if segment not in rewritten]
    tables = [_remaining_queries(root, segment, removed) for segment in rewritten]
    new = write_segment(root, table_of(pa.concat_tables([*tables, table])), CompileOptions(frequencies))
    number = current + 1 if version is None else version
    return commit_version(root, number, [*kept, *new], replaces=version is not None)


@dataclass(frozen=True, slots=True)
class PreparedMerge:
    """One segment that can take the place of several."""

    merged: tuple[Segment, ...]
    written: tuple[Segment, ...]


def is_worth_merging(segments: tuple[Segment, ...]) -> bool:
    """Whether the smaller segments, and what was removed from the largest, make matching much slower."""
    largest = max(segments, key=lambda segment: segment.size, default=None)
    if largest is None or len(segments) == 1:
        return largest is not None and len(largest.removed) > _TOO_MUCH * max(largest.size, _LARGE)
    beside = sum(segment.size for segment in segments) - largest.size + len(largest.removed)
    return len(segments) > _TOO_MANY or beside > _TOO_MUCH * max(largest.size, _LARGE)


def prepare_merge(
    root: Path,
    version: int | None = None,
    *,
    frequencies: Frequencies | None = None,
    plan: Callable[[Sequence[Query]], Iterable[SourceTree]] | None = None,
) -> PreparedMerge:
    """Do the work of a merge. Changes may run beside it: they only remove queries from these segments.

    `plan` makes trees for all queries together, as `compile_set` takes them.
    """
    before = segments_of(root, number_of(root, version))
    begin_merge(root, before)
    table = _queries_of(root, before)
    trees = tuple(plan(QueryTable(table))) if plan else ()
    return PreparedMerge(before, tuple(write_segment(root, table, CompileOptions(frequencies, trees))))


def queries_of(root: Path, version: int | None = None) -> QueryTable:
    """The queries of a version, sorted by key."""
    return QueryTable(_queries_of(root, segments_of(root, number_of(root, version))))


def _queries_of(root: Path, segments: Iterable[Segment]) -> pa.Table:
    parts = (_remaining_queries(root, segment) for segment in segments)
    return table_of(pa.concat_tables([SCHEMA.empty_table(), *parts]))


def _is_still_possible(segments: tuple[Segment, ...], prepared: PreparedMerge) -> bool:
    return {segment.name for segment in prepared.merged} <= {segment.name for segment in segments}


def _after_merge(root: Path, segments: tuple[Segment, ...], prepared: PreparedMerge) -> tuple[Segment, ...]:
    before = {segment.name: segment.removed for segment in prepared.merged}
    since = [
        opened_segment(root, one).index.keys[np.setdiff1d(one.removed, before[one.name], assume_unique=True)]
        for one in segments
        if one.name in before
    ]
    gone = _sorted(np.concatenate([_NOTHING, *since]))
    forget_merge(root)
    written = [_without_keys(root, one, gone) for one in prepared.written]
    return (*written, *(one for one in segments if one.name not in before))


def _to_be_merged(segments: list[Segment], size: int) -> list[Segment]:
    """The newest segments that a new one is merged with: each not much larger than all newer ones together."""
    chosen: list[Segment] = []
    for segment in reversed(segments):
        if segment.size > _MUCH_LARGER * size or segment.size >= _LARGE:
            break
        chosen.append(segment)
        size += segment.size
    return chosen[::-1]


def _without_keys(root: Path, segment: Segment, removed: Array) -> Segment:
    """The segment without the queries of these keys, as far as it has them."""
    if not len(removed):
        return segment
    gone = numbers_of(opened_segment(root, segment).index.keys, removed)
    return Segment(segment.name, segment.size, _sorted(np.concatenate([segment.removed, gone])))


def _sorted(numbers: Array) -> Array:
    """Sorted, each once; `numpy.unique` takes ten times as long for some tens of thousands."""
    ordered = np.sort(numbers, kind="stable")
    is_first: Array = np.append(True, ordered[1:] != ordered[:-1])[: len(ordered)]
    return ordered[is_first]


def _remaining_queries(root: Path, segment: Segment, removed: Array = _NOTHING) -> pa.Table:
    """The queries of a segment, without those that were removed or are now."""
    path = path_of(root, segment)
    check_file(path, FILE)
    table = read_table(path).combine_chunks()  # rows are picked from one piece much faster than from many
    is_kept = np.ones(len(table), bool)
    is_kept[segment.removed] = False
    is_kept[numbers_of(table.column("key").to_numpy(), removed)] = False
    return table if is_kept.all() else table.take(pa.array(np.flatnonzero(is_kept)))
