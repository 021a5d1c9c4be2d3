"""Which feeds want items that are stored, or that a document would bring: by themselves, or joined with others."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from feedweir.catalog import Catalog, FeedRecord
from feedweir.engine.ahead import coming_next, joined_next
from feedweir.engine.directory import DataDirectory, current_version
from feedweir.engine.join_plans import JoinSet, load_joins
from feedweir.engine.joined_log import ANNOTATION_SCHEMA, MADE_SCHEMA, partners_in
from feedweir.engine.sets import joins_path, open_installed
from feedweir.engine.sides import JoinPart, Side, sides_of
from feedweir.engine.store import ELEMENT_SCHEMA, Store
from feedweir.engine.wanting import Wanting, found_in, wanted_items
from feedweir.errors import CompiledSetError
from feedweir.items.model import Item
from feedweir.keeper.compile import compile_definitions
from feedweir.match import CompiledSet, Matches
from feedweir.match.compiled import compiled_in_memory
from feedweir.match.store import table_of
from feedweir.plan.columns import QueryTable

YOUNGER = "the feed is younger than the item"
NOT_IN_FORCE = "not known until the feed is in force"

_Tell: TypeAlias = Callable[[FeedRecord, Item, Side], JoinPart]


@dataclass(frozen=True, slots=True)
class _Asked:
    """The set that is asked, the joins that belong to it, and the feeds that concern the asker, by id."""

    compiled: CompiledSet
    joins: JoinSet
    version: int | None
    """Of the set in force; None when definitions have changed since."""
    feeds: Mapping[int, FeedRecord]


class Matching:
    """Answers from the set in force, the logs and what joins remember; changes nothing."""

    def __init__(self, catalog: Catalog, store: Store, directory: DataDirectory) -> None:
        self._catalog = catalog
        self._store = store
        self._directory = directory

    def stored(self, items: Sequence[Item], owner: str | None = None) -> Wanting:
        """Of stored items, joins are told as they happened."""
        asked = self._asked(owner)
        return _wanting(asked, found_in(asked.compiled, items, owner), items, self._happened)

    def coming(self, items: Sequence[Item], owner: str | None = None) -> Wanting:
        """Of the items of a document, joins are told as they would be if it came next."""
        asked = self._asked(owner)
        following = coming_next(items, self._store)
        matches = found_in(asked.compiled, following, owner)
        told = _wanting(asked, matches, following, self._foretold(asked.version, following, matches))
        given = (replace(one, item=item) for one, item in zip(told.items, items, strict=True))
        return replace(told, items=tuple(given))

    def in_force(self, version: int) -> CompiledSet | None:
        """The set that batches are matched against, if it is of that version and can be read."""
        try:
            is_current = current_version(self._directory.sets) == version
            return open_installed(self._directory.sets, version) if is_current else None
        except CompiledSetError:
            return None

    def _asked(self, owner: str | None) -> _Asked:
        """The set in force; where definitions have changed since, what concerns the owner compiled by itself."""
        version, definitions = self._catalog.feeds.definitions()
        feeds = {record.id: record for record in self._catalog.feeds.all(owner=owner)}
        in_force = self.in_force(version)
        if in_force is not None:
            return _Asked(in_force, load_joins(joins_path(self._directory.sets, version)), version, feeds)
        compilation = compile_definitions(definitions, set(feeds))
        joins = JoinSet(compilation.joins)
        compiled = compiled_in_memory(
            table_of(QueryTable.together(compilation.queries, joins.queries()).table)
        )
        return _Asked(compiled, joins, None, feeds)

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


def _wanting(asked: _Asked, matches: Matches, items: Sequence[Item], tell: _Tell) -> Wanting:
    names = {id_: record.name for id_, record in asked.feeds.items()}
    sides = sides_of(asked.joins, set(matches.keys[matches.keys < 0].tolist()))
    parts: dict[int, list[JoinPart]] = {}
    for row, key in zip(matches.rows.tolist(), matches.keys.tolist(), strict=True):
        of_asker = (side for side in sides.get(key, ()) if side.feed in asked.feeds)
        parts.setdefault(row, []).extend(tell(asked.feeds[side.feed], items[row], side) for side in of_asker)
    told = (
        replace(one, joins=tuple(sorted(set(parts.get(row, ())), key=lambda part: (part.feed, part.side))))
        for row, one in enumerate(wanted_items(matches, items, names))
    )
    return Wanting(tuple(told), len(asked.feeds), matches.work.candidates)


def _together(tables: Iterable[pa.Table], schema: pa.Schema) -> pa.Table:
    return pa.concat_tables([schema.empty_table(), *tables])


def _of_feed(table: pa.Table, feed: int) -> pa.Table:
    return table.filter(pc.equal(table["feed"], feed))
