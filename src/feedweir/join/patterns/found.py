"""The results of a step: matches are held as they were found, and read one by one or as rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from feedweir.join.patterns.evaluate import Found
from feedweir.join.patterns.inner_results import Bindings, each_document_once, members_of
from feedweir.join.patterns.level_history import LevelState
from feedweir.join.patterns.pattern_set import Level
from feedweir.join.ragged import Ragged, ranges
from feedweir.plan.construction import filled

Longs = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Match:
    """One result: the query's key, the items that belong together from left to right, and the constructed document."""

    key: int
    items: tuple[int, ...]
    xml: str = ""


@dataclass(frozen=True, slots=True)
class LevelResults:
    """Matches of one level as they were found: a match of many equal queries is held once."""

    level: Level
    found: tuple[Found, ...]
    bindings: tuple[Bindings, ...]
    state: LevelState
    dropped: frozenset[int] = frozenset()
    """Results that would have been too many, and are left out."""
    steps: int = 0
    """The most that any join took."""

    def count(self) -> int:
        """How many (query, pair) results there are, without making them."""
        results = self.level.results
        total = sum(int((~results.is_inner[one.result]).sum()) for one in self.bindings)
        return total + sum(_members_count(found, self.level) for found in self.found if found.paths is None)

    @property
    def has_derived(self) -> bool:
        """Whether any document is more than the item of its number."""
        return self.state.has_derived

    def pairs(self, keys: frozenset[int]) -> Longs:
        """(key, left item, right item) of the matches of these queries, which construct nothing: each once, by key, by
        the later item, and by left and right."""
        return pairs_of([self], np.array(sorted(keys), np.int64))

    def rows_of(self, code_of: Longs) -> Longs:
        """(code, left, right) of matches without outputs, by documents' numbers; those of code -1 are left out."""
        parts = [np.empty((3, 0), np.int64)]
        for one in (each for each in self.found if each.paths is None):
            relation = self.level.relations[one.relation]
            low, high = relation.members_ptr[one.row], relation.members_ptr[one.row + 1]
            place = np.repeat(np.arange(len(one)), high - low)
            member = ranges(low, high)
            code = code_of[relation.members[member]]
            taken = (code >= 0) & (one.needed[place] <= relation.member_length[member])
            place = place[taken]
            parts.append(np.stack([code[taken], one.left[place], one.right[place]]))
        return np.concatenate(parts, axis=1)

    def besides(self, is_left_out: NDArray[np.bool_]) -> LevelResults:
        """The matches of all results but some."""
        kept = []
        for one in self.found:
            relation = self.level.relations[one.relation]
            is_wanted = np.add.reduceat(~is_left_out[relation.members], relation.members_ptr[:-1]) > 0
            kept.append(one.take(is_wanted[one.row]))
        found = tuple(one for one in kept if len(one))
        return replace(self, found=found)

    def matches(self, without: frozenset[int] = frozenset()) -> Iterator[Match]:
        for found in self.found:
            if found.paths is not None:
                continue
            items = self.state.items_of(found.left).beside(self.state.items_of(found.right))
            ends = items.ptr.tolist()
            for result, places in members_of(found, self.level):
                plain = self.level.results[result]
                if plain.key is not None and plain.key not in without:
                    for place in places.tolist():
                        together = items.longs[ends[place] : ends[place + 1]]
                        yield Match(plain.key, tuple(together.tolist()), plain.select)
        for one in self.bindings:
            yield from self._constructed(one.take(~self.level.results.is_inner[one.result]))

    def _constructed(self, bindings: Bindings) -> Iterator[Match]:
        items = self.state.items_of(bindings.left).beside(self.state.items_of(bindings.right))
        texts = bindings.texts(self.state)
        for place, result in enumerate(bindings.result.tolist()):
            one = self.level.results[result]
            assert one.key is not None
            xml = filled(one.select, dict(zip(one.outputs, texts[place], strict=True)))
            made_of = items.longs[items.ptr[place] : items.ptr[place + 1]]
            yield Match(one.key, tuple(made_of.tolist()), xml)


