"""Circles: views that would feed each other, and the rows of the program that forbid them.

Embeddings compose, so that circles live only among views that embed in each other. Of these a program contains few:
the components of who feeds whom in some column. Two that could feed each other share a row, which has a price in the
relaxation; in larger components every view has a place in an order, and is fed by earlier ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from feedweir.network.choice import Columns
    from feedweir.network.problem import Problem

MOST_IN_ALL_SETS = 7
MOST_IN_THREES = 12
"""Components of more kinds than these have no row for each set, or for each three."""


@dataclass(frozen=True, slots=True)
class Within:
    """Who feeds whom in a column, where each could feed the other, by way of others too."""

    components: tuple[tuple[int, ...], ...]
    column: NDArray[np.int64]
    feeder: NDArray[np.int64]
    target: NDArray[np.int64]
    component: NDArray[np.int64]

    @property
    def kinds(self) -> NDArray[np.int32]:
        return np.array(sorted(kind for one in self.components for kind in one), np.int32)


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows of a program, each at least `low`, with columns of their own behind the rewritings."""

    row: NDArray[np.int64]
    column: NDArray[np.int64]
    value: NDArray[np.float64]
    low: NDArray[np.float64]
    upper: NDArray[np.float64]
    """Of each column of their own."""
    is_whole: NDArray[np.bool_]


def within_components(columns: Columns) -> Within:
    """The components of more than one kind, and what feeds what inside them."""
    members = columns.covers.members
    column, place = np.nonzero(members >= 0)
    feeder = members[column, place].astype(np.int64)
    target = columns.covers.target[column].astype(np.int64)
    n = 1 + int(max(target.max(initial=0), feeder.max(initial=0)))
    # Whoever feeds nobody, or is fed by nobody, is in no circle: little is left after a few rounds.
    while len(column):
        feeds, is_fed = np.zeros(n, bool), np.zeros(n, bool)
        feeds[feeder] = is_fed[target] = True
        is_left = is_fed[feeder] & feeds[target]
        if is_left.all():
            break
        column, feeder, target = column[is_left], feeder[is_left], target[is_left]
    found = components(np.unique(feeder * n + target), n)
    component = np.full(n, -1)
    for number, kinds in enumerate(found):
        component[list(kinds)] = number
    is_inside = (component[feeder] >= 0) & (component[feeder] == component[target])
    target = target[is_inside]
    return Within(tuple(found), column[is_inside], feeder[is_inside], target, component[target])


def components(edges: NDArray[np.int64], n: int) -> list[tuple[int, ...]]:
    """Sets of more than one number all of which reach each other by edges from `edge // n` to `edge % n`."""
    after: dict[int, list[int]] = {}
    before: dict[int, list[int]] = {}
    for edge in edges.tolist():
        one, other = divmod(edge, n)
        after.setdefault(one, []).append(other)
        before.setdefault(other, []).append(one)
    left: list[int] = []
    seen: set[int] = set()
    for start in after:
        _walk(start, after, seen, left)
    # Kosaraju: whoever was left last reaches, backwards, its own component only.
    found, seen = [], set()
    for start in reversed(left):
        reached: list[int] = []
        _walk(start, before, seen, reached)
        if len(reached) > 1:
            found.append(tuple(sorted(reached)))
    return sorted(found)


def _walk(start: int, ways: dict[int, list[int]], seen: set[int], left: list[int]) -> None:
    """Depth first from `start` over what was not seen; `left` gets each number when all behind it is done."""
    if start in seen:
        return
    seen.add(start)
    path = [(start, iter(ways.get(start, ())))]
    while path:
        at, more = path[-1]
        following = next((one for one in more if one not in seen), None)
        if following is None:
            left.append(at)
            path.pop()
        else:
            seen.add(following)
            path.append((following, iter(ways.get(following, ()))))


