"""The versions of a set that changes, on disk.

    ROOT/segments/NAME/     compiled sets, never changed
    ROOT/versions/NUMBER/   which segments a version consists of, and what it no longer wants of each

Versions stay until they are pruned.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from shutil import rmtree
from typing import Any
from uuid import uuid4

import numpy as np
import pyarrow as pa

from feedweir.errors import CompiledSetError
from feedweir.match.arrays import load_arrays, save_arrays
from feedweir.match.atom_shares import Frequencies
from feedweir.match.index.filter_forest import SourceTree
from feedweir.match.index.query_formulas import Progress
from feedweir.match.sets.compiled_set import compile_set
from feedweir.match.sets.query_store import table_of
from feedweir.match.sets.sealed import open_sealed, write_sealed
from feedweir.match.sets.segments import Segment, SegmentedSet, path_of

_REMOVED = "removed.arrays"
_MERGING = "merging.json"
"""The segments that a merge works on; one that dies only leaves more small segments until the next."""


def write_version(
    root: Path,
    version: int,
    queries: Any,
    *,
    frequencies: Frequencies | None = None,
    trees: Iterable[SourceTree] = (),
    progress: Progress | None = None,
) -> SegmentedSet:
    """Write a version with all queries in one segment; it replaces a version of that number."""
    options = CompileOptions(frequencies, tuple(trees), progress)
    return commit_version(root, version, write_segment(root, table_of(queries), options), replaces=True)


def is_segmented(root: Path) -> bool:
    return (root / "versions").is_dir()


def versions_of(root: Path) -> list[int]:
    """The versions that can be opened, oldest first."""
    paths = (root / "versions").iterdir() if is_segmented(root) else ()
    return sorted(int(path.name) for path in paths if path.name.isdigit())


def open_version(root: Path, version: int | None = None) -> SegmentedSet:
    """A version of a set, the newest when none is named."""
    wanted = number_of(root, version)
    return SegmentedSet(root, wanted, segments_of(root, wanted)).verified()


def verify_version(root: Path, version: int) -> None:
    """Read every byte of a version again; `CompiledSetError` when any has changed."""
    for segment in segments_of(root, version):
        open_sealed(path_of(root, segment))


def number_of(root: Path, version: int | None) -> int:
    """A version that can be opened: the newest, or the one named."""
    known = versions_of(root)
    wanted = version if version is not None else (known[-1] if known else 0)
    if wanted not in known:
        raise CompiledSetError(f"{root.name} has no version {wanted}", hint="it may have been pruned")
    return wanted


def segments_of(root: Path, version: int) -> tuple[Segment, ...]:
    directory = root / "versions" / str(version)
    details = open_sealed(directory)
    removed = load_arrays(directory / _REMOVED)
    return tuple(Segment(name, size, removed[name]) for name, size in details["segments"])


def prune(root: Path, keep: Iterable[int]) -> None:
    """Delete all versions but these and the newest, and the segments that none of them has."""
    known = versions_of(root)
    wanted = {*keep, *known[-1:]}
    for version in known:
        if version not in wanted:
            rmtree(root / "versions" / str(version))
    if (root / _MERGING).exists():
        return  # it is writing a segment that no version names yet
    used = {segment.name for version in versions_of(root) for segment in _readable(root, version)}
    for path in (root / "segments").iterdir() if (root / "segments").exists() else ():
        if path.name not in used:
            rmtree(path)


def _readable(root: Path, version: int) -> tuple[Segment, ...]:
    try:
        return segments_of(root, version)
    except CompiledSetError:  # a damaged version is made again from its queries, not from its segments
        return ()


def commit_version(
    root: Path, version: int, segments: list[Segment], *, replaces: bool = False
) -> SegmentedSet:
    """These segments as a version."""
    directory = root / "versions" / str(version)
    if directory.exists() and not replaces:
        raise CompiledSetError(f"{root.name} was changed by another", hint="apply the change again")

    def write(scratch: Path) -> dict[str, Any]:
        save_arrays(scratch / _REMOVED, {segment.name: segment.removed for segment in segments})
        return {"segments": [[segment.name, segment.size] for segment in segments]}

    write_sealed(directory, write)
    return SegmentedSet(root, version, tuple(segments))


@dataclass(frozen=True, slots=True)
class CompileOptions:
    """What a segment is compiled with."""

    frequencies: Frequencies | None = None
    trees: tuple[SourceTree, ...] = ()
    progress: Progress | None = None


def write_segment(root: Path, table: pa.Table, options: CompileOptions) -> list[Segment]:
    """A new segment of a table; none when there is nothing in it."""
    if not len(table):
        return []
    name = uuid4().hex
    segment = Segment(name, len(table), np.empty(0, np.int32))
    path = path_of(root, segment)
    compile_set(table, path, frequencies=options.frequencies, trees=options.trees, progress=options.progress)
    return [segment]


# The segments that a merge is at work on


def begin_merge(root: Path, segments: Iterable[Segment]) -> None:
    names = [segment.name for segment in segments]
    (root / _MERGING).write_text(json.dumps(names), encoding="utf-8")


def segments_being_merged(root: Path) -> list[str]:
    path = root / _MERGING
    return list(json.loads(path.read_text(encoding="utf-8"))) if path.exists() else []


def forget_merge(root: Path) -> None:
    """Abandon a merge that is running or has died: its segments may be merged and pruned again."""
    (root / _MERGING).unlink(missing_ok=True)
