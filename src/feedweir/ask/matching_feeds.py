"""Which feeds match an item, of all feeds in a compiled set or of those that concern an owner."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from feedweir.items.columns import ItemColumns
from feedweir.items.model import Item
from feedweir.join.sides import JoinPart
from feedweir.match import CompiledSet, Matches


@dataclass(frozen=True, slots=True)
class MatchedItem:
    """An item and the names of the feeds that match it by itself."""

    item: Item
    feeds: tuple[str, ...]
    joins: tuple[JoinPart, ...] = ()
    """The feeds that join it with others."""


@dataclass(frozen=True, slots=True)
class MatchingFeeds:
    items: tuple[MatchedItem, ...]
    asked: int
    """How many feeds were considered: all, or those that concern the owner."""
    candidates: int
    """How often a condition of one of them was checked."""


def found_in(compiled: CompiledSet, items: Sequence[Item], owner: str | None) -> Matches:
    """The pairs of items and feeds; only the queries that concern the owner are touched."""
    return compiled.match(ItemColumns(items), owner=owner)


def matched_items(matches: Matches, items: Sequence[Item], names: Mapping[int, str]) -> list[MatchedItem]:
    """Items with the feeds that match them by themselves."""
    feeds: list[list[str]] = [[] for _ in items]
    for row, key in zip(matches.rows.tolist(), matches.keys.tolist(), strict=True):
        if key in names:
            feeds[row].append(names[key])
    return [MatchedItem(item, tuple(sorted(some))) for item, some in zip(items, feeds, strict=True)]
