"""A driver to be killed: runs the pipeline over a data directory and says on its output what it is about to do.

    python -m tests.spark.driver DIRECTORY MASTER SEGMENT

It ends by itself once SEGMENT is published and committed.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from feedweir.logs.batches import Assignment, Manifest
from feedweir.logs.pins import Pin
from feedweir.pipeline.batch_publisher import BatchPublisher
from feedweir.pipeline.batch_run import BatchRun, Division
from feedweir.service.installation import Weir


def say(*words: object) -> None:
    print(*words, flush=True)


class TalkingPublisher(BatchPublisher):
    """Says when a batch is about to exist and when it does."""

    def publish(self, assignment: Assignment, *rest: Any) -> Manifest:
        say("publishing", assignment.upto)
        manifest = super().publish(assignment, *rest)
        say("published", assignment.upto)
        return manifest


class TalkingRun(BatchRun):
    """Says when the tasks of a batch are about to run."""

    def run(self, pin: Pin, *rest: Any) -> Manifest:
        say("running", pin.upto)
        return super().run(pin, *rest)


def main(directory: str, master: str, last: str) -> None:
    from feedweir.spark import pipeline
    from feedweir.spark.session import open_session

    pipeline.BatchPublisher = TalkingPublisher  # type: ignore[attr-defined]
    pipeline.BatchRun = TalkingRun  # type: ignore[attr-defined]
    with Weir.open(directory) as weir:
        weir.refresh_set()
        session = open_session(master, Path(directory) / "scratch")

        def commit(manifest: Manifest) -> None:
            say("committing", manifest.upto)
            weir.commit(manifest)
            say("committed", manifest.upto)

        # One segment a batch: as many batches, and as many moments to die at, as there are segments.
        query = pipeline.start_pipeline(
            session, weir.directory, commit, max_batch_bytes=1, division=Division(2, least_bytes=1)
        )
        say("started")
        while weir.store.latest() < int(last):
            query.processAllAvailable()
        query.processAllAvailable()
        query.stop()
        session.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
