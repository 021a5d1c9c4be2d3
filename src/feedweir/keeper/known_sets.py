"""The compiled set as questions see it: opened once for each version, and what has changed since beside it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Lock

from feedweir.catalog import Catalog, Definition
from feedweir.engine.directory import current_version
from feedweir.engine.join_plans import JoinSet, load_joins
from feedweir.engine.sets import joins_path, open_installed
from feedweir.errors import CompiledSetError
from feedweir.keeper.changes import changes_of
from feedweir.keeper.compile import compile_definitions
from feedweir.match import CompiledSet
from feedweir.match.compiled import compiled_in_memory
from feedweir.match.store import table_of
from feedweir.plan.columns import QueryTable


@dataclass(frozen=True, slots=True)
class KnownSet:
    compiled: CompiledSet
    joins: JoinSet
    version: int | None
    """Of the set in force; None for what is compiled beside it."""
    outdated: tuple[int, ...] = ()
    """Feeds that mean something else by now."""


class KnownSets:
    """For any number of threads."""

    def __init__(self, catalog: Catalog, sets: Path) -> None:
        self._catalog = catalog
        self._sets = sets
        self._turn = Lock()
        self._installed: KnownSet | None = None
        self._now: tuple[int, tuple[KnownSet, ...]] = (-1, ())

    def installed(self) -> KnownSet | None:
        """The set that batches are matched against, if it can be read."""
        with self._turn:
            return self._opened()

    def now(self) -> tuple[KnownSet, ...]:
        """Sets that together answer for what the catalog defines at this moment."""
        with self._turn:
            version, installed = self._catalog.feeds.version(), self._opened()
            if installed is not None and installed.version == version:
                return (installed,)
            if self._now[0] != version:
                self._now = (version, self._changed(installed, version))
            return self._now[1]

    def _opened(self) -> KnownSet | None:
        """What was opened stays open as long as it is in force."""
        try:
            version = current_version(self._sets)
            if version is None:
                return None
            if self._installed is None or self._installed.version != version:
                joins = load_joins(joins_path(self._sets, version))
                self._installed = KnownSet(open_installed(self._sets, version), joins, version)
            return self._installed
        except CompiledSetError:
            return None

    def _changed(self, installed: KnownSet | None, version: int) -> tuple[KnownSet, ...]:
        """What has changed since the set in force is compiled beside it; everything where that is too much."""
        since = installed.version if installed is not None else None
        changed = changes_of(self._catalog, since, version) if since is not None else None
        if installed is None or changed is None:
            _, definitions = self._catalog.feeds.definitions()
            return (_compiled(definitions, None),)
        outdated = replace(installed, outdated=tuple(sorted(changed.keys)))
        wanted = {definition.id for definition in changed.definitions}
        return (outdated, _compiled(changed.context, wanted))


def _compiled(definitions: Sequence[Definition], wanted: set[int] | None) -> KnownSet:
    compilation = compile_definitions(definitions, wanted)
    joins = JoinSet(compilation.joins)
    table = QueryTable.together(compilation.queries, joins.queries()).table
    return KnownSet(compiled_in_memory(table_of(table)), joins, None)
