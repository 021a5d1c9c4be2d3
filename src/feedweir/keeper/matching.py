"""Which feeds want items that are stored, or that a document would bring: by themselves, or joined with others."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from feedweir.catalog import Catalog, FeedRecord
from feedweir.engine.ahead import coming_next, joined_next
from feedweir.engine.directory import DataDirectory
from feedweir.engine.joined_log import ANNOTATION_SCHEMA, MADE_SCHEMA, partners_in
from feedweir.engine.sides import JoinPart, Side, sides_of
from feedweir.engine.store import ELEMENT_SCHEMA, Store
from feedweir.engine.wanting import WantedItem, Wanting, found_in, wanted_items
from feedweir.items.model import Item
from feedweir.items.owners import concerns
from feedweir.keeper.known_sets import KnownSet, KnownSets
from feedweir.match import CompiledSet, Matches

YOUNGER = "the feed is younger than the item"
NOT_IN_FORCE = "not known until the feed is in force"

_Tell: TypeAlias = Callable[[FeedRecord, Item, Side], JoinPart]


class Matching:
    """Answers from the set in force, the logs and what joins remember; changes nothing."""

    def __init__(self, catalog: Catalog, store: Store, directory: DataDirectory) -> None:
        self._catalog = catalog
        self._store = store
        self._directory = directory
        self._sets = KnownSets(catalog, directory.sets)

    def stored(self, items: Sequence[Item], owner: str | None = None) -> Wanting:
        """Of stored items, joins are told as they happened."""
        found = self._found(items, owner)
        tells = [self._happened for _ in found]
        return self._wanting(found, items, tells, owner)

    def coming(self, items: Sequence[Item], owner: str | None = None) -> Wanting:
        """Of the items of a document, joins are told as they would be if it came next."""
        following = coming_next(items, self._store)
        found = self._found(following, owner)
        tells = [self._foretold(one.asked.version, following, one.matches) for one in found]
        told = self._wanting(found, following, tells, owner)
        given = (replace(one, item=item) for one, item in zip(told.items, items, strict=True))
        return replace(told, items=tuple(given))

    def in_force(self, version: int) -> CompiledSet | None:
        """The set that batches are matched against, if it is of that version and can be read."""
        installed = self._sets.installed()
        return installed.compiled if installed is not None and installed.version == version else None

    def _found(self, items: Sequence[Item], owner: str | None) -> list[_Found]:
        return [_Found(one, found_in(one.compiled, items, owner)) for one in self._sets.now()]

    def _wanting(
        self, found: Sequence[_Found], items: Sequence[Item], tells: Sequence[_Tell], owner: str | None
    ) -> Wanting:
        """What the sets found together; of the catalog only what they found is read."""
        sides = [one.sides() for one in found]
        readers = {side.feed for some in sides for each in some.values() for side in each}
        ids = readers.union(*(one.keys().tolist() for one in found))
        records = self._catalog.feeds.with_ids(id_ for id_ in ids if id_ > 0)
        feeds = {record.id: record for record in records if owner is None or concerns(record.owner, owner)}
        names = {id_: record.name for id_, record in feeds.items()}
        told = [
            _told(one, each, items, feeds, names, tell)
            for one, each, tell in zip(found, sides, tells, strict=True)
        ]
        together = tuple(
            WantedItem(
                item,
                tuple(sorted(name for one in told for name in one[row].feeds)),
                tuple(
                    sorted({part for one in told for part in one[row].joins}, key=lambda p: (p.feed, p.side))
                ),
            )
            for row, item in enumerate(items)
        )
        asked = self._catalog.feeds.count(owner=owner)
        return Wanting(together, asked, sum(one.matches.work.candidates for one in found))

    def _happened(self, feed: FeedRecord, item: Item, side: Side) -> JoinPart:
        is_in = bool(self._store.is_in(np.array([feed.id]), np.array([item.seq]))[0])
        note = YOUNGER if feed.created_at > item.arrived and not is_in else ""
        partners = self._store.joined.partners(feed.id, item.seq)
        return JoinPart(feed.name, side.text, is_in, partners, note)

    def _foretold(self, version: int | None, items: Sequence[Item], matches: Matches) -> _Tell:
        if version is None:
            return lambda feed, item, side: JoinPart(feed.name, side.text, note=NOT_IN_FORCE)
        found = list(joined_next(self._directory, self._store, version, items, matches))
        elements = _together((one.elements for one in found), ELEMENT_SCHEMA)
        annotations = _together((one.annotations for one in found), ANNOTATION_SCHEMA)
        made = _together((one.made for one in found), MADE_SCHEMA)

        def tell(feed: FeedRecord, item: Item, side: Side) -> JoinPart:
            is_in = item.seq in _of_feed(elements, feed.id)["seq"].to_pylist()
            tables = _of_feed(annotations, feed.id), _of_feed(made, feed.id)
            return JoinPart(feed.name, side.text, is_in, partners_in(*tables, item.seq))

        return tell


@dataclass(frozen=True, slots=True)
class _Found:
    """What one of the sets found."""

    asked: KnownSet
    matches: Matches

    def keys(self) -> NDArray[np.int64]:
        """Of the queries that still mean what they meant."""
        keys = np.unique(self.matches.keys)
        return keys[~np.isin(keys, self.asked.outdated)]

    def sides(self) -> dict[int, tuple[Side, ...]]:
        keys = self.matches.keys
        found = sides_of(self.asked.joins, set(keys[keys < 0].tolist()))
        outdated = frozenset(self.asked.outdated)
        return {key: tuple(one for one in some if one.feed not in outdated) for key, some in found.items()}


def _told(
    found: _Found,
    sides: Mapping[int, tuple[Side, ...]],
    items: Sequence[Item],
    feeds: Mapping[int, FeedRecord],
    names: Mapping[int, str],
    tell: _Tell,
) -> list[WantedItem]:
    valid = {key: names[key] for key in found.keys().tolist() if key in names}
    parts: dict[int, list[JoinPart]] = {}
    for row, key in zip(found.matches.rows.tolist(), found.matches.keys.tolist(), strict=True):
        of_asker = (side for side in sides.get(key, ()) if side.feed in feeds)
        parts.setdefault(row, []).extend(tell(feeds[side.feed], items[row], side) for side in of_asker)
    return [
        replace(one, joins=tuple(parts.get(row, ())))
        for row, one in enumerate(wanted_items(found.matches, items, valid))
    ]


def _together(tables: Iterable[pa.Table], schema: pa.Schema) -> pa.Table:
    return pa.concat_tables([schema.empty_table(), *tables])


def _of_feed(table: pa.Table, feed: int) -> pa.Table:
    return table.filter(pc.equal(table["feed"], feed))