def _members_count(found: Found, level: Level) -> int:
    relation = level.relations[found.relation]
    sizes = np.diff(relation.members_ptr)
    total = 0
    if (relation.member_length == np.repeat(relation.length, sizes)).all():
        return int(sizes[found.row].sum())
    for _, places in members_of(found, level):
        total += len(places)
    return total


def pairs_of(levels: Sequence[LevelResults], keys: Longs) -> Longs:
    """(key, left item, right item) of the matches of these queries (ascending), which construct nothing, at levels with
    one history: each once, by key, by the later item, and by left and right."""
    if not levels:
        return np.empty((0, 3), np.int64)
    rows = np.concatenate([one.rows_of(codes_of(one.level.results.keys, keys)) for one in levels], axis=1)
    code, left, right = in_pair_order(*rows)
    state = levels[0].state
    return np.column_stack([keys[code], state.seqs(left), state.seqs(right)])


def documents_of(found: LevelResults, keys: Longs) -> tuple[Longs, Ragged]:
    """(key, items from left to right) of the matches of these queries, which construct nothing, whatever their
    documents were made of: each once, by key, by the latest item, and by items."""
    code, left, right = found.rows_of(codes_of(found.level.results.keys, keys))
    items = found.state.items_of(left).beside(found.state.items_of(right))
    order = each_document_once(code, items)
    return keys[code[order]], items.take(order)


def codes_of(own: Longs, keys: Longs) -> Longs:
    """Of each result the place of its key, or -1."""
    if not len(keys):
        return np.full(len(own), -1, np.int64)
    place = np.minimum(np.searchsorted(keys, own), len(keys) - 1)
    return np.where(keys[place] == own, place, -1)


@dataclass(frozen=True, slots=True)
class PatternResults:
    levels: tuple[LevelResults, ...]
    failures: Mapping[int, str] = field(default_factory=dict)
    """By key, why a query gives nothing in this batch: it would be too much."""
    notices: Mapping[int, str] = field(default_factory=dict)
    """By key a warning: a limit that cuts its window short."""

    def count(self) -> int:
        return sum(level.count() for level in self.levels)

    def matches(self, without: frozenset[int] = frozenset()) -> list[Match]:
        """All results but those of some queries, distinct and sorted; bulk readers take `levels`."""
        found = {match for level in self.levels for match in level.matches(without)}
        return sorted(found, key=lambda match: (max(match.items), match.key, match.items, match.xml))


def in_pair_order(code: Longs, left: Longs, right: Longs) -> tuple[Longs, Longs, Longs]:
    """Each once, by code, the later of the two, left and right. Numbers are dense, so that a row mostly fits in one
    word, which sorts ten times as fast as columns do."""
    later, earlier, is_left_later = np.maximum(left, right), np.minimum(left, right), left > right
    columns = (code, later, is_left_later.astype(np.int64), earlier)
    lows = [int(column.min(initial=0 if not len(column) else column[0])) for column in columns]
    widths = [
        (int(column.max(initial=low)) - low).bit_length() for column, low in zip(columns, lows, strict=True)
    ]
    if sum(widths) > 63:
        order = np.lexsort(columns[::-1])
        rows = np.stack(columns)[:, order]
        rows = rows[:, np.append(True, (rows[:, 1:] != rows[:, :-1]).any(axis=0))[: rows.shape[1]]]
    else:
        word = np.zeros(len(code), np.int64)
        for column, low, width in zip(columns, lows, widths, strict=True):
            word = word << width | (column - low)
        word = _sorted_once(word)
        unpacked = []
        for low, width in zip(lows[::-1], widths[::-1], strict=True):
            unpacked.append((word & ((1 << width) - 1)) + low)
            word = word >> width
        rows = np.stack(unpacked[::-1])
    code, later, side, earlier = rows
    return code, np.where(side, later, earlier), np.where(side, earlier, later)


def _sorted_once(words: Longs) -> Longs:
    words = np.sort(words)
    return np.asarray(words[np.append(True, words[1:] != words[:-1])[: len(words)]])
