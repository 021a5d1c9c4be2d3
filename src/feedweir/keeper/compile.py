"""From definitions to the compiled set in force: a change costs what it changes, all else is compiled whole.

A version of the catalog that differs from the one in force by a few feeds without joins becomes a small segment beside
the others; its filters are planned when segments are merged. Everything is compiled, and planned, when the set is
small, when a feed with joins is concerned, when filters are planned anew, and when so much has changed that it is
cheaper.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path

import pyarrow as pa

from feedweir.catalog import Catalog, Definition, Failure
from feedweir.engine.directory import current_version
from feedweir.engine.join_plans import JoinFeed, load_joins
from feedweir.engine.sets import (
    Plan,
    change_set,
    check_installed,
    install_set,
    joins_path,
    open_installed,
    unplanned,
    write_set,
)
from feedweir.errors import CompiledSetError
from feedweir.keeper.changes import Changed, changes_of
from feedweir.keeper.lately import Lately
from feedweir.keeper.merging import Merges
from feedweir.keeper.sharing import processes_for, read_all
from feedweir.match import forget_merge, versions_of
from feedweir.match.formulas import Progress
from feedweir.plan.columns import SCHEMA, QueryTable

_log = logging.getLogger(__name__)

_MOST_REPAIRED = 8
"""Versions before the one in force that are made again: a batch that is run again asks for one of the newest."""
WHOLE_BELOW = 1_000
"""Queries up to which everything is compiled: it takes no longer than a batch, and plans all filters together."""


@dataclass(frozen=True, slots=True)
class Halves:
    """Progress of two steps, reading statements and compiling what they say, as progress of all feeds."""

    progress: Progress
    feeds: int

    def first(self, done: int, total: int) -> None:
        self.progress(self.feeds * done // (2 * max(total, 1)), self.feeds)

    def second(self, done: int, total: int) -> None:
        self.progress(self.feeds * (total + done) // (2 * max(total, 1)), self.feeds)


def _unheard(done: int, total: int) -> None:
    """Nobody wants to know."""


@dataclass(frozen=True, slots=True)
class Compilation:
    """All feeds that can be compiled, as queries or as joins over queries, and why the others cannot."""

    queries: QueryTable
    failures: tuple[tuple[str, str], ...]
    joins: tuple[JoinFeed, ...] = ()


def put_in_force(
    catalog: Catalog,
    sets: Path,
    now: datetime,
    plan: Plan = unplanned,
    *,
    pinned: int | None = None,
    merges: Merges | None = None,
    lately: Lately | None = None,
    progress: Progress | None = None,
) -> int:
    """Compile what the catalog defines, unless it is in force already; returns the version in force.

    `pinned` is the oldest version that a batch may still ask for; `merges` does what can be done meanwhile; `lately`
    tells what is rare among the newest items; `progress` hears how many of all queries have been compiled.
    """
    version, current = catalog.feeds.version(), current_version(sets)
    if current == version:
        return version
    changed = changes_of(catalog, current, version) if current is not None else None
    if (
        current is None
        or changed is None
        or not _changed(catalog, sets, current, changed, now, pinned, merges, lately)
    ):
        return _compile(catalog, sets, version, now, plan, pinned, lately, progress)
    if merges is not None:
        merges.begin(sets, version, plan, lately)
    return version


def repair(
    catalog: Catalog,
    sets: Path,
    now: datetime,
    plan: Plan = unplanned,
    lately: Lately | None = None,
    progress: Progress | None = None,
    *,
    pinned: int | None = None,
) -> bool:
    """Compile the set in force again if it cannot be read; whether that was so.

    So are the ones before it that a batch which is run again may ask for, `pinned` being the oldest.
    """
    current = current_version(sets)
    if current is None or not _is_damaged(sets, current):
        return False
    forget_merge(sets)
    newest = min(current, catalog.feeds.version())  # a catalog that was restored may know less than the set
    oldest = newest if pinned is None else pinned
    _compile(catalog, sets, newest, now, plan, pinned, lately, progress)
    for version in versions_of(sets)[-_MOST_REPAIRED:]:
        if oldest <= version < newest and _is_damaged(sets, version):
            _compile(catalog, sets, version, now, plan, None, lately, progress, in_force=False)
    return True


def see_version(catalog: Catalog, sets: Path, version: int, now: datetime, plan: Plan = unplanned) -> None:
    """Make a version of the set again if it is gone or damaged; the one in force stays in force."""
    if _is_damaged(sets, version):
        _compile(catalog, sets, version, now, plan, None, None, None, in_force=False)


def _is_damaged(sets: Path, version: int) -> bool:
    try:
        check_installed(sets, version)
        load_joins(joins_path(sets, version))
    except CompiledSetError as error:
        _log.warning("the compiled set is made again from the definitions: %s", error)
        return True
    return False


def _changed(
    catalog: Catalog,
    sets: Path,
    since: int,
    changed: Changed,
    now: datetime,
    pinned: int | None,
    merges: Merges | None,
    lately: Lately | None,
) -> bool:
    """Put the changes in force as a small segment; False when that cannot be done."""
    wanted = {definition.id for definition in changed.definitions}
    compilation = compile_definitions(changed.context, wanted)
    try:
        if len(open_installed(sets, since)) < WHOLE_BELOW:
            return False
        before = {feed.feed for feed in load_joins(joins_path(sets, since)).feeds}
        if compilation.joins or before & changed.keys:
            return False
        change_set(
            sets,
            since,
            changed.version,
            compilation.queries,
            changed.keys,
            pinned=pinned,
            prepared=merges.take() if merges is not None else None,
            frequencies=lately.known() if lately is not None else None,
        )
    except CompiledSetError:
        return False  # what is there cannot be built upon
    _record(catalog, compilation, now)
    return True


def _compile(
    catalog: Catalog,
    sets: Path,
    version: int,
    now: datetime,
    plan: Plan,
    pinned: int | None,
    lately: Lately | None,
    progress: Progress | None,
    *,
    in_force: bool = True,
) -> int:
    version, definitions = catalog.feeds.definitions(version)
    halves = Halves(progress or _unheard, len(definitions))
    compilation = compile_definitions(definitions, progress=halves.first)
    frequencies = lately.observe() if lately is not None else None
    put = partial(install_set, pinned=pinned) if in_force else write_set
    put(
        sets,
        version,
        compilation.queries,
        compilation.joins,
        plan,
        progress=halves.second,
        frequencies=frequencies,
    )
    _record(catalog, compilation, now)
    return version


def _record(catalog: Catalog, compilation: Compilation, now: datetime) -> None:
    catalog.failures.record(
        [Failure(kind="feed", resource=name, at=now, reason=reason) for name, reason in compilation.failures]
    )


def compile_definitions(
    definitions: Iterable[Definition],
    wanted: set[int] | None = None,
    *,
    progress: Progress | None = None,
    n_processes: int | None = None,
) -> Compilation:
    """Every feed, or those wanted, as queries or joins. One that cannot be compiled is reported, the rest goes on.

    Several processes read them if they are many, or if the caller says so; what comes of it is the same.
    """
    given = tuple(definitions)
    places = [place for place, one in enumerate(given) if wanted is None or one.id in wanted]
    several = processes_for(len(places)) if n_processes is None else n_processes
    found = read_all(given, places, progress or _unheard, several)
    return Compilation(
        QueryTable(pa.Table.from_batches([one.queries for one in found], SCHEMA)),
        tuple(failure for one in found for failure in one.failures),
        tuple(join for one in found for join in one.joins),
    )
