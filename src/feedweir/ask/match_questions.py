"""Which feeds want items that are stored, or that a document would bring: by themselves, or joined with others.

Joins are tried out on what they remember, and nothing is stored.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from threading import Lock
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from feedweir.ask.matching_feeds import MatchedItem, MatchingFeeds, found_in, matched_items
from feedweir.catalog import Catalog, FeedRecord
from feedweir.compile.known_sets import KnownSet, KnownSets
from feedweir.items.model import Item
from feedweir.items.numbering import document_number, first_seq
from feedweir.items.owners import concerns
from feedweir.items.schema import batch_of
from feedweir.join.replay import Replay
from feedweir.join.result_tables import Joined
from feedweir.join.sides import JoinPart, Side, sides_of
from feedweir.join.states import JoinStates
from feedweir.join.stored.join_versions import open_joins
from feedweir.join.streams import JoinSet
from feedweir.logs.directory import DataDirectory
from feedweir.logs.joined_log import ANNOTATION_SCHEMA, MADE_SCHEMA, partners_in
from feedweir.logs.store import ELEMENT_SCHEMA, Store
from feedweir.match import CompiledSet, Matches
from feedweir.pipeline.sets import joins_path

YOUNGER = "the feed is younger than the item"
NOT_IN_FORCE = "not known until the feed is in force"

_JoinOutcome: TypeAlias = Callable[[FeedRecord, Item, Side], JoinPart]


class MatchQuestions:
    """Answers from the compiled set in force, the logs and the history of joins; changes nothing."""

    def __init__(self, catalog: Catalog, store: Store, directory: DataDirectory) -> None:
        self._catalog = catalog
        self._store = store
        self._directory = directory
        self.sets = KnownSets(catalog, directory.sets)
        self._names = KnownNames(catalog)

    def of_stored(self, items: Sequence[Item], owner: str | None = None) -> MatchingFeeds:
        """For stored items: joins as they were evaluated."""
        found = self._found(items, owner)
        outcomes = [self._evaluated for _ in found]
        return self._combined(found, items, outcomes, owner)

    def of_document(self, items: Sequence[Item], owner: str | None = None) -> MatchingFeeds:
        """For the items of a document: joins as they would be evaluated if it came next."""
        following = numbered_next(items, self._store)
        found = self._found(following, owner)
        outcomes = [self._predicted(one.asked.version, following, one.matches) for one in found]
        combined = self._combined(found, following, outcomes, owner)
        given = (replace(one, item=item) for one, item in zip(combined.items, items, strict=True))
        return replace(combined, items=tuple(given))

    def in_force(self, version: int) -> CompiledSet | None:
        """The set that batches are matched against, if it is of that version and can be read."""
        installed = self.sets.installed()
        return installed.compiled if installed is not None and installed.version == version else None

    def _found(self, items: Sequence[Item], owner: str | None) -> list[_Found]:
        return [_Found(one, found_in(one.compiled, items, owner)) for one in self.sets.now()]

    def _combined(
        self,
        found: Sequence[_Found],
        items: Sequence[Item],
        outcomes: Sequence[_JoinOutcome],
        owner: str | None,
    ) -> MatchingFeeds:
        """The results of all sets together; only the feeds that were found are read from the catalog."""
        self._names.bring_up(self.sets.version())
        sides = [one.sides() for one in found]
        readers = {side.feed for some in sides for each in some.values() for side in each}
        records = self._catalog.feeds.with_ids(readers) if readers else ()
        feeds = {record.id: record for record in records if owner is None or concerns(record.owner, owner)}
        names = self._names.of([key for one in found for key in one.keys().tolist() if key > 0], owner)
        matched = [
            _matched_items(one, each, items, feeds, names, outcome)
            for one, each, outcome in zip(found, sides, outcomes, strict=True)
        ]
        together = tuple(
            MatchedItem(
                item,
                tuple(sorted(name for one in matched for name in one[row].feeds)),
                tuple(
                    sorted(
                        {part for one in matched for part in one[row].joins}, key=lambda p: (p.feed, p.side)
                    )
                ),
            )
            for row, item in enumerate(items)
        )
        return MatchingFeeds(
            together, self._names.count(owner), sum(one.matches.work.candidates for one in found)
        )

    def _evaluated(self, feed: FeedRecord, item: Item, side: Side) -> JoinPart:
        is_in = bool(self._store.is_in(np.array([feed.id]), np.array([item.seq]))[0])
        note = YOUNGER if feed.created_at > item.arrived and not is_in else ""
        partners = self._store.joined.partners(feed.id, item.seq)
        return JoinPart(feed.name, side.text, is_in, partners, note)

    def _predicted(self, version: int | None, items: Sequence[Item], matches: Matches) -> _JoinOutcome:
        if version is None or not (matches.keys < 0).any():
            return lambda feed, item, side: JoinPart(feed.name, side.text, note=NOT_IN_FORCE)
        found = list(join_dry_run(self._directory, self._store, version, items, matches))
        elements = _together((one.elements for one in found), ELEMENT_SCHEMA)
        annotations = _together((one.annotations for one in found), ANNOTATION_SCHEMA)
        made = _together((one.made for one in found), MADE_SCHEMA)

        def outcome(feed: FeedRecord, item: Item, side: Side) -> JoinPart:
            is_in = item.seq in _of_feed(elements, feed.id)["seq"].to_pylist()
            tables = _of_feed(annotations, feed.id), _of_feed(made, feed.id)
            return JoinPart(feed.name, side.text, is_in, partners_in(*tables, item.seq))

        return outcome


@dataclass(frozen=True, slots=True)
class _Found:
    """The matches of one of the sets."""

    asked: KnownSet
    matches: Matches

    def keys(self) -> NDArray[np.int64]:
        """Of the queries whose feeds have not changed since."""
        keys = np.unique(self.matches.keys)
        return keys[~np.isin(keys, np.fromiter(self.asked.outdated, np.int64))]

    def sides(self) -> dict[int, tuple[Side, ...]]:
        keys = self.matches.keys
        streams, joins = set(keys[keys < 0].tolist()), self.asked.joins
        found = sides_of(joins if isinstance(joins, JoinSet) else joins.reading(streams), streams)
        outdated = self.asked.outdated
        return {key: tuple(one for one in some if one.feed not in outdated) for key, some in found.items()}


def _matched_items(
    found: _Found,
    sides: Mapping[int, tuple[Side, ...]],
    items: Sequence[Item],
    feeds: Mapping[int, FeedRecord],
    names: Mapping[int, str],
    outcome: _JoinOutcome,
) -> list[MatchedItem]:
    outdated, matches = found.asked.outdated, found.matches
    valid = {key: name for key, name in names.items() if key not in outdated} if outdated else names
    parts: dict[int, list[JoinPart]] = {}
    is_joined = np.isin(matches.keys, list(sides))
    for row, key in zip(matches.rows[is_joined].tolist(), matches.keys[is_joined].tolist(), strict=True):
        of_asker = (side for side in sides[key] if side.feed in feeds)
        parts.setdefault(row, []).extend(outcome(feeds[side.feed], items[row], side) for side in of_asker)
    return [
        replace(one, joins=tuple(parts.get(row, ())))
        for row, one in enumerate(matched_items(found.matches, items, valid))
    ]


def _together(tables: Iterable[pa.Table], schema: pa.Schema) -> pa.Table:
    return pa.concat_tables([schema.empty_table(), *tables])


def _of_feed(table: pa.Table, feed: int) -> pa.Table:
    return table.filter(pc.equal(table["feed"], feed))


def numbered_next(items: Sequence[Item], store: Store) -> list[Item]:
    """The items of a document, numbered as the next in the stream."""
    first = first_seq(document_number(store.latest() + 1, 0))
    return [replace(item, seq=first + item.seq) for item in items]


def join_dry_run(
    directory: DataDirectory, store: Store, version: int, items: Sequence[Item], matches: Matches
) -> Iterator[Joined]:
    """The join results of each shard of a version for items with these matches."""
    stored, batch = open_joins(joins_path(directory.sets, version)), batch_of(items)
    numbers = batch.column("seq").to_numpy()
    keys, seqs = np.asarray(matches.keys), numbers[matches.rows]
    for shard in stored.shards:
        replay = Replay(stored.compiled(shard), store)
        hidden = set(np.unique(keys[keys < 0]).tolist()) & replay.compiled.matched
        found = {key: np.sort(seqs[keys == key]) for key in sorted(hidden)}
        if found:
            states = JoinStates(directory.joins)
            replay.resume(states.state_after(store.latest(), shard, replay.compiled, replay.columns))
            yield replay.step(batch, found)


_MOST_OWNERS = 1_000
_MOST_NAMES = 1_000_000


class KnownNames:
    """For any number of threads."""

    def __init__(self, catalog: Catalog) -> None:
        self._feeds = catalog.feeds
        self._turn = Lock()
        self._version = -1
        self._called: dict[int, tuple[str, str]] = {}
        self._counts: dict[str | None, int] = {}

    def bring_up(self, version: int) -> None:
        """Forget definitions from before this version."""
        with self._turn:
            if version != self._version:
                self._version, self._called, self._counts = version, {}, {}

    def of(self, ids: Iterable[int], owner: str | None) -> dict[int, str]:
        """The names of those of these feeds that there are and that concern an owner."""
        wanted, called = set(ids), self._called
        missing = wanted - called.keys()
        if missing:
            if len(called) > _MOST_NAMES:
                called.clear()
            called |= self._feeds.called(missing)
        found = ((id_, called[id_]) for id_ in wanted if id_ in called)
        return {id_: name for id_, (name, whose) in found if owner is None or concerns(whose, owner)}

    def count(self, owner: str | None) -> int:
        """How many feeds there are that concern an owner."""
        counts = self._counts
        if owner not in counts:
            if len(counts) > _MOST_OWNERS:
                counts.clear()
            counts[owner] = self._feeds.count(owner=owner)
        return counts[owner]
