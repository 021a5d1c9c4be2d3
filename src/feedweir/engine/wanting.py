"""Which feeds want an item: asked of a compiled set, of all of it or only of what concerns an owner."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from feedweir.engine.sides import JoinPart
from feedweir.items.model import Item
from feedweir.items.schema import batch_of
from feedweir.match import CompiledSet, Matches


@dataclass(frozen=True, slots=True)
class WantedItem:
    """An item, and by name the feeds that want it by itself."""

    item: Item
    feeds: tuple[str, ...]
    joins: tuple[JoinPart, ...] = ()
    """The feeds that join it with others."""


@dataclass(frozen=True, slots=True)
class Wanting:
    items: tuple[WantedItem, ...]
    asked: int
    """Feeds that could be asked: all, or those that concern the owner."""
    candidates: int
    """How often one of them had to be looked at."""


def found_in(compiled: CompiledSet, items: Sequence[Item], owner: str | None) -> Matches:
    """The pairs of items and feeds; only the queries that concern the owner are touched."""
    return compiled.match(batch_of(items), owner=owner)


def wanted_items(matches: Matches, items: Sequence[Item], names: Mapping[int, str]) -> list[WantedItem]:
    """Items with the feeds that want them by themselves."""
    feeds: list[list[str]] = [[] for _ in items]
    for row, key in zip(matches.rows.tolist(), matches.keys.tolist(), strict=True):
        if key in names:
            feeds[row].append(names[key])
    return [WantedItem(item, tuple(sorted(some))) for item, some in zip(items, feeds, strict=True)]
