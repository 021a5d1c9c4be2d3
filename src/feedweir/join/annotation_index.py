"""Items by what joins find candidates by: equal keys, or similar words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
from numpy.typing import NDArray

from feedweir.join.annotation import AnnotationSet
from feedweir.join.features import Feature, Ragged
from feedweir.join.relations import sides_of
from feedweir.join.rows import ranges
from feedweir.join.similarity import SimilarityIndex, TokenSets
from feedweir.plan.predicates import Relates

Longs = NDArray[np.int64]


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

    def pairs(
        self, atom: Relates, columns: Mapping[Feature, Ragged], rows: Longs, below: Longs | None = None
    ) -> tuple[Longs, Longs]:
        """(row, number) of all items that satisfy an atom with a row, numbered below that row's bound; may repeat."""
        mine, theirs = sides_of(atom)
        asked = columns[mine].take(rows)
        if atom.op == "similar":
            bound = np.full(len(rows), self._count, np.int64) if below is None else below
            found = self._similar[mine, theirs].probe(_sets(asked), bound, np.zeros(len(rows), np.int64))
            enough = found.similarity >= atom.threshold
            return rows[found.row[enough]], found.number[enough]
        places = np.repeat(np.arange(len(rows), dtype=np.int64), np.diff(asked.ptr))
        place, number = self._equal[theirs].pairs(places, asked.data.astype(np.int64))
        if below is not None:
            earlier = number < below[place]
            place, number = place[earlier], number[earlier]
        return rows[place], number


def _sets(column: Ragged) -> TokenSets:
    return TokenSets(column.ptr, column.data.view(np.int64))
