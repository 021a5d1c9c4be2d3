"""A window's items with inverted indexes over what join predicates compare, so that a join looks at few of them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Sequence
from math import ceil
from typing import TypeAlias

from feedweir.engine.relating import canonical_links, finders
from feedweir.items.attributes import values_of
from feedweir.items.text import fold
from feedweir.match.meaning import Reading, number_in
from feedweir.plan.predicates import JoinPredicate, Relates

_Feature: TypeAlias = tuple[str, str | None]
"""(operator, attribute of the window's item)."""
_Postings: TypeAlias = defaultdict[Hashable, list[int]]
"""By token the places of the items that have it, ascending."""

_ROUNDING = 1e-9
"""A similarity that is just enough must not be missed for a rounding error."""


class WindowIndex:
    """Items in the order of the stream. An index is made when the first join asks for it, and kept up from then on."""

    def __init__(self, readings: Iterable[Reading] = ()) -> None:
        self.readings: list[Reading] = list(readings)
        self._postings: dict[_Feature, _Postings] = {}

    def __len__(self) -> int:
        return len(self.readings)

    def extend(self, readings: Sequence[Reading]) -> None:
        start = len(self.readings)
        self.readings += readings
        for feature, postings in self._postings.items():
            _enter(feature, readings, start, postings)

    def places(self, predicate: JoinPredicate, primary: Reading, low: int, high: int) -> Iterable[int]:
        """The places from `low` to `high` of all items that can relate to the primary one, and maybe of others."""
        atoms = finders(predicate)
        if atoms is None:
            return range(low, high)
        found = {place for atom in atoms for place in self._found(atom, primary) if low <= place < high}
        return sorted(found)

    def _found(self, atom: Relates, primary: Reading) -> Iterable[int]:
        feature = (atom.op, atom.window_attribute)
        if feature not in self._postings:
            self._postings[feature] = defaultdict(list)
            _enter(feature, self.readings, 0, self._postings[feature])
        postings = self._postings[feature]
        lists = [postings.get(token, []) for token in _tokens((atom.op, atom.attribute), primary)]
        if atom.op == "similar":
            lists = _rarest(lists, atom.threshold)
        return (place for places in lists for place in places)


def _rarest(lists: list[list[int]], threshold: float) -> list[list[int]]:
    """Similar items share at least so many of the primary's words, hence one of the rarest others."""
    shared = ceil(len(lists) * threshold - _ROUNDING)
    return sorted(lists, key=len)[: len(lists) - max(shared, 1) + 1]


def _enter(feature: _Feature, readings: Sequence[Reading], start: int, postings: _Postings) -> None:
    for place, reading in enumerate(readings, start):
        for token in _tokens(feature, reading):
            postings[token].append(place)


def _tokens(feature: _Feature, reading: Reading) -> set[Hashable]:
    op, attribute = feature
    if op == "similar":
        return set(reading.bag(attribute))
    if op == "shares-link":
        return set(canonical_links(reading, attribute))
    return {token for value in values_of(reading.item, attribute or "") for token in _equal_tokens(value)}


def _equal_tokens(value: object) -> list[Hashable]:
    """Values that compare as equal share one of these; a text is also the number that it reads as."""
    if not isinstance(value, str):
        return [value]
    number = number_in(value)
    text = fold(value).strip()
    return [text] if number is None else [text, number]
