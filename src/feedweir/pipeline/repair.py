"""Repairing damaged logs: what can be rebuilt from the landing log is, and the rest is reported."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass

from feedweir.catalog import Catalog
from feedweir.errors import LandingError
from feedweir.logs.batches import Manifest
from feedweir.logs.directory import DataDirectory
from feedweir.logs.landing import LandingLog
from feedweir.logs.store import Store
from feedweir.pipeline.audit import damages_in
from feedweir.pipeline.quarantine import Quarantine, document_in
from feedweir.pipeline.rebuild import Rebuild, Steps, is_of_batches, spans
from feedweir.pipeline.worker import seen_log
from feedweir.storage import on_disk


@dataclass(frozen=True, slots=True)
class Repaired:
    """The results of a repair, by the names of files."""

    made: tuple[str, ...] = ()
    """Rebuilt."""
    lost: dict[str, str] | None = None
    """Landing segments that cannot be rebuilt: they were replaced by empty ones, and moved to `damaged/`."""
    left: dict[str, str] | None = None
    """Still damaged."""


def repair_logs(
    directory: DataDirectory,
    catalog: Catalog,
    store: Store,
    landing: LandingLog,
    ensure_version: Callable[[int], None],
) -> Repaired:
    """Rebuild what can be rebuilt. No batches may run meanwhile."""
    on_disk(directory.root)
    damaged = damages_in(directory, store, landing)
    if not damaged:
        return Repaired()
    store.name_newest(store.latest())
    _restore_records(directory, store, landing)
    doubtful = _doubtful(store.manifests())
    wanted = {name for name in damaged if is_of_batches(name)}
    # Rebuilding begins with the first document.
    if (wanted or doubtful) and not landing.removed():
        _rebuild(directory, catalog, store, ensure_version, wanted, doubtful)
    lost = _replace_landed(directory, landing, damaged)
    left = damages_in(directory, Store(directory.root), landing)
    made = tuple(sorted(name for name in damaged if name not in left and name not in lost))
    return Repaired(made, lost, left)


def _restore_records(directory: DataDirectory, store: Store, landing: LandingLog) -> None:
    """Rebuild damaged quarantine records from the documents and from what manifests say about their sources.

    This comes before batches are repeated, which leave out documents that have a record.
    """
    quarantine = Quarantine(directory.quarantine)
    for path in quarantine.damages():
        try:
            document = document_in(landing, int(path.stem))
        except LandingError:
            continue
        failures = (store.reports(one).failures().get(document.source, "") for one in store.manifests())
        quarantine.restore(int(path.stem), document, list(filter(None, failures)))


def _doubtful(manifests: list[Manifest]) -> int | None:
    """The first batch that was run without data it should have had."""
    return min((manifest.upto for manifest in manifests if manifest.doubts), default=None)


def _rebuild(
    directory: DataDirectory,
    catalog: Catalog,
    store: Store,
    ensure_version: Callable[[int], None],
    wanted: set[str],
    doubtful: int | None,
) -> None:
    def remembered(after: int, upto: int) -> Steps:
        """The batches between two segments that the catalog has a record of."""
        known = ((end, catalog.batches.with_id(f"{end:012d}")) for end in range(after + 1, upto + 1))
        return tuple((end, one.version) for end, one in known if one is not None)

    rebuild = Rebuild(directory, ensure_version)
    try:
        rebuild.run(spans(store, remembered), seen_log(directory, store).base() or _snapshot_in(wanted))
        since = [] if doubtful is None else rebuild.names_since(doubtful)
        rebuild.take({*wanted, *since, *(["joins/"] if since else ())})
    finally:
        rebuild.close()


def _snapshot_in(wanted: set[str]) -> int:
    """The batch of a snapshot of seen items that is to be rebuilt."""
    return max((int(name[5:17]) for name in wanted if name.endswith(".all.arrow")), default=0)


def _replace_landed(directory: DataDirectory, landing: LandingLog, damaged: dict[str, str]) -> dict[str, str]:
    lost = {name: why for name, why in damaged.items() if name.startswith("landing/")}
    for name in list(lost):
        path, aside = (on_disk(directory.root) / one for one in (name, f"damaged/{name}"))
        segment = int(path.stem)
        if not path.exists():
            landing.write_empty(segment)
        elif _is_damaged(landing, segment):
            aside.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, aside)
            landing.write_empty(segment)
        else:
            del lost[name]  # it was restored, and its batch repeated
    return lost


def _is_damaged(landing: LandingLog, segment: int) -> bool:
    try:
        landing.read(segment)
    except LandingError:
        return True
    return False
