"""The compiled set as questions see it: opened once per version, with later changes compiled beside it.

Each change is compiled once, by itself; pieces of similar size are merged, so that there are few of them however many
changes there were.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from threading import Lock
from typing import TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from feedweir.catalog import Catalog
from feedweir.compile.changes import ChangedFeeds, changes_of, with_what_it_reads
from feedweir.compile.compiler import compile_definitions
from feedweir.errors import CompiledSetError
from feedweir.join.stored.join_versions import StoredJoins, open_joins
from feedweir.join.streams import JoinFeed, JoinSet
from feedweir.logs.directory import current_version
from feedweir.match import CompiledSet
from feedweir.match.sets.compiled_set import compiled_in_memory
from feedweir.match.sets.query_store import table_of
from feedweir.optimize.containment import Filters
from feedweir.pipeline.sets import joins_path, open_installed
from feedweir.plan.nodes import Node
from feedweir.plan.query_columns import QueryTable
from feedweir.storage import Place

_GROWTH = 4
"""A piece that is at most so many times as large as the next one is merged with it."""
_ATTEMPTS = 3
_MOST_REMEMBERED = 10_000

Remembered: TypeAlias = dict[int, Filters | None]
"""By id what feeds ask of each source; nothing of one that joins."""


@dataclass(frozen=True, slots=True)
class KnownSet:
    compiled: CompiledSet
    joins: JoinSet | StoredJoins
    """As it is in force, in files; as it was compiled beside that, as objects."""
    version: int | None
    """Of the set in force; None for what is compiled beside it."""
    outdated: frozenset[int] = frozenset()
    """Feeds that have changed since."""
    feeds: frozenset[int] = frozenset()
    """Those that were compiled beside the set in force."""
    queries: QueryTable | None = None
    """The queries of those."""

    def queries_now(self) -> QueryTable:
        """Of those that have not changed since."""
        assert self.queries is not None
        keys = pa.array(sorted(self.outdated), pa.int64())
        return QueryTable(self.queries.table.filter(pc.invert(pc.is_in(self.queries.table["key"], keys))))


class KnownSets:
    """Thread-safe."""

    def __init__(self, catalog: Catalog, sets: Place) -> None:
        self._catalog = catalog
        self._sets = sets
        self._turn = Lock()
        self._installed: KnownSet | None = None
        self._base: KnownSet | None = None
        """The set in force when `_now` was begun."""
        self._now: tuple[int, tuple[KnownSet, ...]] = _NOTHING
        self._filters: Remembered = {}

    def installed(self) -> KnownSet | None:
        """The set that batches are matched against, if it can be read."""
        with self._turn:
            return self._opened()

    def plan_in_force(self, feed: str) -> Node | None:
        """The plan of a feed with joins that batches are joined by, if the feed's definition has not changed since."""
        installed, records = self.installed(), with_what_it_reads(self._catalog, feed)
        if installed is None or not records or max(one.version for one in records) > (installed.version or 0):
            return None
        assert isinstance(installed.joins, StoredJoins)
        return installed.joins.plan_of(records[0].id)

    def now(self) -> tuple[KnownSet, ...]:
        """Sets that together answer for what the catalog defines at this moment."""
        return self.at_hand() or self._whole()

    def version(self) -> int:
        """Of the definitions that were last answered for."""
        return self._now[0]

    def at_hand(self) -> tuple[KnownSet, ...]:
        """The same, or none where everything would have to be compiled for it."""
        with self._turn:
            self._begin()
            for _ in range(_ATTEMPTS):  # others may change definitions meanwhile
                version, (since, known) = self._catalog.feeds.version(), self._now
                if since == version:
                    return known
                changed = changes_of(self._catalog, since, version)
                if changed is not None:
                    self._filters = _unchanged(self._filters, changed)
                    self._now = version, _with_changes(known, changed)
                    return self._now[1]
                if self._catalog.feeds.version() == version:
                    break
            return ()

    def filters(self) -> Remembered:
        """What was parsed of feeds that have not changed since; callers add what they parse.

        A change replaces it by one without the feeds concerned, so that nothing outdated is added to the new one.
        """
        return self._filters

    def _begin(self) -> None:
        """Begin anew with a set that has come into force."""
        installed = self._opened()
        if installed is not self._base:
            self._base = installed
            self._now = _NOTHING if installed is None else (installed.version or 0, (installed,))

    def _opened(self) -> KnownSet | None:
        """A set stays open as long as it is in force."""
        try:
            version = current_version(self._sets)
            if version is None:
                return None
            if self._installed is None or self._installed.version != version:
                joins = open_joins(joins_path(self._sets, version))
                self._installed = KnownSet(open_installed(self._sets, version), joins, version)
            return self._installed
        except CompiledSetError:
            return None

    def _whole(self) -> tuple[KnownSet, ...]:
        version, definitions = self._catalog.feeds.definitions()
        compilation = compile_definitions(definitions)
        known = (_beside(compilation.queries, compilation.joins, frozenset(one.id for one in definitions)),)
        with self._turn:
            self._now, self._filters = (version, known), {}
        return known


_NOTHING: tuple[int, tuple[KnownSet, ...]] = (0, ())
"""Before the first definition."""


def _unchanged(filters: Remembered, changed: ChangedFeeds) -> Remembered:
    kept = {feed: one for feed, one in filters.items() if feed not in changed.keys}
    return kept if len(kept) < _MOST_REMEMBERED else {}


def _with_changes(known: Sequence[KnownSet], changed: ChangedFeeds) -> tuple[KnownSet, ...]:
    """The sets with one beside them for what has changed, which takes in pieces that are not much larger."""
    before = [replace(one, outdated=one.outdated | changed.keys) for one in known]
    wanted = frozenset(definition.id for definition in changed.definitions)
    compilation = compile_definitions(changed.context, set(wanted))
    queries, joins = compilation.queries, compilation.joins
    while before and before[-1].version is None and len(before[-1].feeds) <= _GROWTH * len(wanted):
        piece = before.pop()
        queries = QueryTable.together(piece.queries_now(), queries)
        assert isinstance(piece.joins, JoinSet)
        joins = (*(one for one in piece.joins.feeds if one.feed not in piece.outdated), *joins)
        wanted |= piece.feeds - piece.outdated
    return (*before, _beside(queries, joins, wanted))


def _beside(queries: QueryTable, feeds: Iterable[JoinFeed], keys: frozenset[int]) -> KnownSet:
    joins = JoinSet(feeds)
    table = QueryTable.together(queries, joins.queries()).table
    compiled = compiled_in_memory(table_of(table))
    return KnownSet(compiled, joins, None, feeds=keys, queries=queries)