def mutual(within: Within) -> list[tuple[int, int]]:
    """Pairs of kinds each of which feeds the other in some column."""
    n = 1 + int(within.kinds.max(initial=0))
    forth, back = within.target * n + within.feeder, within.feeder * n + within.target
    found = np.unique(forth[np.isin(forth, back) & (within.target < within.feeder)])
    return [(int(pair // n), int(pair % n)) for pair in found]


def larger_circles(within: Within) -> list[tuple[int, ...]]:
    """Sets of three and more kinds that are each filled from outside of them: all such sets of a small component, of
    others the component and its threes. The orders forbid all circles; these rows make that quick to prove."""
    found: list[tuple[int, ...]] = []
    for kinds in within.components:
        if len(kinds) > MOST_IN_ALL_SETS:
            found.append(kinds)
        sizes = range(3, len(kinds) + 1 if len(kinds) <= MOST_IN_ALL_SETS else 4)
        if len(kinds) <= MOST_IN_THREES:
            found += [one for size in sizes for one in combinations(kinds, size)]
    return found


def way_out_rows(columns: Columns, circles: Sequence[Sequence[int]]) -> Rows:
    """Of each circle one kind is filled without the others."""
    ways = [ways_out(columns, circle) for circle in circles]
    row = np.repeat(np.arange(len(ways)), list(map(len, ways)))
    column = np.concatenate([*ways, np.empty(0, np.int64)])
    return Rows(row, column, np.ones(len(row)), np.ones(len(ways)), np.empty(0), np.empty(0, np.bool_))


def ways_out(columns: Columns, circle: Sequence[int]) -> NDArray[np.int64]:
    """The columns that fill one of these kinds without any of the others."""
    mine = np.flatnonzero(np.isin(columns.target[: columns.begin_copies], circle))
    is_cover = mine < columns.begin_direct
    is_inside = np.zeros(len(mine), bool)
    is_inside[is_cover] = np.isin(columns.covers.members[mine[is_cover]], circle).any(axis=1)
    return mine[~is_inside]


def order_rows(problem: Problem, columns: Columns, within: Within) -> Rows:
    """An order in every component of more than two kinds: whoever feeds comes before whom it feeds.

    With K kinds in the component and a place o of each from 0 to K - 1, o(target) - o(feeder) >= 1 - K (1 - x), where
    x is 1 if one feeds the other. Of several equal views only the first counts, from which the others can be filled:
    which one that is has columns of its own, as many as the kind has rewritings, that sum up to 1.
    """
    sizes = np.array([len(kinds) for kinds in within.components], np.int64)
    is_large = sizes[within.component] > 2 if len(sizes) else np.empty(0, np.bool_)
    feeder, target, column = within.feeder[is_large], within.target[is_large], within.column[is_large]
    kinds = np.unique(target)
    size = sizes[within.component[is_large]] if len(sizes) else np.empty(0, np.int64)
    n, n_columns = 1 + int(kinds.max(initial=0)), len(columns.target)
    size_of = np.zeros(n, np.int64)
    size_of[target] = size
    place = np.zeros(n, np.int64)
    place[kinds] = n_columns + np.arange(len(kinds))
    # The first of several equal views.
    several = kinds[problem.copies[kinds] > 1]
    filling = np.flatnonzero(np.isin(columns.target[: columns.begin_copies], several))
    first = np.arange(n_columns)
    first[filling] = n_columns + len(kinds) + np.arange(len(filling))
    # One row for each pair, then for each filling (it is used if it is the first), then for each of several.
    pairs, of_pair = np.unique(feeder * n + target, return_inverse=True)
    each, both = np.arange(len(pairs)), len(pairs) + np.arange(len(filling))
    sums = len(pairs) + len(filling) + np.searchsorted(several, columns.target[filling])
    ones = np.ones(len(filling))
    low = np.concatenate([1.0 - size_of[pairs % n], np.zeros(len(filling)), np.ones(len(several))])
    return Rows(
        np.concatenate([each, each, of_pair, both, both, sums]),
        np.concatenate(
            [place[pairs % n], place[pairs // n], first[column], filling, first[filling], first[filling]]
        ),
        np.concatenate([np.ones(len(pairs)), -np.ones(len(pairs)), -size.astype(float), ones, -ones, ones]),
        low,
        np.concatenate([size_of[kinds] - 1.0, ones]),
        np.arange(len(kinds) + len(filling)) >= len(kinds),
    )


def circles_in(problem: Problem, columns: Columns, times: NDArray[np.float64]) -> list[tuple[int, ...]]:
    """Kinds that feed each other in a circle in this choice; no two circles share a kind.

    A kind is filled when one of the rewritings chosen for it has all its feeders filled.
    """
    chosen = np.flatnonzero(times > 0.5)
    n = len(problem.copies)
    by_target: dict[int, list[int]] = {}
    waits: dict[int, list[int]] = {}
    missing: dict[int, int] = {}
    is_filled = np.zeros(n, bool)
    ready: list[int] = []
    for column in chosen.tolist():
        if column >= columns.begin_copies:
            continue
        target = int(columns.target[column])
        by_target.setdefault(target, []).append(column)
        feeders = _feeders(columns, column)
        missing[column] = len(feeders)
        for v in feeders:
            waits.setdefault(v, []).append(column)
        if not feeders and not is_filled[target]:
            is_filled[target] = True
            ready.append(target)
    while ready:
        for column in waits.get(ready.pop(), ()):
            missing[column] -= 1
            target = int(columns.target[column])
            if not missing[column] and not is_filled[target]:
                is_filled[target] = True
                ready.append(target)
    found: list[tuple[int, ...]] = []
    seen = np.zeros(n, bool)
    for start in sorted(by_target):
        if not is_filled[start] and not seen[start]:
            circle = _circle(start, by_target, columns, is_filled, seen)
            if circle:
                found.append(circle)
    return found


def _feeders(columns: Columns, column: int) -> list[int]:
    if column >= columns.begin_direct:
        return []
    return [v for v in columns.covers.members[column].tolist() if v >= 0]


def _circle(
    start: int,
    by_target: dict[int, list[int]],
    columns: Columns,
    is_filled: NDArray[np.bool_],
    seen: NDArray[np.bool_],
) -> tuple[int, ...]:
    """Go to a feeder that is not filled until one is met again: the kinds on the way round."""
    way: list[int] = []
    place: dict[int, int] = {}
    at = start
    while at not in place:
        if seen[at]:
            return ()
        place[at] = len(way)
        way.append(at)
        seen[at] = True
        at = next(v for column in by_target[at] for v in _feeders(columns, column) if not is_filled[v])
    return tuple(sorted(way[place[at] :]))
