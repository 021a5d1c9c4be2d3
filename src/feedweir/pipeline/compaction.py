"""Merges many small batches into few large ones, so that reading a feed opens few files however long the log is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from functools import partial
from itertools import groupby

from feedweir.logs.batches import Manifest
from feedweir.logs.directory import DataDirectory
from feedweir.logs.store import Store
from feedweir.pipeline.charge import Charge
from feedweir.pipeline.element_runs import write_merged
from feedweir.pipeline.retention import KEEP_ALL, Retention, may_merge
from feedweir.pipeline.seen import PARTS
from feedweir.pipeline.worker import seen_log

FAN_IN = 8
MOST_ITEMS = 1_000_000
"""Larger batches are not merged: rewriting them would cost more than it saves."""
LEFT_AFTER = timedelta(hours=1)
"""What no manifest names is removed when it has been so for so long: a query over the tables that began before may take
its time."""


def tidy(
    directory: DataDirectory,
    store: Store,
    retention: Retention = KEEP_ALL,
    charge: Charge | None = None,
    *,
    now: datetime | None = None,
) -> None:
    """Compact everything that grows with the number of batches."""
    seen = seen_log(directory, store)
    compact(store, seen.base(), retention, charge)
    manifests = store.manifests()
    if len(manifests) > 1 and not store.damages():
        # The newest batch may be repeated, and then needs the record of seen items before it.
        seen.compact(range(PARTS), manifests[1].upto)
    if now:
        store.remove_leftovers(now - LEFT_AFTER)


def compact(
    store: Store, seen_base: int = 0, retention: Retention = KEEP_ALL, charge: Charge | None = None
) -> int:
    """Merge what can be merged; returns the number of merged batches. The newest may be repeated, so it is left.

    While any file is damaged, nothing is merged.
    """
    taken_in = 0
    while run := run_to_merge(store.manifests()[1:], partial(may_merge, store, retention)):
        if store.damages() or any(store.check(manifest) for manifest in run):
            break
        if charge:
            charge.check()
        merge(store, run, seen_base)
        taken_in += len(run)
    return taken_in


def run_to_merge(
    manifests: list[Manifest], may: Callable[[Sequence[Manifest]], bool] = lambda run: True
) -> list[Manifest]:
    """The oldest `FAN_IN` neighbours of one size among manifests that come newest first; empty when there are none."""
    for _, tier in groupby(reversed(manifests), key=lambda one: (_tier(one), one.is_emptied)):
        run = list(tier)[:FAN_IN]
        if len(run) == FAN_IN and sum(manifest.item_count for manifest in run) <= MOST_ITEMS and may(run):
            return run
    return []


def _tier(manifest: Manifest) -> int:
    tier = 0
    while manifest.batches >= FAN_IN ** (tier + 1):
        tier += 1
    return tier


def merge(store: Store, run: list[Manifest], seen_base: int = 0, *, batches: int = 0) -> None:
    """`run` is oldest first. The manifest of all of them covers the others, which makes them obsolete."""
    newest = run[-1]
    name = f"{newest.upto:012d}-since-{run[0].after:012d}"
    merged = Manifest(
        after=run[0].after,
        upto=newest.upto,
        version=newest.version,
        item_files=(f"{name}.parquet",) if any(manifest.item_files for manifest in run) else (),
        element_files=write_merged(store, name, store.element_runs(run)),
        item_count=sum(manifest.item_count for manifest in run),
        element_count=sum(manifest.element_count for manifest in run),
        batches=batches or sum(manifest.batches for manifest in run),
        annotation_files=(f"{name}.parquet",) if any(manifest.annotation_files for manifest in run) else (),
        made_files=(f"{name}.parquet",) if any(manifest.made_files for manifest in run) else (),
        doubts=tuple(sorted({doubt for manifest in run for doubt in manifest.doubts})),
        seen_files=_still_named([name for manifest in run for name in manifest.seen_files], seen_base),
        tasks=newest.tasks,
        versions=_versions([step for manifest in run for step in manifest.steps]),
        items_removed=sum(manifest.items_removed for manifest in run),
        elements_removed=sum(manifest.elements_removed for manifest in run),
    )
    if merged.item_files:
        store.write_items(merged.item_files[0], store.item_table(run))
    if merged.annotation_files:
        store.joined.write_annotations(merged.annotation_files[0], store.joined.annotation_table(run))
    if merged.made_files:
        store.joined.write_made(merged.made_files[0], store.joined.made_table(run))
    store.publish(merged)
    store.drop_replaced()


def _still_named(names: list[str], base: int) -> tuple[str, ...]:
    """Files of what was seen that are not part of a snapshot, and one that is: by it a missing snapshot is noticed."""
    covered = [name for name in names if int(name[:12]) <= base]
    return (*covered[-1:], *(name for name in names if int(name[:12]) > base))


def _versions(steps: list[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """Up to which segment each version was in force: neighbours with one version are one step."""
    changes = zip(steps, [*steps[1:], (0, -1)], strict=True)
    return tuple(step for step, following in changes if step[1] != following[1])
