"""Compiled sets on disk: versions that share their segments, the joins of each, and the name of the one in force.

SETS/versions/VERSION/   what a version of the catalog consists of
SETS/segments/NAME/      compiled queries, never changed
SETS/VERSION.joins/      which segments of joins a version consists of
SETS/joins/NAME/         feeds with joins, compiled, never changed
SETS/CURRENT             the version that the next batch is matched against
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Collection, Iterable, Sequence
from pathlib import Path
from typing import TypeAlias

from feedweir.join.stored.join_versions import change_joins, open_joins, prune_joins, save_joins
from feedweir.join.streams import JoinFeed
from feedweir.logs.files import replacing
from feedweir.match import (
    CompiledSet,
    Frequencies,
    PreparedMerge,
    apply_changes,
    open_version,
    prune,
    verify_version,
    versions_of,
    write_version,
)
from feedweir.match.index.filter_forest import SourceTree
from feedweir.match.index.query_formulas import Progress
from feedweir.plan.query import Query
from feedweir.plan.query_columns import QueryTable, in_order

KEPT_SETS = 3
"""A batch that is repeated after a crash needs the set it was first run with."""
MOST_KEPT_SETS = 1000
"""Versions that are kept when no batch is published for long."""


def joins_path(sets: Path, version: int) -> Path:
    """Where the feeds with joins of a version are kept."""
    return sets / f"{version}.joins"


Plan: TypeAlias = Callable[[Sequence[Query]], Iterable[SourceTree]]
"""Plans the filters of sources for all queries of a set; whoever has no plan has the index do everything."""


def unplanned(_: Sequence[Query]) -> Iterable[SourceTree]:
    return ()


def open_installed(sets: Path, version: int) -> CompiledSet:
    """A version of the set; `CompiledSetError` when it is not there or damaged."""
    return open_version(sets, version)


def check_installed(sets: Path, version: int) -> None:
    """Read every byte of a version; `CompiledSetError` when one is not as it was written."""
    verify_version(sets, version)


def install_set(
    sets: Path,
    version: int,
    queries: Iterable[Query],
    joins: Iterable[JoinFeed] = (),
    plan: Plan = unplanned,
    *,
    pinned: int | None = None,
    progress: Progress | None = None,
    frequencies: Frequencies | None = None,
) -> None:
    """Compile all queries and put them, with the feeds that join what they find, in force from the next batch on.

    `pinned` is the oldest version that a batch may still ask for.
    """
    write_set(sets, version, queries, joins, plan, progress=progress, frequencies=frequencies)
    _put_in_force(sets, version, pinned)


def write_set(
    sets: Path,
    version: int,
    queries: Iterable[Query],
    joins: Iterable[JoinFeed] = (),
    plan: Plan = unplanned,
    *,
    progress: Progress | None = None,
    frequencies: Frequencies | None = None,
) -> None:
    """As `install_set`, for whoever asks for this version; the one in force stays in force."""
    shutil.rmtree(joins_path(sets, version), ignore_errors=True)
    save_joins(joins_path(sets, version), joins)
    table = in_order(QueryTable.together(queries, open_joins(joins_path(sets, version)).queries()).table)
    trees = plan(QueryTable(table))
    write_version(sets, version, table, trees=trees, progress=progress, frequencies=frequencies)


def change_set(
    sets: Path,
    since: int,
    version: int,
    added: Iterable[Query],
    removed_keys: Collection[int],
    joins: Sequence[JoinFeed] = (),
    *,
    pinned: int | None = None,
    prepared: PreparedMerge | None = None,
    frequencies: Frequencies | None = None,
) -> None:
    """Put a version in force that differs from another by a few feeds: at the cost of those few."""
    shutil.rmtree(joins_path(sets, version), ignore_errors=True)
    before, after = joins_path(sets, since), joins_path(sets, version)
    queries, unread = change_joins(before, after, joins, removed_keys)
    apply_changes(
        sets,
        QueryTable.together(added, queries),
        [*removed_keys, *unread],
        since=since,
        version=version,
        prepared=prepared,
        frequencies=frequencies,
    )
    _put_in_force(sets, version, pinned)


def _put_in_force(sets: Path, version: int, pinned: int | None) -> None:
    with replacing(sets / "CURRENT") as file:
        file.write(str(version).encode())
    known = [each for each in versions_of(sets) if each <= version]
    oldest = known[-KEPT_SETS:][0] if pinned is None else min(pinned, known[-KEPT_SETS:][0])
    kept = [each for each in known[-MOST_KEPT_SETS:] if each >= oldest]
    prune(sets, kept)
    prune_joins(sets, kept)
