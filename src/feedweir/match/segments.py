"""Sets that change: a large segment, small ones beside it, and the keys that were removed from each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path

import numpy as np
import pyarrow as pa

from feedweir.items.model import Item
from feedweir.match.arrays import Array, frozen
from feedweir.match.compiled import (
    NONE_SAMPLED,
    Asking,
    IndexedSet,
    answered,
    open_compiled,
)
from feedweir.match.counters import Counters
from feedweir.match.dictionary_kernels import Dictionary
from feedweir.match.explain import Explanation, explained
from feedweir.match.facts import texts_of
from feedweir.match.formulas import Note
from feedweir.match.matches import Matches
from feedweir.match.pair_kernels import REMOVED
from feedweir.match.parts import NO_LIMIT, PAIRS_AT_ONCE, joined
from feedweir.match.shared_words import translation_of
from feedweir.plan.query import Query

_SEGMENTS_KEPT_OPEN = 64


@dataclass(frozen=True, slots=True)
class Segment:
    """A part of a version: a compiled set without some queries."""

    name: str
    size: int
    removed: Array
    """Their numbers, sorted; with a query all others of its key are removed."""


class SegmentedSet:
    """One version of a set that changes."""

    def __init__(self, root: Path, version: int, segments: tuple[Segment, ...]) -> None:
        self.root = root
        self.version = version
        self.segments = segments

    @cached_property
    def _sets(self) -> tuple[IndexedSet, ...]:
        return tuple(opened_segment(self.root, segment) for segment in self.segments)

    @cached_property
    def _keys(self) -> tuple[Array, ...]:
        """Of each segment the keys of its queries, without what was removed."""
        return tuple(_without(opened.index.keys, one.removed) for one, opened in self._parts())

    def __len__(self) -> int:
        return sum(segment.size - len(segment.removed) for segment in self.segments)

    @property
    def notes(self) -> tuple[Note, ...]:
        return tuple(
            note
            for segment, opened in self._parts()
            for note in opened.notes
            if not _is_removed(note.key, segment, opened)
        )

    def verified(self) -> SegmentedSet:
        """The same, once every byte of its segments was read; whoever only changes a set does without."""
        assert len(self._sets) == len(self.segments)
        return self

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
        sets, keys = (self._sets, self._keys) if owner is None else self._limited_to(owner)
        largest, translations = self._words() if owner is None else (None, ())
        texts = texts_of(items, sorted({field for one in sets for field in one.fields}), largest)
        asking = Asking(items, texts, is_sampled, counters is not None, limit)
        return answered(sets, keys, asking, counters, translations)

    def _words(self) -> tuple[Dictionary | None, list[Array | None]]:
        """The words of the largest segment, and their translations into those of the others."""
        if len(self.segments) < 2:
            return None, [None] * len(self.segments)
        paths = [str(path_of(self.root, segment)) for segment in self.segments]
        place = max(range(len(paths)), key=lambda number: self.segments[number].size)
        translations = [None if path == paths[place] else _translation(paths[place], path) for path in paths]
        return self._sets[place].index.words, translations

    def _limited_to(self, owner: str) -> tuple[tuple[IndexedSet, ...], tuple[Array, ...]]:
        sets = tuple(opened.limited_to(owner) for opened in self._sets)
        removed = (opened.index.keys[segment.removed] for segment, opened in self._parts())
        keys = ((limited.index.keys, gone) for limited, gone in zip(sets, removed, strict=True))
        return sets, tuple(_without(some, numbers_of(some, gone)) for some, gone in keys)

    def explain(self, item: Item, key: int) -> Explanation:
        return explained(
            [found for opened in self._with(key) for found in opened.finders_of(item, key)], item
        )

    def query(self, key: int) -> Query | None:
        return next((query for opened in self._with(key) for _, query in opened.queries_of(key)), None)

    def _with(self, key: int) -> list[IndexedSet]:
        """The segments from which a key has not been removed."""
        return [opened for segment, opened in self._parts() if not _is_removed(key, segment, opened)]

    def _parts(self) -> Iterable[tuple[Segment, IndexedSet]]:
        return zip(self.segments, self._sets, strict=True)


def path_of(root: Path, segment: Segment) -> Path:
    return root / "segments" / segment.name


def opened_segment(root: Path, segment: Segment) -> IndexedSet:
    """A segment, verified and mapped once a process: it never changes, and its name is never used again."""
    return _opened(str(path_of(root, segment)))


def numbers_of(keys: Array, some: Array) -> Array:
    """The numbers of the queries of some sorted keys, in order; few are looked for among many."""
    firsts, lasts = (np.searchsorted(keys, some, side=side) for side in ("left", "right"))
    counts = lasts - firsts
    ends = np.cumsum(counts)
    numbers: Array = np.arange(ends[-1] if len(ends) else 0) + np.repeat(firsts - ends + counts, counts)
    return numbers.astype(np.int32)


def _is_removed(key: int, segment: Segment, opened: IndexedSet) -> bool:
    return bool(np.isin(numbers_of(opened.index.keys, np.array([key])), segment.removed).any())


def _without(keys: Array, removed: Array) -> Array:
    """The keys of queries, of which those of some numbers were removed."""
    if not len(removed):
        return keys
    kept = keys.copy()
    kept[removed] = REMOVED
    return frozen(kept)


@lru_cache(maxsize=_SEGMENTS_KEPT_OPEN)
def _translation(largest: str, other: str) -> Array:
    return translation_of(_opened(largest).index.words, _opened(other).index.words)


_open: dict[str, IndexedSet] = {}


def _opened(path: str) -> IndexedSet:
    known = _open.get(path)
    if known is None:
        _open[path] = known = open_compiled(Path(path))
        oldest = list(_open)
        # What was pruned takes its room on the disk as long as anybody has it open.
        for place, other in enumerate(oldest, _SEGMENTS_KEPT_OPEN - len(oldest)):
            if place < 0 or not Path(other).exists():
                _open.pop(other, None)
    return known
