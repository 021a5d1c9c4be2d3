"""Annotation joins, compiled: those of one predicate together, by the streams that they read.

A partner p of an item c comes before c in the stream. In a window of time d it was published later than d before c
arrived (p.time > c.arrived - d); in a window of n items it is one of the last n of the window's stream when c has come,
c itself included when it is one of them. Items without a date count from their arrival. So that what is remembered is
bounded, p must also not be older than the clock at c (`join.window_bounds`) by more than d and the lateness allowed.

In a *story* join a window of time d has what was published less than d before or after c: the first documents of two
sources bring what was published long ago, in any order. What is remembered is bounded by the arrival of p instead.

A story join compares with what was let through before. For items of the batch itself that is not yet decided, so all
pairs among them are found, and `first_reports` decides.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from feedweir.errors import FeedweirError, LanguageError
from feedweir.join.window_bounds import FOREVER, JoinBounds, microseconds
from feedweir.join.windows.annotation_kernels import COUNT, STORY_COUNT, STORY_TIME, TIME, Joins
from feedweir.join.windows.features import IDENTITY, Feature
from feedweir.join.windows.relations import (
    atoms_of,
    conditions_of,
    decides,
    finders,
    finding_sides,
    is_graded,
    sides_of,
)
from feedweir.plan.nodes import LastItems, TimeSpan, WindowSpec
from feedweir.plan.predicates import JoinPredicate, Relates

Longs = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class AnnotationQuery:
    """`key` is what results report; streams go by any numbers that mean the same in every process.

    Those of a stage are evaluated together: they read nothing that another of the same stage, or of a later one, makes.
    """

    key: int
    primary: int
    window: int
    spec: WindowSpec
    predicate: JoinPredicate
    stage: int = 0
    is_story: bool = False


@dataclass(frozen=True, slots=True)
class Group:
    """Joins of one predicate and one stage; streams by their places among those of the set."""

    predicate: JoinPredicate
    finders: tuple[Relates, ...] | None
    is_story: bool
    joins: Joins
    keys: Longs
    """By place in `joins`."""
    primaries: Longs
    windows: Longs

    @property
    def is_decided(self) -> bool:
        """Whether the index that finds candidates decides them as well."""
        return self.finders == (self.predicate,) and decides(self.finders[0])


@dataclass(frozen=True, slots=True)
class Horizon:
    """How far back the windows over a stream reach; negative for no window."""

    time_us: int = -1
    items: int = -1


@dataclass(frozen=True, slots=True)
class AnnotationSet:
    """All annotation joins as one value."""

    stages: tuple[tuple[Group, ...], ...]
    streams: Longs
    """Ascending: groups refer to them by place."""
    features: tuple[Feature, ...]
    """The features that are kept for items in windows."""
    thresholds: Mapping[tuple[Feature, Feature], float]
    """By the features of graded atoms that find candidates, the lowest threshold."""
    equal: tuple[Feature, ...]
    """The features of windows that other atoms find candidates by."""
    horizons: Mapping[int, Horizon]
    """By stream that is under a window."""
    failures: Mapping[int, FeedweirError]
    bounds: JoinBounds

    @property
    def longest_us(self) -> int:
        """The longest window of time; `FOREVER` if any window counts items."""
        windows = self.horizons.values()
        if any(window.items >= 0 for window in windows):
            return FOREVER
        return max((window.time_us for window in windows), default=FOREVER)

    def inputs(self, stage: int) -> tuple[Longs, Longs]:
        """The streams that a stage reads: those of primary items, and those under windows."""
        groups = self.stages[stage]
        sides = ([group.primaries for group in groups], [group.windows for group in groups])
        none = np.empty(0, np.int64)
        primaries, windows = (self.streams[np.unique(np.concatenate([none, *side]))] for side in sides)
        return primaries, windows


def compile_annotations(
    queries: Iterable[AnnotationQuery], *, bounds: JoinBounds | None = None
) -> AnnotationSet:
    """The compiled set; a join that cannot be used is a failure by its key, and the rest is compiled."""
    failures: dict[int, FeedweirError] = {}
    accepted: list[AnnotationQuery] = []
    for query in queries:
        try:
            _check(query)
            accepted.append(query)
        except FeedweirError as error:
            failures[query.key] = error
    names = {query.primary for query in accepted} | {query.window for query in accepted}
    streams = np.array(sorted(names), np.int64)
    stages = _stages(accepted, streams)
    atoms = [atom for query in dict.fromkeys(q.predicate for q in accepted) for atom in atoms_of(query)]
    features = {side for atom in atoms for side in (*sides_of(atom), *finding_sides(atom))}
    features.update(one for query in accepted for one in conditions_of(query.predicate))
    if any(query.is_story for query in accepted):
        features.add(IDENTITY)
    found_by = {atom for groups in stages for group in groups for atom in group.finders or ()}
    return AnnotationSet(
        stages,
        streams,
        tuple(sorted(features, key=repr)),
        _thresholds(found_by),
        tuple(sorted({finding_sides(atom)[1] for atom in found_by if not is_graded(atom)}, key=repr)),
        _horizons(accepted),
        failures,
        bounds or JoinBounds(),
    )


def _check(query: AnnotationQuery) -> None:
    for atom in atoms_of(query.predicate):
        sides_of(atom)
    if query.spec is None:
        raise LanguageError("a join needs a window", hint="for example `join last 3 days of …`")
    if _length(query.spec) <= 0:
        raise LanguageError("the length of a window must be greater than 0", hint="for example `last 3 days`")


def _length(spec: WindowSpec) -> int:
    return microseconds(spec.length) if isinstance(spec, TimeSpan) else min(spec.count, FOREVER)


def _kind(query: AnnotationQuery) -> int:
    if isinstance(query.spec, TimeSpan):
        return STORY_TIME if query.is_story else TIME
    return STORY_COUNT if query.is_story else COUNT


def _stages(queries: Sequence[AnnotationQuery], streams: Longs) -> tuple[tuple[Group, ...], ...]:
    stages: list[dict[tuple[JoinPredicate, bool], list[AnnotationQuery]]]
    stages = [{} for _ in range(max((query.stage for query in queries), default=-1) + 1)]
    for query in queries:
        stages[query.stage].setdefault((query.predicate, query.is_story), []).append(query)
    return tuple(
        tuple(_group(predicate, is_story, some, streams) for (predicate, is_story), some in groups.items())
        for groups in stages
    )


def _group(
    predicate: JoinPredicate, is_story: bool, queries: Sequence[AnnotationQuery], streams: Longs
) -> Group:
    """Joins by primary stream, window and kind of window, the longest first."""
    rows = np.array([[q.primary, q.window, _kind(q), -_length(q.spec), q.key] for q in queries], np.int64)
    rows = rows[np.lexsort(rows.T[::-1])]
    primary, window = (np.searchsorted(streams, rows[:, place]).astype(np.int64) for place in (0, 1))
    starts = _changes(primary, window, rows[:, 2])
    primaries = _changes(primary[starts])
    joins = Joins(
        primary[starts][primaries],
        np.append(primaries, len(starts)),
        window[starts],
        rows[starts, 2],
        np.append(starts, len(rows)),
        -rows[:, 3],
    )
    windows = np.unique(window)
    return Group(predicate, finders(predicate), is_story, joins, rows[:, 4].copy(), joins.primary, windows)


def _changes(*columns: Longs) -> Longs:
    """The places where one of the columns differs from the place before."""
    differs = np.ones(len(columns[0]), np.bool_)
    differs[1:] = np.any([column[1:] != column[:-1] for column in columns], axis=0)
    return np.flatnonzero(differs).astype(np.int64)


def _thresholds(atoms: Iterable[Relates]) -> dict[tuple[Feature, Feature], float]:
    lowest: dict[tuple[Feature, Feature], float] = {}
    for atom in atoms:
        if is_graded(atom):
            sides = sides_of(atom)
            lowest[sides] = min(lowest.get(sides, 1.0), atom.threshold)
    return lowest


def _horizons(queries: Iterable[AnnotationQuery]) -> dict[int, Horizon]:
    times: dict[int, int] = {}
    items: dict[int, int] = {}
    for query in queries:
        longest = items if isinstance(query.spec, LastItems) else times
        longest[query.window] = max(longest.get(query.window, -1), _length(query.spec))
    return {
        stream: Horizon(times.get(stream, -1), items.get(stream, -1)) for stream in sorted({*times, *items})
    }
