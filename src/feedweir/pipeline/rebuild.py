"""Rebuilding batches from the landing log, in a separate directory, to exactly the same bytes.

A lost file depends on all earlier batches, through the record of seen items and the history of joins. So all batches
are repeated, divided as they were and each with the set it was matched against; then the damaged files are taken from
there. It takes as long as the batches once took.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from feedweir.acquire.parse.document_budget import NO_BOUND
from feedweir.acquire.parse.parse_process import parse_process
from feedweir.logs.batches import Manifest
from feedweir.logs.directory import NEWEST, DataDirectory
from feedweir.logs.pins import Pin
from feedweir.logs.store import Store, manifest_name
from feedweir.pipeline.batch_publisher import BatchPublisher
from feedweir.pipeline.batch_run import BatchRun
from feedweir.pipeline.compaction import merge
from feedweir.pipeline.seen import PARTS
from feedweir.pipeline.worker import Worker, seen_log
from feedweir.storage import below, on_disk

Steps: TypeAlias = tuple[tuple[int, int], ...]
"""Up to which segment which version of the set was in force."""
Remembered: TypeAlias = Callable[[int, int], Steps]
"""The steps between two segments whose manifest is lost, as far as they are known."""


Attempts: TypeAlias = dict[tuple[int, str], dict[int, str]]
"""By batch, and by kind (`""` for tasks that match, `parsed`, `seen`, `joins`), the attempts that count, by number."""
_OF_ATTEMPT = re.compile(r"(\d{12})-(?:(joins|parsed|seen)-)?(\d+)-([0-9a-f]{8})(?=[.-])")
_OF_BATCH = re.compile(r"(?:items|elements|seen|annotations|made|reports)/(\d{12})-(?!since)")


@dataclass(frozen=True, slots=True)
class Span:
    """What has to be run to rebuild a manifest, or one that is lost."""

    after: int
    upto: int
    steps: Steps
    cuts: tuple[int, ...]
    """Segments at which batches ended, as far as that is known."""
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
    """The whole log, oldest first, including what is lost."""
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

    def __init__(self, directory: DataDirectory, ensure_version: Callable[[int], None]) -> None:
        """`ensure_version` makes a version of the set that is not there any more."""
        self._original = directory
        self._ensure_version = ensure_version
        root = directory.scratch / "repair"
        shutil.rmtree(root, ignore_errors=True)
        root.mkdir(parents=True)
        # A quarantined document stays out of its batch.
        directory.quarantine.mkdir(exist_ok=True)
        for name in ("landing", "sets", "quarantine"):
            (root / name).symlink_to(on_disk(directory.root) / name, target_is_directory=True)
        self.directory = DataDirectory(root)
        self._store = Store(root)
        self._attempts: Attempts = {}
        # What was once read is read again, whatever it takes: the bounds may have been others then.
        worker = Worker(self.directory, parse_process(NO_BOUND))
        self._batches = BatchRun(
            self.directory,
            BatchPublisher(self.directory),
            lambda tasks: [worker.run(task) for task in tasks],
            lambda after: after,
        )

    def run(self, all_spans: Sequence[Span], seen_base: int) -> None:
        known = Store(self._original.root)
        # Of a manifest that is lost, the names of files are all that is left.
        self._attempts = {**attempts_in(known.names_there()), **attempts_in(named_in(known.manifests()))}
        for span in all_spans:
            made = [self._batch(*run, span.tasks) for run in span.runs()]
            if span.is_merged:
                merge(self._store, made, min(seen_base, span.upto), batches=span.batches)
        if seen_base:
            seen_log(self.directory, self._store).compact(range(PARTS), seen_base, most_files=0)

    def _batch(self, after: int, upto: int, version: int, tasks: int) -> Manifest:
        self._ensure_version(version)
        attempts = {kind: found for (batch, kind), found in self._attempts.items() if batch == upto}
        return self._batches.run(Pin(after, upto, version, tasks), attempts)

    def take(self, names: Collection[str]) -> list[str]:
        """Put files that were made again in the place of damaged ones; which. A manifest that was lost takes with it
        the files that it names, which bear other names than before."""
        lost = {int(name[8:20]) for name in names if name.startswith("batches/") and name[8:9].isdigit()}
        lost |= self._cut_otherwise(names)
        renamed = [
            name for one in self._store.manifests() if one.upto in lost for name in self._files_of(one)
        ]
        manifests = {f"batches/{manifest_name(one)}" for one in self._store.manifests() if one.upto in lost}
        taken = [name for name in sorted({*names, *renamed, *manifests}) if self._take(name)]
        if any(name.startswith("joins/") for name in names):
            joins = on_disk(self._original.joins)
            shutil.rmtree(joins, ignore_errors=True)
            shutil.copytree(on_disk(self.directory.joins), joins)
        return taken

    def _cut_otherwise(self, names: Collection[str]) -> set[int]:
        """Of the batches that these files belong to, those that an older version divided by other rules."""
        batches = {int(found[1]) for name in names if (found := _OF_BATCH.match(name))}
        older = Store(self._original.root).manifests()
        return {one.upto for one in older if one.upto in batches and one.batches == 1 and not one.attempts}

    def _take(self, name: str) -> bool:
        made, target = (on_disk(one.root) / name for one in (self.directory, self._original))
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
        files = [name for manifest in manifests for name in self._files_of(manifest)]
        return [*files, *(f"batches/{manifest_name(manifest)}" for manifest in manifests)]

    def _files_of(self, manifest: Manifest) -> list[str]:
        names = [below(self.directory.root, path) for path in self._store.files_of(manifest)]
        return [*names, *(f"seen/{name}" for name in manifest.seen_files)]

    def close(self) -> None:
        shutil.rmtree(on_disk(self.directory.root), ignore_errors=True)


def named_in(manifests: Iterable[Manifest]) -> Iterator[str]:
    """The files that manifests name."""
    for one in manifests:
        yield from (*one.item_files, *one.element_files, *one.seen_files)
        yield from (*one.annotation_files, *one.made_files, *one.source_files)


def attempts_in(names: Iterable[str]) -> Attempts:
    """The attempts that files are named by: by them the same names are given again."""
    found: Attempts = {}
    for name in names:
        if known := _OF_ATTEMPT.match(name):
            batch, kind, number, attempt = known.groups()
            found.setdefault((int(batch), kind or ""), {})[int(number)] = attempt
    return found


def is_of_batches(name: str) -> bool:
    """Whether a file can be made again by running batches."""
    return not name.startswith("landing/") and name != f"batches/{NEWEST}"
