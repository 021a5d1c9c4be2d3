"""Batches made again from the landing log, in a directory of their own, to the bytes that they once had.

What is lost cannot be told from what is there alone: what was seen and what joins remember come from all batches
before. So all are run again, cut where they were cut and with the set that each was matched against; then what is
damaged is taken from there. It takes as long as the log once took.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeAlias

from feedweir.acquire.allowance import NO_BOUND
from feedweir.acquire.parse_process import parse_process
from feedweir.engine.batches import PARTS, Manifest, assignments
from feedweir.engine.compact import merge
from feedweir.engine.directory import NEWEST, DataDirectory
from feedweir.engine.settle import Settler
from feedweir.engine.store import Store
from feedweir.engine.worker import Worker, seen_log

Steps: TypeAlias = tuple[tuple[int, int], ...]
"""Up to which segment which version of the set was in force."""
Remembered: TypeAlias = Callable[[int, int], Steps]
"""The steps between two segments, as far as anybody remembers them whose manifest is lost."""


@dataclass(frozen=True, slots=True)
class Span:
    """A manifest, or the place of one that is lost, as what has to be run to make it again."""

    after: int
    upto: int
    steps: Steps
    cuts: tuple[int, ...]
    """Segments at which it was cut, as far as that is known."""
    tasks: int
    batches: int
    is_merged: bool

    def runs(self) -> Iterator[tuple[int, int, int]]:
        """(after, upto, version) of each batch."""
        after = self.after
        ends = {*(cut for cut in self.cuts if after < cut), *(upto for upto, _ in self.steps), self.upto}
        for upto in sorted(ends):
            version = next((version for end, version in self.steps if upto <= end), self.steps[-1][1])
            yield after, upto, version
            after = upto


def spans(store: Store, remembered: Remembered) -> list[Span]:
    """All of the log, oldest first, what is lost included."""
    found: list[Span] = []
    expected = store.latest()
    tasks = 1
    for manifest in store.manifests():
        tasks = manifest.tasks
        if manifest.upto < expected:
            found.append(_lost(store, manifest.upto, expected, remembered, tasks))
        found.append(_known(manifest))
        expected = manifest.after
    if expected > 0:
        found.append(_lost(store, 0, expected, remembered, tasks))
    return [span for span in reversed(found) if span.steps]


def _known(manifest: Manifest) -> Span:
    cuts = tuple(sorted({int(name[:12]) for name in manifest.seen_files}))
    is_merged = manifest.batches > 1
    return Span(
        manifest.after, manifest.upto, manifest.steps, cuts, manifest.tasks, manifest.batches, is_merged
    )


def _lost(store: Store, after: int, upto: int, remembered: Remembered, tasks: int) -> Span:
    steps = remembered(after, upto)
    is_merged = store.was_merged(after, upto)
    return Span(after, upto, steps, tuple(end for end, _ in steps), tasks, len(steps), is_merged)


class Rebuild:
    """The batches of a data directory, once more, below its scratch directory."""

    def __init__(self, directory: DataDirectory, see_version: Callable[[int], None]) -> None:
        """`see_version` makes a version of the set that is not there any more."""
        self._original = directory
        self._see_version = see_version
        root = directory.scratch / "repair"
        shutil.rmtree(root, ignore_errors=True)
        root.mkdir(parents=True)
        # What was set aside stays out of its batch.
        directory.quarantine.mkdir(exist_ok=True)
        for name in ("landing", "sets", "quarantine"):
            (root / name).symlink_to(directory.root / name, target_is_directory=True)
        self.directory = DataDirectory(root)
        self._store = Store(root)
        # What was once read is read again, whatever it takes: the bounds may have been others then.
        self._worker = Worker(self.directory, parse_process(NO_BOUND))
        self._settler = Settler(self.directory)

    def run(self, all_spans: Sequence[Span], seen_base: int) -> None:
        for span in all_spans:
            made = [self._batch(*run, span.tasks) for run in span.runs()]
            if span.is_merged:
                merge(self._store, made, min(seen_base, span.upto))
                merged = self._store.published(span.upto)
                if merged is not None:
                    self._store.publish(replace(merged, batches=span.batches))
        if seen_base:
            seen_log(self.directory, self._store).compact(range(PARTS), seen_base, most_files=0)

    def _batch(self, after: int, upto: int, version: int, tasks: int) -> Manifest:
        self._see_version(version)
        cut = assignments(after, upto, version, tasks)
        return self._settler.settle(cut[0], [self._worker.run(task) for task in cut])

    def take(self, names: Collection[str]) -> list[str]:
        """Put files that were made again in the place of damaged ones; which."""
        taken = [name for name in sorted(names) if self._take(name)]
        if any(name.startswith("joins/") for name in names):
            shutil.rmtree(self._original.joins, ignore_errors=True)
            shutil.copytree(self.directory.joins, self._original.joins)
        return taken

    def _take(self, name: str) -> bool:
        made, target = self.directory.root / name, self._original.root / name
        if not made.is_file():
            return False
        target.parent.mkdir(parents=True, exist_ok=True)
        draft = target.with_name(f".{target.name}.{os.getpid()}")
        shutil.copyfile(made, draft)
        draft.replace(target)
        return True

    def names_since(self, batch: int) -> list[str]:
        """All files of the batches from one on: what was run without something has to be taken whole."""
        manifests = [manifest for manifest in self._store.manifests() if manifest.upto >= batch]
        files: list[Path] = [path for manifest in manifests for path in self._store.files_of(manifest)]
        names = [str(path.relative_to(self.directory.root)) for path in files]
        seen = [f"seen/{name}" for manifest in manifests for name in manifest.seen_files]
        return [*names, *seen, *(f"batches/{manifest.upto:012d}.json" for manifest in manifests)]

    def close(self) -> None:
        shutil.rmtree(self.directory.root, ignore_errors=True)


def is_of_batches(name: str) -> bool:
    """Whether a file can be made again by running batches."""
    return not name.startswith("landing/") and name != f"batches/{NEWEST}"
