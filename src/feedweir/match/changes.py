"""From one version of a set to the next: what was added and removed, and segments merged by size.

A change writes one small segment and one version. Segments of similar size are merged at once, the large ones when
`merge` is called, which may happen beside the changes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from feedweir.errors import CompiledSetError
from feedweir.match.arrays import Array
from feedweir.match.factored import SourceTree
from feedweir.match.sealed import check_file
from feedweir.match.segments import Segment, SegmentedSet, numbers_of, opened_segment, path_of
from feedweir.match.selectivity import Frequencies
from feedweir.match.store import FILE, read_table, table_of
from feedweir.match.versions import (
    How,
    begin_merge,
    being_merged,
    committed,
    forget_merge,
    number_of,
    segments_of,
    written,
)
from feedweir.plan.columns import SCHEMA, QueryTable
from feedweir.plan.query import Query

_LARGE = 50_000
"""Queries from which on a segment is merged only when asked: rewriting it takes longer than a change may."""
_TOO_MANY, _TOO_MUCH = 6, 0.1
"""Segments, and queries beside the largest as a share of it, from which on a merge pays: the more there are, the slower
is matching; the fewer, the more often everything is written anew."""
_MUCH_LARGER = 16
"""How many times as large as all newer ones together a segment must be to be left alone by a change."""
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
    if prepared is not None and _can_take_place(segments, prepared):
        segments = _with_merge(root, segments, prepared)
    elif prepared is not None:
        forget_merge(root)
    removed = _sorted(np.fromiter(removed_keys, np.int64))
    table = table_of(added)
    busy = being_merged(root)
    rewritten = _similar([one for one in segments if one.name not in busy], len(table))
    kept = [_less(root, segment, removed) for segment in segments if segment not in rewritten]
    tables = [_kept_table(root, segment, removed) for segment in rewritten]
    new = written(root, table_of(pa.concat_tables([*tables, table])), How(frequencies))
    number = current + 1 if version is None else version
    return committed(root, number, [*kept, *new], replaces=version is not None)


@dataclass(frozen=True, slots=True)
class PreparedMerge:
    """One segment that can take the place of several."""

    merged: tuple[Segment, ...]
    written: tuple[Segment, ...]


def merge(root: Path, *, frequencies: Frequencies | None = None) -> SegmentedSet:
    """The same queries in one segment, as the next version."""
    return finish_merge(root, prepare_merge(root, frequencies=frequencies))


def is_worth_merging(segments: tuple[Segment, ...]) -> bool:
    """Whether what lies beside the largest segment, and what was removed from it, makes matching much slower."""
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
    """Do the work of a merge. Changes may go on beside it: they leave these segments alone but for what they remove.

    `plan` makes trees for all queries together, as `compile_set` takes them.
    """
    before = segments_of(root, number_of(root, version))
    begin_merge(root, before)
    table = table_of(
        pa.concat_tables([SCHEMA.empty_table(), *(_kept_table(root, segment) for segment in before)])
    )
    trees = tuple(plan(QueryTable(table))) if plan else ()
    return PreparedMerge(before, tuple(written(root, table, How(frequencies, trees))))


def finish_merge(root: Path, prepared: PreparedMerge) -> SegmentedSet:
    """Put a prepared merge in place; what was removed since it began is removed from it."""
    now = number_of(root, None)
    return committed(root, now + 1, list(_with_merge(root, segments_of(root, now), prepared)))


def _can_take_place(segments: tuple[Segment, ...], prepared: PreparedMerge) -> bool:
    return {segment.name for segment in prepared.merged} <= {segment.name for segment in segments}


def _with_merge(root: Path, segments: tuple[Segment, ...], prepared: PreparedMerge) -> tuple[Segment, ...]:
    before = {segment.name: segment.removed for segment in prepared.merged}
    if not _can_take_place(segments, prepared):
        raise CompiledSetError(f"{root.name} was merged by another", hint="merge it again")
    since = [
        opened_segment(root, one).index.keys[np.setdiff1d(one.removed, before[one.name], assume_unique=True)]
        for one in segments
        if one.name in before
    ]
    gone = _sorted(np.concatenate([_NOTHING, *since]))
    forget_merge(root)
    written = [_less(root, one, gone) for one in prepared.written]
    return (*written, *(one for one in segments if one.name not in before))


def _similar(segments: list[Segment], size: int) -> list[Segment]:
    """The newest segments that are to be merged with a new one: each not much larger than all after it together."""
    chosen: list[Segment] = []
    for segment in reversed(segments):
        if segment.size > _MUCH_LARGER * size or segment.size >= _LARGE:
            break
        chosen.append(segment)
        size += segment.size
    return chosen[::-1]


def _less(root: Path, segment: Segment, removed: Array) -> Segment:
    """The segment without the queries of these keys, as far as it has them."""
    if not len(removed):
        return segment
    gone = numbers_of(opened_segment(root, segment).index.keys, removed)
    return Segment(segment.name, segment.size, _sorted(np.concatenate([segment.removed, gone])))


def _sorted(numbers: Array) -> Array:
    """In order, each once; `numpy.unique` takes ten times as long for some tens of thousands."""
    ordered = np.sort(numbers, kind="stable")
    is_first: Array = np.append(True, ordered[1:] != ordered[:-1])[: len(ordered)]
    return ordered[is_first]


def _kept_table(root: Path, segment: Segment, removed: Array = _NOTHING) -> pa.Table:
    """The queries of a segment, without those that were removed or are now."""
    path = path_of(root, segment)
    check_file(path, FILE)
    table = read_table(path).combine_chunks()  # rows are picked from one piece much faster than from many
    is_kept = np.ones(len(table), bool)
    is_kept[segment.removed] = False
    is_kept[numbers_of(table.column("key").to_numpy(), removed)] = False
    return table if is_kept.all() else table.take(pa.array(np.flatnonzero(is_kept)))
