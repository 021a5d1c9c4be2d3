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
    NONE_REMOVED,
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
from feedweir.match.parts import NO_LIMIT, PAIRS_AT_ONCE, joined
from feedweir.match.removal_kernels import mark_removed
from feedweir.match.shared_words import translation_of
from feedweir.plan.query import Query

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

    @cached_property
    def _sets(self) -> tuple[IndexedSet, ...]:
        return tuple(opened_segment(self.root, segment) for segment in self.segments)

    @cached_property
    def _removed(self) -> tuple[Array, ...]:
        """Of each segment a bit for every query that was removed."""
        return tuple(_bits(opened.index.keys, one.removed) for one, opened in self._parts())

    def __len__(self) -> int:
        return sum(segment.size - _count_in(opened, segment.removed) for segment, opened in self._parts())

    @property
    def notes(self) -> tuple[Note, ...]:
        return tuple(
            note
            for segment, opened in self._parts()
            for note in opened.notes
            if not is_among(np.array([note.key]), segment.removed)[0]
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
        sets, removed = (self._sets, self._removed) if owner is None else self._limited_to(owner)
        largest, translations = self._words() if owner is None else (None, ())
        texts = texts_of(items, sorted({field for one in sets for field in one.fields}), largest)
        asking = Asking(items, texts, is_sampled, counters is not None, limit)
        return answered(sets, removed, asking, counters, translations)

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
            opened for segment, opened in self._parts() if not is_among(np.array([key]), segment.removed)[0]
        ]

    def _parts(self) -> Iterable[tuple[Segment, IndexedSet]]:
        return zip(self.segments, self._sets, strict=True)


def path_of(root: Path, segment: Segment) -> Path:
    return root / "segments" / segment.name


def opened_segment(root: Path, segment: Segment) -> IndexedSet:
    """A segment, verified and mapped once a process: it never changes, and its name is never used again."""
    return _opened(str(path_of(root, segment)))


def is_among(numbers: Array, known: Array) -> Array:
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
