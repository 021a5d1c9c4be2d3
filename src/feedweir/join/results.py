"""What a step found: matches held as found, and told one by one or as rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from feedweir.join.compiled import Level
from feedweir.join.derived import Bindings, members_of
from feedweir.join.evaluate import Found
from feedweir.join.history import JoinState
from feedweir.join.query import filled
from feedweir.join.rows import ranges

Longs = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Match:
    """One result: the query's key, the items that belong together from left to right, and the constructed document."""

    key: int
    items: tuple[int, ...]
    xml: str = ""


@dataclass(frozen=True, slots=True)
class LevelResults:
    """Matches of one level, kept as found: a match of many equal queries is held once."""

    level: Level
    found: tuple[Found, ...]
    bindings: tuple[Bindings, ...]
    state: JoinState
    struck: frozenset[int] = frozenset()
    """Results that would have been too many, and are left out."""

    def count(self) -> int:
        """How many (query, pair) results there are, without making them."""
        results = [self.level.results[one.result] for one in self.bindings]
        total = sum(result.key is not None and bool(result.outputs) for result in results)
        return total + sum(_members_count(found, self.level) for found in self.found if found.paths is None)

    @property
    def has_derived(self) -> bool:
        """Whether any document is more than the item of its number."""
        return any(segment.derived for segment in self.state.segments)

    def pairs(self, keys: frozenset[int]) -> Longs:
        """(key, left item, right item) of the matches of these queries, which construct nothing: each once."""
        found = [np.empty((0, 3), np.int64)]
        key_of = np.array([-1 if one.key not in keys else one.key for one in self.level.results], np.int64)
        for one in (each for each in self.found if each.paths is None):
            relation = self.level.relations[one.relation]
            low, high = relation.members_ptr[one.row], relation.members_ptr[one.row + 1]
            place = np.repeat(np.arange(len(one)), high - low)
            member = ranges(low, high)
            key = key_of[relation.members[member]]
            taken = (key >= 0) & (one.needed[place] <= relation.member_length[member])
            found.append(np.column_stack([key[taken], one.left[place[taken]], one.right[place[taken]]]))
        rows = np.concatenate(found)
        numbers, inverse = np.unique(rows[:, 1:], return_inverse=True)
        rows[:, 1:] = self.state.sequence(numbers)[0][inverse.reshape(-1, 2)]
        rows = rows[np.lexsort(rows.T[::-1])]
        is_first = np.append(True, (rows[1:] != rows[:-1]).any(axis=1))[: len(rows)]
        return np.asarray(rows[is_first])

    def matches(self, without: frozenset[int] = frozenset()) -> Iterator[Match]:
        for found in self.found:
            if found.paths is not None:
                continue
            items = _ItemsOf(self.state)
            for result, places in members_of(found, self.level):
                plain = self.level.results[result]
                if plain.key is not None and plain.key not in without:
                    for place in places.tolist():
                        together = items[int(found.left[place])] + items[int(found.right[place])]
                        yield Match(plain.key, together, plain.select)
        for one in self.bindings:
            result_of = self.level.results[one.result]
            if result_of.key is not None and result_of.outputs:
                xml = filled(result_of.select, dict(zip(result_of.outputs, one.texts, strict=True)))
                items_of = self.state.items_of(one.left) + self.state.items_of(one.right)
                yield Match(result_of.key, items_of, xml)


class _ItemsOf(dict[int, tuple[int, ...]]):
    """The items of documents, looked up when they are first asked for."""

    def __init__(self, state: JoinState) -> None:
        self._state = state

    def __missing__(self, number: int) -> tuple[int, ...]:
        self[number] = self._state.items_of(number)
        return self[number]


def _members_count(found: Found, level: Level) -> int:
    relation = level.relations[found.relation]
    sizes = np.diff(relation.members_ptr)
    total = 0
    if (relation.member_length == np.repeat(relation.length, sizes)).all():
        return int(sizes[found.row].sum())
    for _, places in members_of(found, level):
        total += len(places)
    return total


@dataclass(frozen=True, slots=True)
class JoinResults:
    levels: tuple[LevelResults, ...]
    failures: Mapping[int, str] = field(default_factory=dict)
    """By key, the queries that give nothing in this batch, because it would be too much."""
    notices: Mapping[int, str] = field(default_factory=dict)
    """By key what should be known: bounds that cut windows short."""

    def count(self) -> int:
        return sum(level.count() for level in self.levels)

    def matches(self, without: frozenset[int] = frozenset()) -> list[Match]:
        """All results but those of some queries, distinct and sorted; bulk readers take `levels`."""
        found = {match for level in self.levels for match in level.matches(without)}
        return sorted(found, key=lambda match: (max(match.items), match.key, match.items, match.xml))
