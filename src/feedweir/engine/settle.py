"""The end of a batch: the joins over what its tasks found, and then the manifest by which it exists."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pyarrow.compute as pc

from feedweir.engine.batches import Assignment, Manifest, Receipt, manifest_of
from feedweir.engine.directory import DataDirectory
from feedweir.engine.join_plans import JoinSet, load_joins
from feedweir.engine.joining import Joined, join_batch
from feedweir.engine.sets import joins_path
from feedweir.engine.store import Store
from feedweir.engine.windows import StoredHistory, readings_of
from feedweir.items.schema import items_of


class Settler:
    """Publishes batches of one data directory, one after another."""

    def __init__(self, directory: DataDirectory) -> None:
        self._sets = directory.sets
        self._store = Store(directory.root)
        self._history = StoredHistory(self._store)
        self._joins: tuple[int, JoinSet] = (-1, JoinSet(()))

    def settle(self, assignment: Assignment, receipts: Sequence[Receipt]) -> Manifest:
        """Publish a finished batch; one that was published before a crash stays as it was."""
        published = self._store.published(assignment.upto)
        if published is not None:
            return published
        manifest = manifest_of(assignment, receipts)
        joins = self._joins_of(assignment.version)
        if not joins.feeds:
            self._store.publish(manifest)
            return manifest
        self._history.stand_at(assignment.after)
        joined = self._joined(joins, manifest)
        manifest = self._written(manifest, joined)
        self._store.publish(manifest)
        self._history.learn(assignment.upto, joined.members)
        return manifest

    def newest(self) -> Manifest | None:
        """The batch that was published last."""
        return self._store.published(self._store.latest())

    def _joins_of(self, version: int) -> JoinSet:
        if self._joins[0] != version:
            self._joins = (version, load_joins(joins_path(self._sets, version)))
        return self._joins[1]

    def _joined(self, joins: JoinSet, manifest: Manifest) -> Joined:
        elements = self._store.element_table([manifest])
        elements = elements.filter(pc.less(elements.column("feed"), 0))
        keys, seqs = elements.column("feed").to_numpy(), elements.column("seq").to_numpy()
        low, high = (np.searchsorted(keys, list(joins.found), side) for side in ("left", "right"))
        found = {
            key: seqs[first:last].tolist() for key, first, last in zip(joins.found, low, high, strict=True)
        }
        items = self._store.item_table([manifest])
        wanted = items.filter(pc.is_in(items.column("seq"), pc.unique(elements.column("seq"))))
        return join_batch(joins, found, readings_of(items_of(wanted)), self._history)

    def _written(self, manifest: Manifest, joined: Joined) -> Manifest:
        """The manifest with the files of the joins, which are named by the batch alone."""
        name = f"{manifest.upto:012d}-joins.arrow"
        manifest = replace(manifest, feed_failures={str(feed): reason for feed, reason in joined.failures})
        if joined.elements.num_rows:
            self._store.write_elements(name, joined.elements)
            shown = pc.sum(pc.greater_equal(joined.elements.column("feed"), 0)).as_py()
            manifest = replace(
                manifest,
                element_files=(*manifest.element_files, name),
                element_count=manifest.element_count + shown,
            )
        if joined.annotations.num_rows:
            self._store.write_annotations(name, joined.annotations)
            manifest = replace(manifest, annotation_files=(name,))
        if joined.made.num_rows:
            self._store.write_made(name, joined.made)
            manifest = replace(manifest, made_files=(name,))
        return manifest
