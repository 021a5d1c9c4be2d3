"""The end of a batch: the joins over what its tasks found, and then the manifest by which it exists."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

from feedweir.health.item_log import hand_over
from feedweir.join.patterns.scope import ValueSlice
from feedweir.join.states import forget_shards
from feedweir.join.stored.join_versions import open_joins
from feedweir.join.task_output import WitnessLog
from feedweir.logs.batches import (
    Assignment,
    Manifest,
    Phase,
    Receipt,
    SourceReport,
    manifest_of,
    phase_of,
)
from feedweir.logs.directory import DataDirectory
from feedweir.logs.flow import PhaseLog
from feedweir.logs.landing import LandingLog
from feedweir.logs.store import Store
from feedweir.pipeline.charge import Charge
from feedweir.pipeline.join_task import JoinWorker, ShardReceipt, ShardTask, SliceReceipt, SliceTask
from feedweir.pipeline.sets import joins_path

_NONE: Mapping[int, str] = {}
RunShards: TypeAlias = Callable[[Sequence[Any]], Sequence[Any]]
"""Runs the shards of a batch, or slices of them, in any order, anywhere."""


class BatchPublisher:
    """Publishes batches of one data directory, one after another. Without `run_shards` their joins run here; with
    `charge`, only as long as no other process has taken it."""

    def __init__(
        self, directory: DataDirectory, run_shards: RunShards | None = None, charge: Charge | None = None
    ) -> None:
        self._charge = charge
        self._sets = directory.sets
        self._joins = directory.joins
        self._store = Store(directory.root)
        self._landing = LandingLog(directory.landing)
        self._phases = PhaseLog(directory.phases)
        self._witnesses = WitnessLog(directory.witnesses)
        worker = JoinWorker(directory)
        self._run_shards: RunShards = run_shards or (lambda tasks: [worker.run(task) for task in tasks])

    def publish(
        self,
        assignment: Assignment,
        receipts: Sequence[Receipt],
        tasks: int = 0,
        shard_attempts: Mapping[int, str] = _NONE,
        phases: Sequence[Phase] = (),
    ) -> Manifest:
        """Publish a finished batch; one that was published before a crash stays as it was. `shard_attempts` name the
        attempts of shards that are repeated to the byte."""
        published = self._store.published(assignment.upto)
        if published is not None:
            return published
        manifest = replace(
            manifest_of(assignment, receipts, tasks),
            landed_bytes=self._landing.bytes_in(assignment.after, assignment.upto),
        )
        shards = open_joins(joins_path(self._sets, assignment.version)).shards
        if shards:
            newcomers = [name for name, one in manifest.sources.items() if one.is_new]
            bare = replace(manifest, sources=dict.fromkeys(newcomers, SourceReport(is_new=True)))
            begun = time.perf_counter()
            found = self._divided(bare, shards, tasks) if tasks > 1 else {}
            joined = self._run_shards(
                [ShardTask(one, bare, shard_attempts.get(one, ""), found.get(one)) for one in shards]
            )
            phase = phase_of("join", time.perf_counter() - begun, [one.spent_s for one in joined])
            manifest, phases = with_joins(manifest, joined), [*phases, phase]
        if self._charge:
            self._charge.check()
            manifest = replace(manifest, epoch=self._charge.epoch)
        manifest = self._store.publish(manifest)
        self._phases.write(manifest.upto, phases)
        hand_over(
            "published",
            batch=manifest.upto,
            after=manifest.after,
            version=manifest.version,
            items=manifest.item_count,
            elements=manifest.element_count,
        )
        if shards:
            self._witnesses.forget(assignment.upto)
        forget_shards(self._joins, shards)
        return manifest

    def _divided(self, manifest: Manifest, shards: Sequence[int], tasks: int) -> dict[int, tuple[str, ...]]:
        """By shard what slices found of it, by the value that joins compare; not of one that has to stay whole."""
        parts = [ValueSlice(number, tasks) for number in range(tasks)]
        receipts: Sequence[SliceReceipt] = self._run_shards(
            [SliceTask(shard, manifest, part) for part in parts for shard in shards]
        )
        whole = {one.shard for one in receipts if not one.name}
        return {
            shard: tuple(one.name for one in receipts if one.shard == shard)
            for shard in shards
            if shard not in whole
        }

    def newest(self) -> Manifest | None:
        """The batch that was published last."""
        return self._store.published(self._store.latest())


def with_joins(manifest: Manifest, receipts: Sequence[ShardReceipt]) -> Manifest:
    """The manifest of a batch with what its shards wrote."""
    receipts = sorted(receipts, key=lambda receipt: receipt.shard)
    elements = (receipt.name for receipt in receipts if receipt.has_elements)
    runs = [name for receipt in receipts for name in receipt.runs]
    return replace(
        manifest,
        element_files=(*manifest.element_files, *elements, *runs),
        element_count=manifest.element_count + sum(receipt.element_count for receipt in receipts),
        annotation_files=tuple(receipt.name for receipt in receipts if receipt.has_annotations),
        made_files=(*(receipt.name for receipt in receipts if receipt.has_made), *runs),
        states=tuple(name for receipt in receipts for name in receipt.states),
        doubts=tuple(
            sorted({*manifest.doubts, *(doubt for receipt in receipts for doubt in receipt.doubts)})
        ),
        feed_failures=manifest.feed_failures
        | {str(feed): why for receipt in receipts for feed, why in receipt.failures},
    )
