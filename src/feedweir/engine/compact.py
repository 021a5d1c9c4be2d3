"""Many small batches become few large ones, so that reading a feed touches few files however long the log is."""

from __future__ import annotations

from itertools import groupby

from feedweir.engine.batches import PARTS, Manifest
from feedweir.engine.directory import DataDirectory
from feedweir.engine.runs import write_merged
from feedweir.engine.store import Store
from feedweir.engine.worker import seen_log

FAN_IN = 8
MOST_ITEMS = 1_000_000
"""A batch larger than this is left alone: writing it again would cost more than it saves."""


def tidy(directory: DataDirectory, store: Store) -> None:
    """Compact everything that grows with the number of batches."""
    seen = seen_log(directory, store)
    compact(store, seen.base())
    manifests = store.manifests()
    if len(manifests) > 1 and not store.damages():
        # The newest batch may be run again, and then asks for what was seen before it.
        seen.compact(range(PARTS), manifests[1].upto)


def compact(store: Store, seen_base: int = 0) -> int:
    """Merge what can be merged; how many batches were taken in. The newest may still be run again: it stays.

    What is damaged stays as it is until it is repaired, and so does all that lies beside it.
    """
    taken_in = 0
    while run := run_to_merge(store.manifests()[1:]):
        if store.damages() or any(store.check(manifest) for manifest in run):
            break
        merge(store, run, seen_base)
        taken_in += len(run)
    return taken_in


def run_to_merge(manifests: list[Manifest]) -> list[Manifest]:
    """The oldest `FAN_IN` neighbours of one size among manifests that come newest first; empty when there are none."""
    for _, tier in groupby(reversed(manifests), key=_tier):
        run = list(tier)[:FAN_IN]
        if len(run) == FAN_IN and sum(manifest.item_count for manifest in run) <= MOST_ITEMS:
            return run
    return []


def _tier(manifest: Manifest) -> int:
    tier = 0
    while manifest.batches >= FAN_IN ** (tier + 1):
        tier += 1
    return tier


def merge(store: Store, run: list[Manifest], seen_base: int = 0) -> None:
    """`run` is oldest first. The merged manifest takes the name of the newest: from then on the others do not count."""
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
        batches=sum(manifest.batches for manifest in run),
        annotation_files=(f"{name}.arrow",) if any(manifest.annotation_files for manifest in run) else (),
        made_files=(f"{name}.arrow",) if any(manifest.made_files for manifest in run) else (),
        doubts=tuple(sorted({doubt for manifest in run for doubt in manifest.doubts})),
        seen_files=_still_named([name for manifest in run for name in manifest.seen_files], seen_base),
        tasks=newest.tasks,
        versions=_versions([step for manifest in run for step in manifest.steps]),
    )
    if merged.item_files:
        store.write_items(merged.item_files[0], store.item_table(run))
    if merged.annotation_files:
        store.joined.write_annotations(merged.annotation_files[0], store.joined.annotation_table(run))
    if merged.made_files:
        store.joined.write_made(merged.made_files[0], store.joined.made_table(run))
    store.publish(merged)
    for manifest in run:
        store.forget(manifest, with_manifest=manifest is not newest)


def _still_named(names: list[str], base: int) -> tuple[str, ...]:
    """Files of what was seen that are not part of a snapshot, and one that is: by it a missing snapshot is noticed."""
    covered = [name for name in names if int(name[:12]) <= base]
    return (*covered[-1:], *(name for name in names if int(name[:12]) > base))


def _versions(steps: list[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """Up to which segment each version was in force: neighbours with one version are one step."""
    changes = zip(steps, [*steps[1:], (0, -1)], strict=True)
    return tuple(step for step, following in changes if step[1] != following[1])
