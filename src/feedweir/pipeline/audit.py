"""Checks the files of all logs for damage; every byte is read."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from feedweir.errors import DamagedFileError, LandingError
from feedweir.join.patterns.history_store import HistoryStore
from feedweir.join.windows.window_store import WindowStore
from feedweir.logs.batches import Manifest
from feedweir.logs.directory import NEWEST, DataDirectory
from feedweir.logs.landing import LandingLog
from feedweir.logs.seals import is_sealed_json, read_json
from feedweir.logs.store import Store, trouble_with
from feedweir.pipeline.quarantine import Quarantine
from feedweir.pipeline.seen import SeenLog
from feedweir.pipeline.worker import seen_log
from feedweir.storage import Place, below, places_in


def damages_in(directory: DataDirectory, store: Store, landing: LandingLog) -> dict[str, str]:
    """By name below the data directory, what is wrong with each damaged file."""
    manifests = store.manifests()
    found: dict[Place, str] = {
        **store.damages(),
        **{path: why for manifest in manifests for path, why in store.check(manifest).items()},
        **_newest(directory.batches, store, manifests),
        **_seen(directory, seen_log(directory, store), store.latest()),
        **dict(_landed(landing)),
        **dict(_histories(directory.joins)),
        **_states(directory.joins, manifests),
        **Quarantine(directory.quarantine).damages(),
    }
    named = {below(directory.root, path): why for path, why in found.items()}
    return {**_doubts(manifests), **named}


def _newest(batches: Place, store: Store, manifests: list[Manifest]) -> dict[Place, str]:
    path = batches / NEWEST
    # It did not exist before there were seals.
    is_due = bool(manifests) and is_sealed_json(store.path_of(manifests[0]))
    if is_due and not path.exists():
        return {path: "it is missing"}
    return _sealed(path)


def _sealed(path: Place) -> dict[Place, str]:
    try:
        read_json(path)
    except FileNotFoundError:
        return {}
    except DamagedFileError as error:
        return {path: error.reason}
    return {}


def _landed(landing: LandingLog) -> Iterator[tuple[Place, str]]:
    for segment in landing.segments(landing.removed(), landing.latest()):
        try:
            landing.read(segment)
        except LandingError as error:
            yield landing.path(segment), error.message


def _seen(directory: DataDirectory, seen: SeenLog, batch: int) -> dict[Place, str]:
    return {path: why for path in seen.paths(batch) if (why := trouble_with(path))}


def _histories(joins: Place) -> Iterator[tuple[Place, str]]:
    for path in places_in(joins, "**/*.arrow"):
        if not path.name.startswith(".") and (why := trouble_with(path)):
            yield path, why
    for path in places_in(joins, "**/state-*.json"):
        if not path.name.startswith("."):
            yield from _sealed(path).items()
    for folder in places_in(joins, "[0-9]*"):
        for path in (*HistoryStore(folder).missing(), *WindowStore(folder / "windows").missing()):
            yield path, "it is missing"


def _states(joins: Place, manifests: list[Manifest]) -> dict[Place, str]:
    """What the joins of the newest batch left for the next, and what they began with, where it is missing."""
    living = {Path(name).parent for name in manifests[0].states} if manifests else set()
    named = [name for one in manifests[:2] for name in one.states if Path(name).parent in living]
    return {joins / name: "it is missing" for name in named if not (joins / name).exists()}


def _doubts(manifests: list[Manifest]) -> dict[str, str]:
    return {
        name: f"the batch up to segment {manifest.upto} was run without it"
        for manifest in manifests
        for name in manifest.doubts
    }
