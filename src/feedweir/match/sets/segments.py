"""Sets that change: a large segment, small ones, and the keys that were removed from each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path

import numpy as np

from feedweir.items.columns import Batch
from feedweir.items.model import Item
from feedweir.match.arrays import Array, frozen
from feedweir.match.counters import Counters
from feedweir.match.index.query_formulas import Note
from feedweir.match.matches import Matches
from feedweir.match.matching.answer_parts import NO_LIMIT, PAIRS_AT_ONCE, joined
from feedweir.match.matching.batch_facts import texts_of
from feedweir.match.matching.pair_kernels import REMOVED
from feedweir.match.meaning.explanations import Explanation, explained
from feedweir.match.sets.compiled_set import (
    NONE_SAMPLED,
    OWNERS_KEPT,
    IndexedSet,
    MatchRequest,
    Member,
    answered,
    open_compiled,
)
from feedweir.match.sets.overlay import can_be_laid_over, overlay_of
from feedweir.match.words.shared_words import known_in, translation_of
from feedweir.plan.query import Query

_SEGMENTS_KEPT_OPEN = 64
_NO_KEYS = np.empty(0, np.int64)


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
        self._limited_to = lru_cache(maxsize=OWNERS_KEPT)(self._members_for)

    @cached_property
    def _sets(self) -> tuple[IndexedSet, ...]:
        return tuple(opened_segment(self.root, segment) for segment in self.segments)

    @cached_property
    def _members(self) -> tuple[Member, ...]:
        """The largest segment with those that can be laid over it, and then the others."""
        parts = sorted(self._parts(), key=lambda part: -part[0].size)
        if len(parts) < 2:
            return tuple(Member(opened, _kept_keys(segment, opened)) for segment, opened in parts)
        (largest, base), smaller = parts[0], parts[1:]
        known = {
            one.name: _known(*(str(path_of(self.root, each)) for each in (largest, one)))
            for one, _ in smaller
        }
        over = [(one, opened) for one, opened in smaller if can_be_laid_over(opened.index)]
        overlay = overlay_of(base.index, [(opened.index, known[one.name]) for one, opened in over])
        behind = np.concatenate([_NO_KEYS, *(_kept_keys(*part) for part in over)])[overlay.order]
        keys = np.concatenate([base.index.keys, behind])
        keys[largest.removed] = REMOVED
        others = (
            Member(
                opened,
                _kept_keys(one, opened),
                translation=translation_of(base.index.words, known[one.name]),
            )
            for one, opened in smaller
            if (one, opened) not in over
        )
        return Member(base, frozen(keys), overlay if over else None), *others

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
        """Itself, after reading every byte of its segments; changing a set does not need that."""
        assert len(self._sets) == len(self.segments)
        return self

    def match(self, items: Batch, *, owner: str | None = None) -> Matches:
        return joined(self.match_in_parts(items, owner=owner, limit=NO_LIMIT))

    def match_in_parts(
        self,
        items: Batch,
        *,
        owner: str | None = None,
        is_sampled: Array = NONE_SAMPLED,
        counters: Counters | None = None,
        limit: int = PAIRS_AT_ONCE,
    ) -> Iterator[Matches]:
        members = self._members if owner is None else self._limited_to(owner)
        largest = members[0].compiled.index.words if owner is None and len(self.segments) > 1 else None
        texts = texts_of(items, fields_of(members), largest)
        request = MatchRequest(items, texts, is_sampled, counters is not None, limit)
        return answered(members, request, counters)

    def _members_for(self, owner: str) -> tuple[Member, ...]:
        limited = ((one, opened, opened.limited_to(owner)) for one, opened in self._parts())
        return tuple(
            Member(
                some, _without(some.index.keys, numbers_of(some.index.keys, opened.index.keys[one.removed]))
            )
            for one, opened, some in limited
        )

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


def fields_of(members: Sequence[Member]) -> Sequence[str]:
    """The attributes whose words any of them reads."""
    known = {member.compiled.fields for member in members}
    return known.pop() if len(known) == 1 else sorted(set().union(*known))


def path_of(root: Path, segment: Segment) -> Path:
    return root / "segments" / segment.name


def opened_segment(root: Path, segment: Segment) -> IndexedSet:
    """A segment, verified and mapped once per process: it never changes, and its name is never reused."""
    return _opened(str(path_of(root, segment)))


def numbers_of(keys: Array, some: Array) -> Array:
    """The numbers of the queries with some sorted keys, in order."""
    firsts, lasts = (np.searchsorted(keys, some, side=side) for side in ("left", "right"))
    counts = lasts - firsts
    ends = np.cumsum(counts)
    numbers: Array = np.arange(ends[-1] if len(ends) else 0) + np.repeat(firsts - ends + counts, counts)
    return numbers.astype(np.int32)


def _is_removed(key: int, segment: Segment, opened: IndexedSet) -> bool:
    return bool(np.isin(numbers_of(opened.index.keys, np.array([key])), segment.removed).any())


def _kept_keys(segment: Segment, opened: IndexedSet) -> Array:
    return _without(opened.index.keys, segment.removed)


def _without(keys: Array, removed: Array) -> Array:
    """The keys of queries, of which those of some numbers were removed."""
    if not len(removed):
        return frozen(keys)
    kept = keys.copy()
    kept[removed] = REMOVED
    return frozen(kept)


@lru_cache(maxsize=_SEGMENTS_KEPT_OPEN)
def _known(largest: str, other: str) -> Array:
    return known_in(_opened(largest).index.words, _opened(other).index.words)


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
