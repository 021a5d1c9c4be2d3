"""Damaged logs made whole again: from the landing log what can be made from it; the rest is told."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass

from feedweir.acquire.landing import LandingLog
from feedweir.catalog import Catalog
from feedweir.engine.audit import damages_in
from feedweir.engine.batches import Manifest
from feedweir.engine.directory import DataDirectory
from feedweir.engine.rebuild import Rebuild, Steps, is_of_batches, spans
from feedweir.engine.store import Store
from feedweir.engine.worker import seen_log
from feedweir.errors import LandingError


@dataclass(frozen=True, slots=True)
class Repaired:
    """What became of damaged files, by name."""

    made: tuple[str, ...] = ()
    """Made again."""
    lost: dict[str, str] | None = None
    """Landing segments that are gone for good: empty ones stand in their place, what is left of them lies in
    `damaged/`."""
    left: dict[str, str] | None = None
    """What is damaged still."""


def repair_logs(
    directory: DataDirectory,
    catalog: Catalog,
    store: Store,
    landing: LandingLog,
    see_version: Callable[[int], None],
) -> Repaired:
    """Make again what can be made again. Nobody may run batches meanwhile."""
    damaged = damages_in(directory, store, landing)
    if not damaged:
        return Repaired()
    store.name_newest(store.latest())
    doubtful = _doubtful(store.manifests())
    wanted = {name for name in damaged if is_of_batches(name)}
    if wanted or doubtful:
        _rebuild(directory, catalog, store, see_version, wanted, doubtful)
    lost = _replace_landed(directory, landing, damaged)
    left = damages_in(directory, Store(directory.root), landing)
    made = tuple(sorted(name for name in damaged if name not in left and name not in lost))
    return Repaired(made, lost, left)


def _doubtful(manifests: list[Manifest]) -> int | None:
    """The first batch that was run without something that it should have had."""
    return min((manifest.upto for manifest in manifests if manifest.doubts), default=None)


def _rebuild(
    directory: DataDirectory,
    catalog: Catalog,
    store: Store,
    see_version: Callable[[int], None],
    wanted: set[str],
    doubtful: int | None,
) -> None:
    def remembered(after: int, upto: int) -> Steps:
        """The batches that the catalog knows between two segments."""
        known = ((end, catalog.batches.with_id(f"{end:012d}")) for end in range(after + 1, upto + 1))
        return tuple((end, one.version) for end, one in known if one is not None)

    rebuild = Rebuild(directory, see_version)
    try:
        rebuild.run(spans(store, remembered), seen_log(directory, store).base() or _snapshot_in(wanted))
        since = [] if doubtful is None else rebuild.names_since(doubtful)
        rebuild.take({*wanted, *since, *(["joins/"] if since else ())})
    finally:
        rebuild.close()


def _snapshot_in(wanted: set[str]) -> int:
    """The batch of a snapshot of what was seen that is to be made again."""
    return max((int(name[5:17]) for name in wanted if name.endswith(".all.arrow")), default=0)


def _replace_landed(directory: DataDirectory, landing: LandingLog, damaged: dict[str, str]) -> dict[str, str]:
    lost = {name: why for name, why in damaged.items() if name.startswith("landing/")}
    for name in list(lost):
        path, aside = directory.root / name, directory.root / "damaged" / name
        segment = int(path.stem)
        if not path.exists():
            landing.write_empty(segment)
        elif _is_damaged(landing, segment):
            aside.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, aside)
            landing.write_empty(segment)
        else:
            del lost[name]  # it was restored, and its batch run again
    return lost


def _is_damaged(landing: LandingLog, segment: int) -> bool:
    try:
        landing.read(segment)
    except LandingError:
        return True
    return False
