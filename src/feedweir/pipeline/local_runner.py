"""The pipeline in one process: for tests, previews and installations that need no Spark."""

from __future__ import annotations

from collections.abc import Callable

from feedweir.acquire.parse.document_budget import DEFAULT_ALLOWANCE
from feedweir.acquire.parse.parse_process import ParseProcess, parse_process
from feedweir.logs.batches import Manifest
from feedweir.logs.directory import DataDirectory
from feedweir.logs.landing import LandingLog
from feedweir.logs.store import Store
from feedweir.match.matching.answer_parts import PAIRS_AT_ONCE
from feedweir.pipeline.batch_publisher import BatchPublisher
from feedweir.pipeline.batch_run import BatchRun, Division
from feedweir.pipeline.charge import Charge
from feedweir.pipeline.worker import Worker


class LocalRunner:
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
        charge: Charge | None = None,
    ) -> None:
        self._commit = commit
        self._store = Store(directory.root)
        self._division = Division(tasks, least_bytes=1)
        landing = LandingLog(directory.landing)
        worker = Worker(directory, parser or parse_process(DEFAULT_ALLOWANCE), pairs_at_once=pairs_at_once)
        self._batches = BatchRun(
            directory,
            BatchPublisher(directory, charge=charge),
            lambda tasks: [worker.run(task) for task in tasks],
            lambda after: min(landing.latest(), after + max_segments),
        )
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
        manifest = self._batches.run_next(self._division)
        if manifest:
            self._commit(manifest)
        return manifest
