"""The end of a batch: the joins over what its tasks found, and then the manifest by which it exists."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeAlias

from feedweir.engine.batches import Assignment, Manifest, Receipt, manifest_of
from feedweir.engine.directory import DataDirectory
from feedweir.engine.join_plans import shards_in
from feedweir.engine.join_states import forget_shards
from feedweir.engine.join_worker import JoinWorker, ShardReceipt, ShardTask
from feedweir.engine.sets import joins_path
from feedweir.engine.store import Store
from feedweir.engine.witnessing import WitnessLog

RunShards: TypeAlias = Callable[[Sequence[ShardTask]], Sequence[ShardReceipt]]
"""Runs the shards of a batch, in any order, anywhere."""


class Settler:
    """Publishes batches of one data directory, one after another. Without `run_shards` their joins run here."""

    def __init__(self, directory: DataDirectory, run_shards: RunShards | None = None) -> None:
        self._sets = directory.sets
        self._joins = directory.joins
        self._store = Store(directory.root)
        self._witnesses = WitnessLog(directory.witnesses)
        worker = JoinWorker(directory)
        self._run_shards: RunShards = run_shards or (lambda tasks: [worker.run(task) for task in tasks])

    def settle(self, assignment: Assignment, receipts: Sequence[Receipt]) -> Manifest:
        """Publish a finished batch; one that was published before a crash stays as it was."""
        published = self._store.published(assignment.upto)
        if published is not None:
            return published
        manifest = manifest_of(assignment, receipts)
        shards = shards_in(joins_path(self._sets, assignment.version))
        if shards:
            bare = replace(manifest, sources={})
            manifest = with_joins(manifest, self._run_shards([ShardTask(one, bare) for one in shards]))
        self._store.publish(manifest)
        if shards:
            self._witnesses.forget(assignment.upto)
        forget_shards(self._joins, shards)
        return manifest

    def newest(self) -> Manifest | None:
        """The batch that was published last."""
        return self._store.published(self._store.latest())


def with_joins(manifest: Manifest, receipts: Sequence[ShardReceipt]) -> Manifest:
    """The manifest of a batch with what its shards wrote."""
    receipts = sorted(receipts, key=lambda receipt: receipt.shard)
    elements = (receipt.name for receipt in receipts if receipt.has_elements)
    return replace(
        manifest,
        element_files=(*manifest.element_files, *elements),
        element_count=manifest.element_count + sum(receipt.element_count for receipt in receipts),
        annotation_files=tuple(receipt.name for receipt in receipts if receipt.has_annotations),
        made_files=tuple(receipt.name for receipt in receipts if receipt.has_made),
        states=tuple(name for receipt in receipts for name in receipt.states),
        doubts=tuple(
            sorted({*manifest.doubts, *(doubt for receipt in receipts for doubt in receipt.doubts)})
        ),
        feed_failures=manifest.feed_failures
        | {str(feed): why for receipt in receipts for feed, why in receipt.failures},
    )
