"""The pipeline in one process: for tests, previews and installations that need no Spark."""

from __future__ import annotations

from collections.abc import Callable

from feedweir.acquire.allowance import DEFAULT_ALLOWANCE
from feedweir.acquire.landing import LandingLog
from feedweir.acquire.parse_process import ParseProcess, parse_process
from feedweir.engine.batches import Manifest, assignments
from feedweir.engine.directory import DataDirectory, current_version
from feedweir.engine.settle import Settler
from feedweir.engine.store import Store
from feedweir.engine.worker import Worker
from feedweir.match.parts import PAIRS_AT_ONCE


class Runner:
    """Runs batches over a data directory, one after another; a new runner goes on where the last one stopped."""

    def __init__(
        self,
        directory: DataDirectory,
        commit: Callable[[Manifest], None],
        *,
        max_segments: int = 64,
        tasks: int = 1,
        pairs_at_once: int = PAIRS_AT_ONCE,
        parser: ParseProcess | None = None,
    ) -> None:
        self._directory = directory
        self._commit = commit
        self._max_segments = max_segments
        self._tasks = tasks
        self._landing = LandingLog(directory.landing)
        self._store = Store(directory.root)
        self._worker = Worker(
            directory, parser or parse_process(DEFAULT_ALLOWANCE), pairs_at_once=pairs_at_once
        )
        self._settler = Settler(directory)
        self._commit_again()

    def run_available(self) -> int:
        """Run batches until the landing log has nothing more; how many there were."""
        batches = 0
        while self.run_batch():
            batches += 1
        return batches

    def _commit_again(self) -> None:
        """A crash may have come between publishing and committing the newest batch: commit it again."""
        manifest = self._store.published(self._store.latest())
        if manifest is not None:
            self._commit(manifest)

    def run_batch(self) -> Manifest | None:
        """Run one batch, if there is anything landed and a set to match it against."""
        after = self._store.latest()
        upto = min(self._landing.latest(), after + self._max_segments)
        version = current_version(self._directory.sets)
        if version is None or upto <= after:
            return None
        tasks = assignments(after, upto, version, self._tasks)
        receipts = [self._worker.run(task) for task in tasks]
        manifest = self._settler.settle(tasks[0], receipts)
        self._commit(manifest)
        return manifest
