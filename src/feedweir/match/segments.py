"""Sets that change: a large segment, small ones beside it, and the keys that were removed from each.

    ROOT/segments/NAME/     compiled sets, never changed
    ROOT/versions/NUMBER/   which segments a version consists of, and what it no longer wants of each

A change writes one small segment and one version. Segments are merged by size: those of similar size at once, the large
ones when `merge` is called, which may happen beside the changes. Versions stay until they are pruned.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from shutil import rmtree
from typing import Any
from uuid import uuid4

import numpy as np
import pyarrow as pa

from feedweir.errors import CompiledSetError
from feedweir.items.model import Item
from feedweir.match.arrays import Array, frozen, load_arrays, save_arrays
from feedweir.match.compiled import (
    NONE_REMOVED,
    NONE_SAMPLED,
    Asking,
    IndexedSet,
    answered,
    compile_set,
    open_compiled,
)
from feedweir.match.counters import Counters
from feedweir.match.dictionary_kernels import Dictionary
from feedweir.match.explain import Explanation, explained
from feedweir.match.factored import SourceTree
from feedweir.match.facts import texts_of
from feedweir.match.formulas import Note, Progress
from feedweir.match.matches import Matches
from feedweir.match.parts import NO_LIMIT, PAIRS_AT_ONCE, joined
from feedweir.match.removal_kernels import mark_removed
from feedweir.match.sealed import open_sealed, write_sealed
from feedweir.match.selectivity import Frequencies
from feedweir.match.shared_words import translation_of
from feedweir.match.store import read_table, table_of
from feedweir.plan.columns import SCHEMA, QueryTable
from feedweir.plan.query import Query

_REMOVED = "removed.arrays"
_MERGING = "merging.json"
"""The segments that a merge is at work on; one that died only leaves more small segments until the next."""
_LARGE = 50_000
"""Queries from which on a segment is merged only when asked: rewriting it takes longer than a change may."""
_TOO_MANY, _TOO_MUCH = 6, 0.1
"""Segments, and queries beside the largest as a share of it, from which on a merge pays."""
_MUCH_LARGER = 8
"""How many times as large as all newer ones together a segment must be to be left alone by a change."""
_SEGMENTS_KEPT_OPEN = 64


@dataclass(frozen=True, slots=True)
class Segment:
    """A part of a version: a compiled set without the queries of some keys."""

    name: str
    size: int
    removed: Array
    """Sorted keys."""


class SegmentedSet:
    """One version of a set that changes."""

    def __init__(self, root: Path, version: int, segments: tuple[Segment, ...]) -> None:
        self.root = root
        self.version = version
        self.segments = segments
        self._sets = tuple(_opened(str(root / "segments" / segment.name)) for segment in segments)

    @cached_property
    def _removed(self) -> tuple[Array, ...]:
        """Of each segment a bit for every query that was removed; whoever only changes a set does without."""
        return tuple(_bits(opened.index.keys, one.removed) for one, opened in self._parts())

    def __len__(self) -> int:
        return sum(segment.size - _count_in(opened, segment.removed) for segment, opened in self._parts())

    @property
    def notes(self) -> tuple[Note, ...]:
        return tuple(
            note
            for segment, opened in self._parts()
            for note in opened.notes
            if not _is_among(np.array([note.key]), segment.removed)[0]
        )

    def match(self, items: pa.RecordBatch, *, owner: str | None = None) -> Matches:
        return joined(self.match_in_parts(items, owner=owner, limit=NO_LIMIT))

    def match_in_parts(
        self,
        items: pa.RecordBatch,
        *,
        owner: str | None = None,
        is_sampled: Array = NONE_SAMPLED,
        counters: Counters | None = None,
        limit: int = PAIRS_AT_ONCE,
    ) -> Iterator[Matches]:
        sets, removed = (self._sets, self._removed) if owner is None else self._limited_to(owner)
        largest, translations = self._words() if owner is None else (None, ())
        texts = texts_of(items, sorted({field for one in sets for field in one.fields}), largest)
        asking = Asking(items, texts, is_sampled, counters is not None, limit)
        return answered(sets, removed, asking, counters, translations)

    def _words(self) -> tuple[Dictionary | None, list[Array | None]]:
        """The words of the largest segment, and their translations into those of the others."""
        if len(self.segments) < 2:
            return None, [None] * len(self.segments)
        paths = [str(self.root / "segments" / segment.name) for segment in self.segments]
        place = max(range(len(paths)), key=lambda number: self.segments[number].size)
        translations = [None if path == paths[place] else _translation(paths[place], path) for path in paths]
        return self._sets[place].index.words, translations

    def _limited_to(self, owner: str) -> tuple[tuple[IndexedSet, ...], tuple[Array, ...]]:
        sets = tuple(opened.limited_to(owner) for opened in self._sets)
        pairs = zip(sets, self.segments, strict=True)
        return sets, tuple(_bits(limited.index.keys, segment.removed) for limited, segment in pairs)

    def explain(self, item: Item, key: int) -> Explanation:
        return explained(
            [found for opened in self._with(key) for found in opened.finders_of(item, key)], item
        )

    def query(self, key: int) -> Query | None:
        return next((query for opened in self._with(key) for _, query in opened.queries_of(key)), None)

    def _with(self, key: int) -> list[IndexedSet]:
        """The segments from which a key has not been removed."""
        return [
            opened for segment, opened in self._parts() if not _is_among(np.array([key]), segment.removed)[0]
        ]

    def _parts(self) -> Iterable[tuple[Segment, IndexedSet]]:
        return zip(self.segments, self._sets, strict=True)


# Versions


def create_segmented(
    root: Path, queries: Any = (), *, frequencies: Frequencies | None = None
) -> SegmentedSet:
    """A set that can change, with its first queries (as `compile_set` takes them) in one segment."""
    if (root / "versions").exists():
        raise CompiledSetError(f"{root.name} is a compiled set already")
    return write_version(root, 1, queries, frequencies=frequencies)


def write_version(
    root: Path,
    version: int,
    queries: Any,
    *,
    frequencies: Frequencies | None = None,
    trees: Iterable[SourceTree] = (),
    progress: Progress | None = None,
) -> SegmentedSet:
    """A version of its own, with all queries in one segment; it replaces one of that number."""
    how = _How(frequencies, tuple(trees), progress)
    return _committed(root, version, _written(root, table_of(queries), how), replaces=True)


def is_segmented(root: Path) -> bool:
    return (root / "versions").is_dir()


def versions_of(root: Path) -> list[int]:
    """The versions that can be opened, oldest first."""
    paths = (root / "versions").iterdir() if is_segmented(root) else ()
    return sorted(int(path.name) for path in paths if path.name.isdigit())


def open_version(root: Path, version: int | None = None) -> SegmentedSet:
    """A version of a set, the newest when none is named."""
    known = versions_of(root)
    wanted = version if version is not None else (known[-1] if known else 0)
    if wanted not in known:
        raise CompiledSetError(f"{root.name} has no version {wanted}", hint="it may have been pruned")
    return SegmentedSet(root, wanted, _segments_of(root, wanted))


def verify_version(root: Path, version: int) -> None:
    """Read every byte of a version anew; `CompiledSetError` when one is not as it was written."""
    for segment in _segments_of(root, version):
        open_sealed(root / "segments" / segment.name)


def _segments_of(root: Path, version: int) -> tuple[Segment, ...]:
    directory = root / "versions" / str(version)
    details = open_sealed(directory)
    removed = load_arrays(directory / _REMOVED)
    return tuple(Segment(name, size, removed[name]) for name, size in details["segments"])


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
    current = open_version(root, since)
    if prepared is not None and _can_take_place(current.segments, prepared):
        current = SegmentedSet(root, current.version, _with_merge(root, current.segments, prepared))
    elif prepared is not None:
        forget_merge(root)
    removed = np.unique(np.fromiter(removed_keys, np.int64))
    segments = [_less(segment, removed, opened) for segment, opened in current._parts()]
    table = table_of(added)
    merged_up = _similar([one for one in segments if one.name not in _being_merged(root)], len(table))
    tables = [_kept_table(root, segment) for segment in merged_up]
    kept = [segment for segment in segments if segment not in merged_up]
    written = _written(root, table_of(pa.concat_tables([*tables, table])), _How(frequencies))
    number = current.version + 1 if version is None else version
    return _committed(root, number, [*kept, *written], replaces=version is not None)


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
    before = open_version(root, version).segments
    (root / _MERGING).write_text(json.dumps([segment.name for segment in before]), encoding="utf-8")
    table = table_of(
        pa.concat_tables([SCHEMA.empty_table(), *(_kept_table(root, segment) for segment in before)])
    )
    trees = tuple(plan(QueryTable(table))) if plan else ()
    return PreparedMerge(before, tuple(_written(root, table, _How(frequencies, trees))))


def finish_merge(root: Path, prepared: PreparedMerge) -> SegmentedSet:
    """Put a prepared merge in place; what was removed since it began is removed from it."""
    now = open_version(root)
    return _committed(root, now.version + 1, list(_with_merge(root, now.segments, prepared)))


def forget_merge(root: Path) -> None:
    """Give up a merge that was at work, or died: its segments may be merged and pruned again."""
    (root / _MERGING).unlink(missing_ok=True)


def _can_take_place(segments: tuple[Segment, ...], prepared: PreparedMerge) -> bool:
    return {segment.name for segment in prepared.merged} <= {segment.name for segment in segments}


def _with_merge(root: Path, segments: tuple[Segment, ...], prepared: PreparedMerge) -> tuple[Segment, ...]:
    before = {segment.name: segment.removed for segment in prepared.merged}
    if not _can_take_place(segments, prepared):
        raise CompiledSetError(f"{root.name} was merged by another", hint="merge it again")
    since = [np.setdiff1d(one.removed, before[one.name]) for one in segments if one.name in before]
    gone = np.unique(np.concatenate([np.empty(0, np.int64), *since]))
    forget_merge(root)
    written = [Segment(one.name, one.size, gone) for one in prepared.written]
    return (*written, *(one for one in segments if one.name not in before))


def prune(root: Path, keep: Iterable[int]) -> None:
    """Delete all versions but these and the newest, and the segments that none of them has."""
    known = versions_of(root)
    wanted = {*keep, *known[-1:]}
    for version in known:
        if version not in wanted:
            rmtree(root / "versions" / str(version))
    if (root / _MERGING).exists():
        return  # it is writing a segment that no version names yet
    used = {segment.name for version in versions_of(root) for segment in _readable(root, version)}
    for path in (root / "segments").iterdir() if (root / "segments").exists() else ():
        if path.name not in used:
            rmtree(path)


def _readable(root: Path, version: int) -> tuple[Segment, ...]:
    try:
        return _segments_of(root, version)
    except CompiledSetError:  # a damaged version is made again from its queries, not from its segments
        return ()


def _committed(root: Path, version: int, segments: list[Segment], *, replaces: bool = False) -> SegmentedSet:
    directory = root / "versions" / str(version)
    if directory.exists() and not replaces:
        raise CompiledSetError(f"{root.name} was changed by another", hint="apply the change again")

    def write(scratch: Path) -> dict[str, Any]:
        save_arrays(scratch / _REMOVED, {segment.name: segment.removed for segment in segments})
        return {"segments": [[segment.name, segment.size] for segment in segments]}

    write_sealed(directory, write)
    return SegmentedSet(root, version, tuple(segments))


@dataclass(frozen=True, slots=True)
class _How:
    """What else compiling a segment is given."""

    frequencies: Frequencies | None = None
    trees: tuple[SourceTree, ...] = ()
    progress: Progress | None = None


def _written(root: Path, table: pa.Table, how: _How) -> list[Segment]:
    """A new segment of a table; none when there is nothing in it."""
    if not len(table):
        return []
    name = uuid4().hex
    path = root / "segments" / name
    compile_set(table, path, frequencies=how.frequencies, trees=how.trees, progress=how.progress)
    return [Segment(name, len(table), np.empty(0, np.int64))]


def _similar(segments: list[Segment], size: int) -> list[Segment]:
    """The newest segments that are to be merged with a new one: each not much larger than all after it together."""
    chosen: list[Segment] = []
    for segment in reversed(segments):
        if segment.size > _MUCH_LARGER * size or segment.size >= _LARGE:
            break
        chosen.append(segment)
        size += segment.size
    return chosen[::-1]


def _being_merged(root: Path) -> list[str]:
    path = root / _MERGING
    return list(json.loads(path.read_text(encoding="utf-8"))) if path.exists() else []


def _less(segment: Segment, removed: Array, opened: IndexedSet) -> Segment:
    """The segment without these keys; keys that it does not have are not remembered."""
    gone = removed[_is_among(removed, opened.index.keys)]
    if not len(gone):
        return segment
    return Segment(segment.name, segment.size, np.union1d(segment.removed, gone))


def _kept_table(root: Path, segment: Segment) -> pa.Table:
    table = read_table(root / "segments" / segment.name)
    is_kept = ~_is_among(table.column("key").to_numpy(), segment.removed)
    return table.filter(pa.array(is_kept))


def _is_among(numbers: Array, known: Array) -> Array:
    """For each number, whether it is one of the sorted known ones."""
    if not len(known):
        return np.zeros(len(numbers), bool)
    places = np.minimum(np.searchsorted(known, numbers), len(known) - 1)
    is_there: Array = known[places] == numbers
    return is_there


def _bits(keys: Array, removed: Array) -> Array:
    """A bit for every query whose key has been removed; nothing when none has."""
    if not len(removed):
        return NONE_REMOVED
    bits = np.zeros((len(keys) + 7) // 8, np.uint8)
    mark_removed(frozen(keys), frozen(removed), bits)
    return frozen(bits)


def _numbers_of(keys: Array, removed: Array) -> Array:
    """The numbers of the queries of some keys; few are looked for among many, never the other way round."""
    firsts, lasts = (np.searchsorted(keys, removed, side=side) for side in ("left", "right"))
    counts = lasts - firsts
    ends = np.cumsum(counts)
    numbers: Array = np.arange(ends[-1] if len(ends) else 0) + np.repeat(firsts - ends + counts, counts)
    return numbers


def _count_in(opened: IndexedSet, removed: Array) -> int:
    return len(_numbers_of(opened.index.keys, removed))


@lru_cache(maxsize=_SEGMENTS_KEPT_OPEN)
def _translation(largest: str, other: str) -> Array:
    return translation_of(_opened(largest).index.words, _opened(other).index.words)


@lru_cache(maxsize=_SEGMENTS_KEPT_OPEN)
def _opened(path: str) -> IndexedSet:
    """A segment, verified and mapped once a process: it never changes, and its name is never used again."""
    return open_compiled(Path(path))
