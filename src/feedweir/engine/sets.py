"""Compiled sets on disk, one directory a version, and the name of the one in force."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TypeAlias

from feedweir.engine.files import replacing
from feedweir.engine.join_plans import JoinFeed, JoinSet, save_joins
from feedweir.match import compile_set
from feedweir.match.factored import SourceTree
from feedweir.plan.query import Query

KEPT_SETS = 3
"""A batch that is run again after a crash wants the set it was first run with."""


def joins_path(sets: Path, version: int) -> Path:
    """Where the feeds with joins of a version are kept."""
    return sets / f"{version}.joins"


Plan: TypeAlias = Callable[[Sequence[Query]], Iterable[SourceTree]]
"""Plans the filters of sources for all queries of a set; whoever has no plan has the index do everything."""


def unplanned(_: Sequence[Query]) -> Iterable[SourceTree]:
    return ()


def install_set(
    sets: Path,
    version: int,
    queries: Iterable[Query],
    joins: Iterable[JoinFeed] = (),
    plan: Plan = unplanned,
) -> None:
    """Compile queries and put them, with the feeds that join what they find, in force from the next batch on."""
    feeds = tuple(joins)
    save_joins(joins_path(sets, version), feeds)
    asked = [*queries, *JoinSet(feeds).queries()]
    compile_set(asked, sets / str(version), trees=plan(asked))
    with replacing(sets / "CURRENT") as file:
        file.write(str(version).encode())
    _prune(sets, version)


def _prune(sets: Path, version: int) -> None:
    versions = sorted(int(path.name) for path in sets.iterdir() if path.name.isdigit())
    for old in [each for each in versions if each < version][: -(KEPT_SETS - 1)]:
        shutil.rmtree(sets / str(old), ignore_errors=True)
        shutil.rmtree(joins_path(sets, old), ignore_errors=True)
