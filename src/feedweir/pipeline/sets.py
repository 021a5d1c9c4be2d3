"""Compiled sets on disk: versions that share their segments, the joins of each, and the name of the one in force.

SETS/versions/VERSION/   what a version of the catalog consists of
SETS/segments/NAME/      compiled queries, never changed
SETS/VERSION.joins/      which segments of joins a version consists of
SETS/joins/NAME/         feeds with joins, compiled, never changed
SETS/CURRENT             the version that the next batch is matched against

In a store of objects each of these folders is one file, an archive; a machine that opens a version unpacks what it does
not have yet below its own directory, where the process that compiles has them anyway.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TypeAlias

from feedweir.errors import CompiledSetError
from feedweir.join.stored.join_versions import (
    change_joins,
    open_joins,
    prune_joins,
    save_joins,
    segment_names,
)
from feedweir.join.streams import JoinFeed
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
from feedweir.match.sets.set_versions import segments_of
from feedweir.plan.query import Query
from feedweir.plan.query_columns import QueryTable, in_order
from feedweir.storage import ObjectPath, Place, below, listed, own_place, replacing
from feedweir.storage.folders import fetch_folder, put_folder

KEPT_SETS = 3
"""A batch that is repeated after a crash needs the set it was first run with."""
MOST_KEPT_SETS = 1000
"""Versions that are kept when no batch is published for long."""


_LEFT_S = 3600
"""Somebody may be opening what was put into a store so recently, or be about to name it."""


def own_sets(sets: Place) -> Path:
    """Where the sets are on this machine, as far as it has opened or compiled them."""
    return own_place(sets) / "sets" if isinstance(sets, ObjectPath) else sets


def joins_path(sets: Place, version: int) -> Path:
    """Where the feeds with joins of a version are kept."""
    if isinstance(sets, ObjectPath):
        fetch_joins(sets, version)
    return own_sets(sets) / f"{version}.joins"


Plan: TypeAlias = Callable[[Sequence[Query]], Iterable[SourceTree]]
"""Plans the filters of sources for all queries of a set; whoever has no plan has the index do everything."""


def unplanned(_: Sequence[Query]) -> Iterable[SourceTree]:
    return ()


def open_installed(sets: Place, version: int) -> CompiledSet:
    """A version of the set; `CompiledSetError` when it is not there or damaged."""
    if isinstance(sets, ObjectPath):
        fetch_version(sets, version)
    return open_version(own_sets(sets), version)


def check_installed(sets: Place, version: int) -> None:
    """Read every byte of a version; `CompiledSetError` when one is not as it was written."""
    if isinstance(sets, ObjectPath):
        fetch_version(sets, version)
    verify_version(own_sets(sets), version)


def fetch_version(sets: ObjectPath, version: int) -> None:
    """Have a version on this machine."""
    own = own_sets(sets)
    if fetch_folder(sets / "versions" / f"{version}.tar", own / "versions" / str(version)):
        for segment in segments_of(own, version):
            _fetch_segment(sets, own, f"segments/{segment.name}")


@lru_cache(maxsize=64)
def fetch_joins(sets: ObjectPath, version: int) -> None:
    """Have the joins of a version on this machine; they are asked for by every task."""
    own = own_sets(sets)
    if fetch_folder(sets / f"{version}.joins.tar", own / f"{version}.joins"):
        for name in segment_names(own / f"{version}.joins"):
            _fetch_segment(sets, own, f"joins/{name}")


def _fetch_segment(sets: ObjectPath, own: Path, name: str) -> None:
    if not (own / name).exists():  # its name is never given again
        fetch_folder(sets / f"{name}.tar", own / name)


def _share(sets: Place, version: int) -> None:
    """Let other machines have a version that was compiled here."""
    if not isinstance(sets, ObjectPath):
        return
    own = own_sets(sets)
    known = {below(sets, path) for path in sets.rglob("*.tar")}
    joins = own / f"{version}.joins"
    names = [f"segments/{one.name}" for one in segments_of(own, version)]
    names += [f"joins/{name}" for name in segment_names(joins)]
    for name in names:
        if f"{name}.tar" not in known:
            put_folder(sets / f"{name}.tar", own / name)
    if joins.exists():
        put_folder(sets / f"{version}.joins.tar", joins)
    put_folder(sets / "versions" / f"{version}.tar", own / "versions" / str(version))
    fetch_joins.cache_clear()


def _prune_shared(sets: ObjectPath, kept: Collection[int]) -> None:
    """Delete from a store what no version has that may still be asked for."""
    own = own_sets(sets)
    there = {int(path.stem) for path in (sets / "versions").glob("*.tar")}
    for version in there:
        if version < min(kept):
            (sets / "versions" / f"{version}.tar").unlink(missing_ok=True)
            (sets / f"{version}.joins.tar").unlink(missing_ok=True)
    try:
        living = [one for one in there if one >= min(kept)]
        used = {f"{one.name}.tar" for version in living for one in segments_of(own, version)}
        used |= {f"{name}.tar" for version in living for name in segment_names(own / f"{version}.joins")}
    except CompiledSetError:
        return  # another machine compiled some of them
    for folder in ("segments", "joins"):
        for path, state in list(listed(sets / folder, "*.tar")):
            if path.name not in used and state.st_mtime < time.time() - _LEFT_S:
                path.unlink(missing_ok=True)


def install_set(
    sets: Place,
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
    sets: Place,
    version: int,
    queries: Iterable[Query],
    joins: Iterable[JoinFeed] = (),
    plan: Plan = unplanned,
    *,
    progress: Progress | None = None,
    frequencies: Frequencies | None = None,
) -> None:
    """As `install_set`, for whoever asks for this version; the one in force stays in force."""
    own = own_sets(sets)
    after = own / f"{version}.joins"
    shutil.rmtree(after, ignore_errors=True)
    save_joins(after, joins)
    table = in_order(QueryTable.together(queries, open_joins(after).queries()).table)
    trees = plan(QueryTable(table))
    write_version(own, version, table, trees=trees, progress=progress, frequencies=frequencies)
    _share(sets, version)


def change_set(
    sets: Place,
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
    own = own_sets(sets)
    before, after = joins_path(sets, since), own / f"{version}.joins"
    shutil.rmtree(after, ignore_errors=True)
    queries, unread = change_joins(before, after, joins, removed_keys)
    apply_changes(
        own,
        QueryTable.together(added, queries),
        [*removed_keys, *unread],
        since=since,
        version=version,
        prepared=prepared,
        frequencies=frequencies,
    )
    _share(sets, version)
    _put_in_force(sets, version, pinned)


def _put_in_force(sets: Place, version: int, pinned: int | None) -> None:
    with replacing(sets / "CURRENT") as file:
        file.write(str(version).encode())
    own = own_sets(sets)
    known = [each for each in versions_of(own) if each <= version]
    oldest = known[-KEPT_SETS:][0] if pinned is None else min(pinned, known[-KEPT_SETS:][0])
    kept = [each for each in known[-MOST_KEPT_SETS:] if each >= oldest]
    prune(own, kept)
    prune_joins(own, kept)
    if isinstance(sets, ObjectPath):
        _prune_shared(sets, kept)
