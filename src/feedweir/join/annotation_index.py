"""Items by what joins find candidates by: equal keys, or similar words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from feedweir.join.annotation import AnnotationSet
from feedweir.join.features import Feature, Ragged
from feedweir.join.relations import sides_of
from feedweir.join.rows import ranges
from feedweir.join.similarity import SimilarityIndex, TokenSets
from feedweir.plan.predicates import Relates

Longs = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Pairs:
    """Rows of a batch and numbers of items, and how similar they are."""

    row: Longs
    number: Longs
    similarity: NDArray[np.float64]

    def only(self, is_kept: NDArray[np.bool_]) -> Pairs:
        return Pairs(self.row[is_kept], self.number[is_kept], self.similarity[is_kept])


def joined_pairs(parts: Sequence[Pairs]) -> Pairs:
    none = Pairs(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0))
    columns = ([getattr(one, name) for one in (none, *parts)] for name in ("row", "number", "similarity"))
    return Pairs(*(np.concatenate(column) for column in columns))


class EqualityIndex:
    """Numbers of items by key: sorted runs that are merged as they grow."""

    def __init__(self) -> None:
        self._runs: list[tuple[Longs, Longs]] = []

    def add(self, keys: Longs, numbers: Longs) -> None:
        """Keys of items, whose numbers ascend and come after those already here."""
        if not len(keys):
            return
        self._runs.append(_sorted(keys, numbers))
        while len(self._runs) > 1 and len(self._runs[-2][0]) <= 2 * len(self._runs[-1][0]):
            (one, some), (other, more) = self._runs[-2:]
            self._runs[-2:] = [_sorted(np.concatenate([one, other]), np.concatenate([some, more]))]

    def counts(self, keys: Longs) -> Longs:
        """How many items have each key."""
        found = np.zeros(len(keys), np.int64)
        for held, _ in self._runs:
            found += np.searchsorted(held, keys, "right") - np.searchsorted(held, keys, "left")
        return found

    def pairs(self, owner: Longs, keys: Longs) -> tuple[Longs, Longs]:
        """(owner, number) for every item that has one of the owner's keys; may repeat."""
        owners, found = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
        for held, numbers in self._runs:
            low = np.searchsorted(held, keys, "left").astype(np.int64)
            high = np.searchsorted(held, keys, "right").astype(np.int64)
            owners.append(np.repeat(owner, high - low))
            found.append(numbers[ranges(low, high)])
        return np.concatenate(owners), np.concatenate(found)


def _sorted(keys: Longs, numbers: Longs) -> tuple[Longs, Longs]:
    order = np.argsort(keys, kind="stable")
    return keys[order], numbers[order]


class FinderIndex:
    """Everything that the finding atoms of a set of joins look for, over items numbered from 0 on."""

    def __init__(self, joins: AnnotationSet, atoms: Iterable[Relates] | None = None) -> None:
        """For all finding atoms of a set, or for some."""
        sides = None if atoms is None else {sides_of(atom) for atom in atoms}
        equal = joins.equal if sides is None else [one for one in joins.equal if one in {b for _, b in sides}]
        self._equal = {feature: EqualityIndex() for feature in equal}
        self._similar = {
            one: SimilarityIndex(least)
            for one, least in joins.thresholds.items()
            if sides is None or one in sides
        }
        self._count = 0

    def add(self, columns: Mapping[Feature, Ragged], numbers: Longs) -> None:
        """Rows of columns under these ascending numbers, after all those already here."""
        if not len(numbers):
            return
        for feature, equal in self._equal.items():
            column = columns[feature]
            equal.add(column.data.astype(np.int64), np.repeat(numbers, np.diff(column.ptr)))
        for (_, theirs), similar in self._similar.items():
            similar.add(_sets(columns[theirs]), numbers)
        self._count = int(numbers[-1]) + 1

    def counts(self, sides: tuple[Feature, Feature], own: Ragged) -> Longs:
        """Of each row about how many items have an equal feature."""
        found = self._equal[sides[1]].counts(own.data.astype(np.int64))
        sums = np.concatenate([[0], np.cumsum(found)])
        return np.asarray(sums[own.ptr[1:]] - sums[own.ptr[:-1]])

    def pairs(
        self, sides: tuple[Feature, Feature], own: Ragged, rows: Longs, below: Longs | None = None
    ) -> Pairs:
        """All items, numbered below a row's bound, whose feature is equal to, or has enough in common with, that row's
        (`own` has those of the rows); may repeat."""
        if sides in self._similar:
            bound = np.full(len(rows), self._count, np.int64) if below is None else below
            found = self._similar[sides].probe(_sets(own), bound, np.zeros(len(rows), np.int64))
            return Pairs(rows[found.row], found.number, found.similarity)
        places = np.repeat(np.arange(len(rows), dtype=np.int64), np.diff(own.ptr))
        place, number = self._equal[sides[1]].pairs(places, own.data.astype(np.int64))
        if below is not None:
            earlier = number < below[place]
            place, number = place[earlier], number[earlier]
        return Pairs(rows[place], number, np.ones(len(place)))


def _sets(column: Ragged) -> TokenSets:
    return TokenSets(column.ptr, column.data.view(np.int64))
