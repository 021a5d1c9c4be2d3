"""From definitions to the compiled set in force. A small change adds a segment; otherwise everything is compiled.

A version of the catalog that differs from the one in force by a few feeds becomes a small segment beside the others,
and another one if any of them join; filters are planned when segments are merged. Everything is compiled and planned if
the set is small, if filters are planned again, or if so much changed that it is cheaper.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import TypeAlias

import pyarrow as pa

from feedweir.catalog import Catalog, Definition, Failure
from feedweir.compile.changes import ChangedFeeds, changes_of
from feedweir.compile.merges import Merges
from feedweir.compile.recent_frequencies import RecentFrequencies
from feedweir.compile.statement_shares import processes_for, read_all
from feedweir.compile.statistics_intake import known_streams
from feedweir.errors import CompiledSetError
from feedweir.join.stored.join_versions import open_joins
from feedweir.join.streams import JoinFeed
from feedweir.logs.directory import current_version
from feedweir.match import forget_merge, versions_of
from feedweir.match.index.query_formulas import Progress
from feedweir.optimize.join_order import ordered
from feedweir.pipeline.sets import (
    Plan,
    change_set,
    check_installed,
    install_set,
    joins_path,
    open_installed,
    own_sets,
    unplanned,
    write_set,
)
from feedweir.plan.query_columns import SCHEMA, QueryTable
from feedweir.storage import Place

_log = logging.getLogger(__name__)

_MOST_REPAIRED = 8
"""Versions before the one in force that are rebuilt: a batch that is repeated needs one of the newest."""
WHOLE_BELOW = 1_000
"""Below so many queries everything is compiled: it takes no longer than a batch, and plans all filters together."""


@dataclass(frozen=True, slots=True)
class TwoStepProgress:
    """Progress of two steps, parsing statements and compiling queries, as one."""

    progress: Progress
    feeds: int

    def first(self, done: int, total: int) -> None:
        self.progress(self.feeds * done // (2 * max(total, 1)), self.feeds)

    def second(self, done: int, total: int) -> None:
        self.progress(self.feeds * (total + done) // (2 * max(total, 1)), self.feeds)


Follow: TypeAlias = Callable[[QueryTable, Collection[int]], None]
"""Told of the queries that came, and the keys of all that changed or went."""


def unfollowed(_: QueryTable, __: Collection[int]) -> None:
    """Nobody has plans."""


def _no_progress(done: int, total: int) -> None:
    """The caller did not ask for progress."""


@dataclass(frozen=True, slots=True)
class Compilation:
    """All feeds that can be compiled, as queries or as joins over queries, and why the others cannot."""

    queries: QueryTable
    failures: tuple[tuple[str, str], ...]
    joins: tuple[JoinFeed, ...] = ()


def put_in_force(
    catalog: Catalog,
    sets: Place,
    now: datetime,
    plan: Plan = unplanned,
    *,
    follow: Follow = unfollowed,
    pinned: int | None = None,
    merges: Merges | None = None,
    recent: RecentFrequencies | None = None,
    progress: Progress | None = None,
) -> int:
    """Compile what the catalog defines, unless it is in force already; returns the version in force.

    `follow` receives changes that are put in force without planning everything; `pinned` is the oldest version that a
    batch may still need; `merges` merges segments in the background; `recent` says what is rare among the newest items;
    `progress` is called with how many of all queries have been compiled.
    """
    version, current = catalog.feeds.version(), current_version(sets)
    if current == version:
        return version
    changed = changes_of(catalog, current, version) if current is not None else None
    added = (
        _changed(catalog, sets, current, changed, now, pinned, merges, recent)
        if current is not None and changed is not None
        else None
    )
    if changed is None or added is None:
        return _compile(catalog, sets, version, now, plan, pinned, recent, progress)
    follow(added, changed.keys)
    if merges is not None:
        merges.begin(own_sets(sets), version, plan, recent)
    return version


def repair(
    catalog: Catalog,
    sets: Place,
    now: datetime,
    plan: Plan = unplanned,
    recent: RecentFrequencies | None = None,
    progress: Progress | None = None,
    *,
    pinned: int | None = None,
) -> bool:
    """Compile the set in force again if it cannot be read; returns whether that was so.

    Earlier versions from `pinned` on, which a repeated batch may need, are repaired as well.
    """
    current = current_version(sets)
    if current is None or not _is_damaged(sets, current):
        return False
    forget_merge(own_sets(sets))
    newest = min(current, catalog.feeds.version())  # a catalog that was restored may know less than the set
    oldest = newest if pinned is None else pinned
    _compile(catalog, sets, newest, now, plan, pinned, recent, progress)
    for version in versions_of(own_sets(sets))[-_MOST_REPAIRED:]:
        if oldest <= version < newest and _is_damaged(sets, version):
            _compile(catalog, sets, version, now, plan, None, recent, progress, in_force=False)
    return True


def ensure_version(
    catalog: Catalog, sets: Place, version: int, now: datetime, plan: Plan = unplanned
) -> None:
    """Compile a version of the set again if it is missing or damaged; the one in force stays in force."""
    if _is_damaged(sets, version):
        _compile(catalog, sets, version, now, plan, None, None, None, in_force=False)


def _is_damaged(sets: Place, version: int) -> bool:
    try:
        check_installed(sets, version)
        open_joins(joins_path(sets, version)).check()
    except CompiledSetError as error:
        _log.warning("the compiled set is rebuilt from the definitions: %s", error)
        return True
    return False


def _changed(
    catalog: Catalog,
    sets: Place,
    since: int,
    changed: ChangedFeeds,
    now: datetime,
    pinned: int | None,
    merges: Merges | None,
    recent: RecentFrequencies | None,
) -> QueryTable | None:
    """Put the changes in force as a small segment; the queries in it, or None when that cannot be done."""
    wanted = {definition.id for definition in changed.definitions}
    compilation = in_order(compile_definitions(changed.context, wanted), catalog, now)
    try:
        if len(open_installed(sets, since)) < WHOLE_BELOW:
            return None
        change_set(
            sets,
            since,
            changed.version,
            compilation.queries,
            changed.keys,
            compilation.joins,
            pinned=pinned,
            prepared=merges.take() if merges is not None else None,
            frequencies=recent.known() if recent is not None else None,
        )
    except CompiledSetError:
        return None  # the set in force cannot be extended
    _record(catalog, compilation, now)
    return compilation.queries


def _compile(
    catalog: Catalog,
    sets: Place,
    version: int,
    now: datetime,
    plan: Plan,
    pinned: int | None,
    recent: RecentFrequencies | None,
    progress: Progress | None,
    *,
    in_force: bool = True,
) -> int:
    version, definitions = catalog.feeds.definitions(version)
    steps = TwoStepProgress(progress or _no_progress, len(definitions))
    compilation = in_order(compile_definitions(definitions, progress=steps.first), catalog, now)
    frequencies = recent.observe() if recent is not None else None
    put = partial(install_set, pinned=pinned) if in_force else write_set
    put(
        sets,
        version,
        compilation.queries,
        compilation.joins,
        plan,
        progress=steps.second,
        frequencies=frequencies,
    )
    _record(catalog, compilation, now)
    return version


def in_order(compilation: Compilation, catalog: Catalog, now: datetime) -> Compilation:
    """With the joins of each feed in the cheapest order, according to statistics."""
    if not compilation.joins:
        return compilation
    known = known_streams(catalog, now)
    joins = (replace(feed, plan=ordered(feed.plan, known)) for feed in compilation.joins)
    return replace(compilation, joins=tuple(joins))


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

    If there are many, or the caller says so, several processes parse them, with the same result.
    """
    given = tuple(definitions)
    places = [place for place, one in enumerate(given) if wanted is None or one.id in wanted]
    several = processes_for(len(places)) if n_processes is None else n_processes
    found = read_all(given, places, progress or _no_progress, several)
    return Compilation(
        QueryTable(pa.Table.from_batches([one.queries for one in found], SCHEMA)),
        tuple(failure for one in found for failure in one.failures),
        tuple(join for one in found for join in one.joins),
    )
